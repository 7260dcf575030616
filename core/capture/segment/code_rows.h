// Rows of files, functions, instructions and expressions, written once a session.
#pragma once

#include <string>
#include <unordered_map>

#include "core/base/ids.h"
#include "core/capture/cpython/bytecode.h"
#include "core/capture/objects/owned.h"
#include "core/session/writer.h"

namespace vitrine::capture {

struct CodeIds {
  PyRef code;  // alive, so that its address stays its own
  Id id = 0, file = 0;
  bool user = false;                                    // of a file of the user's own
  std::unordered_map<int32_t, Id> instructions, spans;  // by pc of the instruction
  Id instruction(int32_t pc) const;
  Id span(int32_t pc) const;
};

class CodeRows {
 public:
  explicit CodeRows(session::Writer& writer) : writer_(writer) {}
  // Writes what is not written yet.
  const CodeIds& of(PyObject* code);
  bool is_user(PyObject* code) { return of(code).user; }

 private:
  Id file(const std::string& path);
  Id span(Id file, const Position& position);
  void write_instructions(CodeIds& ids, const Bytecode& bytecode);

  session::Writer& writer_;
  std::unordered_map<PyObject*, CodeIds> codes_;
  std::unordered_map<std::string, Id> files_, spans_;
};

// The source text of an instruction, its first line; "" when there is none.
std::string expression_text(const Bytecode& bytecode, int32_t pc);
// What `dis` would show beside the argument: a name, a constant, an operator, a jump's goal.
std::string argument_text(const Bytecode& bytecode, const Instruction& instruction);
// The folder of an imported module, with a slash at its end; "" for none.
std::string folder_of(torch_api::Name module);
// Whether a file is the user's own: neither of the standard library, of an installed package nor of Vitrine.
bool is_user_file(const std::string& path);
// Whether it is an installed package's, PyTorch and Vitrine apart.
bool is_package_file(const std::string& path);
// "text" with quotes, as JSON.
std::string json_quoted(const std::string& text);

}  // namespace vitrine::capture
