// `vitrine run` and `vitrine explain FILE.py`: the engine in a process of its own, then what it recorded.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace vitrine::cli {

// Prints an error to stderr; its exit status.
int fail(const Error& error, int status = 1);

// Prints what a session says. What would steer the terminal is written out.
void print_text(const std::string& text);
// The same of prose: its lines are as long as the terminal's, and break between words.
void print_prose(const std::string& text);
// Columns of the terminal that a stream writes to, 1 or 2; 0: it is none.
size_t terminal_width(int stream = 1);

// The engine's options, declared on a command so that its --help lists them and wrong ones are refused.
class EngineArguments {
 public:
  void declare(CLI::App& command);
  // As the engine takes them: FILE, then what was given, then -- and the script's own arguments.
  std::vector<std::string> words(const std::string& file) const;
  bool has(const std::string& name) const;  // whether "--name" was given
  std::vector<std::string> script;          // behind --

 private:
  std::vector<std::vector<std::string>> values_;  // by row of the table
  std::vector<char> flags_;
};

struct RunArguments {
  std::string file, session;
  bool open = false, redact = false, watch = false;
  EngineArguments engine;
};

// Records, then prints the stages, the runs and what went wrong. Exit status: 0; 1 the file or the
// environment; 2 wrong arguments; 3 outputs differ; 130 cancelled; 128 + N when signal N ended the engine; of
// a script that ends with a status of its own, that one.
int run_command(const RunArguments& arguments);

// A copy of a session that can be given away.
int share_command(const std::string& session, const std::string& copy);
// Says that a session is the user's own, or as good.
int trust_command(const std::string& session);

// Prose about a session, or about a Python file that is recorded for it.
int explain_command(const RunArguments& arguments);

}  // namespace vitrine::cli
