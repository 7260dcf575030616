#include "app/cli/run_command.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "app/cli/python_process.h"
#include "app/cli/show.h"
#include "core/session/abandoned.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

namespace {

struct EngineOption {
  const char *name, *value, *about;  // value: "" for a flag
};

constexpr std::array<EngineOption, 13> kEngineOptions = {{
    {"--entry", "NAME", "function, class or Class.method to call; a module runs in eval mode"},
    {"--input", "SPEC", "one argument: \"f32[8,128]\", \"i64[2,16]<1000\" or a Python literal; repeatable"},
    {"--take-over", "", "compile what the script gives to torch.compile"},
    {"--repeats", "N", "measured calls on each side (default 20; 0: do not measure)"},
    {"--counters", "N",
     "on a GPU: kernels of a call whose hardware counters are read and which are sampled (default 128; 0: "
     "none)"},
    {"--mode", "MODE", "torch.compile's modes; on a CPU all mean default"},
    {"--target", "ARCH", "compile for that GPU (\"sm_90\"), which need not be here: nothing is run on it"},
    {"--freezing", "", "weights are constant: products keep what they pack of them between calls"},
    {"--fullgraph", "", "an error instead of a graph break"},
    {"--grad", "", "keep grad mode on for a module in eval mode"},
    {"--check", "", "compare every compiled graph with eager, not the outputs only"},
    {"--edited", "GENERATED=EDITED",
     "two files: a kernel's text, and what is compiled in its place; repeatable"},
    {"--events", "", "progress as JSON lines on stdout, each after a record separator"},
}};

// transformer_block.py -> transformer_block.vitrine in the working folder.
std::string default_session(const std::string& file) {
  return fs::path(file).stem().string() + ".vitrine";
}

std::string quoted(const std::string& path) {
  return path.find(' ') == std::string::npos ? path : "\"" + path + "\"";
}

// Says what became of an engine that did not end by itself.
int report_death(const Ended& ended, const std::string& session, bool kept) {
  std::string what = ended.signal ? "The engine was ended by signal " + std::to_string(ended.signal) + " (" +
                                        strsignal(ended.signal) + ")."
                                  : "The engine ended without closing the session (exit status " +
                                        std::to_string(ended.status) + ").";
  std::string hint = ended.signal ? "A crash in native code, or the system ran out of memory."
                                  : "Did the code call os._exit()?";
  if (kept) hint += " What was recorded until then is in " + quoted(session) + ".";
  return fail(Error{what, hint, ""}, ended.signal ? 128 + ended.signal : 1);
}

void print_summary(const session::Reader& s) {
  std::printf("\n%s\n%s", stage_summary(s).c_str(), run_summary(s).c_str());
  if (std::string problems = problem_summary(s); !problems.empty()) std::printf("\n%s", problems.c_str());
}

constexpr int kNotClosed = 74;  // vitrine.run could not write the session to its end, and has said so

// Runs the engine; its exit status, or that of its death.
int record(const EngineArguments& engine, const std::string& file, const std::string& session,
           std::vector<std::string> more = {}) {
  std::vector<std::string> words = engine.words(file);
  more.insert(more.begin(), {"-o", session});
  words.insert(words.begin() + 1, more.begin(), more.end());
  auto ended = run_module(places(), "vitrine.run", words);
  if (!ended) return fail(ended.error());
  std::fflush(stdout);
  std::error_code ignored;
  bool died = ended.value().signal != 0;
  bool kept = false;
  if (fs::exists(session, ignored) && ended.value().status != 2) {
    auto abandoned = session::close_abandoned(session);
    kept = abandoned.ok();
    died = died || (abandoned && abandoned.value());
  }
  if (ended.value().status == kNotClosed && !ended.value().signal) return 1;
  return died ? report_death(ended.value(), session, kept) : ended.value().status;
}

}  // namespace

int fail(const Error& error, int status) {
  std::fprintf(stderr, "vitrine: %s%s\n", error.where.empty() ? "" : (error.where + ": ").c_str(),
               error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", error.hint.c_str());
  return status;
}

void EngineArguments::declare(CLI::App& command) {
  values_.resize(kEngineOptions.size());
  flags_.resize(kEngineOptions.size());
  for (size_t i = 0; i < kEngineOptions.size(); ++i) {
    const EngineOption& row = kEngineOptions[i];
    if (!*row.value) {
      command.add_flag_callback(row.name, [this, i] { flags_[i] = 1; }, row.about);
      continue;
    }
    command.add_option(row.name, values_[i], row.about)
        ->type_name(row.value)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

std::vector<std::string> EngineArguments::words(const std::string& file) const {
  std::vector<std::string> out{file};
  for (size_t i = 0; i < kEngineOptions.size(); ++i) {
    if (flags_[i]) out.emplace_back(kEngineOptions[i].name);
    for (const std::string& value : values_[i])
      out.push_back(std::string(kEngineOptions[i].name) + "=" + value);
  }
  if (!script.empty()) out.emplace_back("--");
  out.insert(out.end(), script.begin(), script.end());
  return out;
}

int run_command(const RunArguments& a) {
  const std::string session = a.session.empty() ? default_session(a.file) : a.session;
  const int status = record(a.engine, a.file, session);
  if (status != 0 && status != 3) return status;
  auto opened = session::Reader::open(session);
  if (!opened) return fail(opened.error());
  print_summary(*opened.value());
  if (a.open && has_display()) return fail(exec_program(places().bin + "/vitrine-app", {session}));
  std::printf("\nrecorded %s; open it with: vitrine open %s\n", session.c_str(), quoted(session).c_str());
  return status;
}

int explain_command(const RunArguments& a) {
  std::string session = a.file;
  const bool python = a.file.ends_with(".py");
  if (python) {
    session =
        (fs::temp_directory_path() / ("vitrine-explain-" + std::to_string(getpid()) + ".vitrine")).string();
    if (int status = record(a.engine, a.file, session, {"--repeats=0"}); status != 0 && status != 3) {
      std::error_code ignored;
      fs::remove(session, ignored);
      return status;
    }
  }
  int status = 0;
  if (auto opened = session::Reader::open(session))
    std::printf("%s", explain(*opened.value()).c_str());
  else
    status = fail(opened.error());
  std::error_code ignored;
  if (python) fs::remove(session, ignored);
  return status;
}

}  // namespace vitrine::cli
