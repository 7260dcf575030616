#include "core/capture/segment/version_questions.h"

#include "core/capture/cpython.h"
#include "core/capture/segment/code_rows.h"
#include "core/capture/segment/owned.h"

namespace vitrine::capture {
namespace {

bool names_versions(PyCodeObject* code) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_names, i), "_version") == 0) return true;
  return false;
}

}  // namespace

bool asks_for_versions() {
  Owned at = share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (at) {
    auto* frame = reinterpret_cast<PyFrameObject*>(at.get());
    const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const running = reinterpret_cast<PyCodeObject*>(code.get());
    if (names_versions(running) && is_user_file(text_of(running->co_filename))) return true;
    at = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return false;
}

}  // namespace vitrine::capture
