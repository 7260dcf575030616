#include "core/capture/segment/version_questions.h"

#include <algorithm>

#include "core/capture/cpython/cpython.h"
#include "core/capture/objects/owned.h"
#include "core/capture/segment/code_rows.h"

namespace vitrine::capture {
namespace {

bool is_name(PyObject* o) {
  return PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, "_version") == 0;
}

// As an attribute, as a text (for getattr), or in a function that is defined in it.
bool names_versions(PyCodeObject* code) {
  PyObject** names = reinterpret_cast<PyTupleObject*>(code->co_names)->ob_item;
  if (std::any_of(names, names + PyTuple_GET_SIZE(code->co_names), is_name)) return true;
  PyObject** constants = reinterpret_cast<PyTupleObject*>(code->co_consts)->ob_item;
  return std::any_of(constants, constants + PyTuple_GET_SIZE(code->co_consts), [](PyObject* o) {
    return is_name(o) || (PyCode_Check(o) && names_versions(reinterpret_cast<PyCodeObject*>(o)));
  });
}

}  // namespace

bool asks_for_versions() {
  PyRef at = share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (at) {
    auto* frame = reinterpret_cast<PyFrameObject*>(at.get());
    const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const running = reinterpret_cast<PyCodeObject*>(code.get());
    if (names_versions(running) && is_user_file(text_of(running->co_filename))) return true;
    at = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
  return false;
}

}  // namespace vitrine::capture
