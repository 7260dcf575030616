#include "core/capture/segment/controls/refusals.h"

#include "core/capture/objects/values.h"

namespace vitrine::capture {
namespace {

// A class of vitrine._errors, which an `except` for PyTorch's own catches, too.
PyRef error_type(Name name) {
  const PyRef type = find(name);
  return type ? call(Name::caught_as_pytorchs, "O", type.get()) : PyRef();
}

}  // namespace

std::string place_text(const Frame& frame) {
  const auto* code = reinterpret_cast<PyCodeObject*>(frame.code());
  const int line = PyCode_Addr2Line(const_cast<PyCodeObject*>(code), frame.pc());
  return text_of(code->co_qualname) + " (" + text_of(code->co_filename) + ":" + std::to_string(line) + ")";
}

void raise_graph_break(const BreakInfo& broke) {
  PyRef type = error_type(Name::GraphBreakError);
  PyRef stack(PyList_New(0));
  if (!type || !stack) return;
  for (const auto& [text, line] : broke.stack) {
    PyRef row(Py_BuildValue("(si)", text.c_str(), line));
    if (!row || PyList_Append(stack.get(), row.get()) != 0) return;
  }
  PyRef error(PyObject_CallFunction(type.get(), "sssO", broke.kind.c_str(), broke.reason.c_str(),
                                    broke.hint.c_str(), stack.get()));
  if (error) PyErr_SetObject(type.get(), error.get());
}

void raise_recompile(const Frame& frame, const std::string& failed) {
  auto* code = reinterpret_cast<PyCodeObject*>(frame.code());
  const std::string reason =
      failed.empty() ? "" : "\n    triggered by the following guard failure(s):\n    - " + failed;
  PyErr_Format(PyExc_RuntimeError,
               "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '%U', "
               "function name: '%U', line number: %d%s",
               code->co_filename, code->co_name, PyCode_Addr2Line(code, frame.pc()), reason.c_str());
}

void raise_recompile_error(const Frame& frame, const std::string& failed) {
  PyRef type = error_type(Name::RecompileError);
  PyRef error(type ? PyObject_CallFunction(type.get(), "ss", place_text(frame).c_str(), failed.c_str())
                   : nullptr);
  if (error) PyErr_SetObject(type.get(), error.get());
}

void raise_recompile_limit(const std::string& text, const std::string& hint, const char* asked_by) {
  PyRef type = error_type(Name::RecompileLimitError);
  PyRef error(type ? PyObject_CallFunction(type.get(), "sss", text.c_str(), hint.c_str(), asked_by)
                   : nullptr);
  if (error) PyErr_SetObject(type.get(), error.get());
}

void raise_no_frames(const Frame& frame, const std::string& why) {
  auto* code = reinterpret_cast<PyCodeObject*>(frame.code());
  PyErr_Format(PyExc_RuntimeError,
               "torch.compile with fullgraph=True found no compiled frames. Skipped frames:\n"
               "  - %U (%U:%d): %s",
               code->co_name, code->co_filename, code->co_firstlineno, why.c_str());
}

}  // namespace vitrine::capture
