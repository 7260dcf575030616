// What the rooms of capture ask of Python objects. Every use needs the GIL.
#pragma once

#include <initializer_list>
#include <string>

#include "core/torch_api/python_names.h"

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

namespace vitrine::capture {

using torch_api::Name;
using torch_api::PyRef;

// Whether numbers compare so, as a program's operator says: a nan is not itself. -1: an error is set.
inline int numbers_compare(PyObject* a, PyObject* b, int op) {
  const PyRef answer(PyObject_RichCompare(a, b, op));
  return answer ? PyObject_IsTrue(answer.get()) : -1;
}

// A comparison with its answer, 2 * Py_LT ... + (0 or 1): "<", "not <".
inline std::string comparison_text(int with_answer) {
  constexpr const char* kSigns[] = {"<", "<=", "==", "!=", ">", ">="};
  return (with_answer % 2 ? "" : "not ") + std::string(kSigns[with_answer / 2]);
}
// Py_LT ... of the same numbers the other way round.
inline int swapped_comparison(int op) {
  constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  return kSwapped[op];
}

// UTF-8 text of a str; "" (error cleared) for anything else.
inline std::string text_of(PyObject* o) {
  if (!o || !PyUnicode_Check(o)) return "";
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) PyErr_Clear();
  return text ? std::string(text, static_cast<size_t>(size)) : "";
}
// Cut to `limit` bytes with "..." at the end, between characters of UTF-8.
inline std::string shortened(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}
// repr(o) for people, cut to `limit` bytes; an object whose repr() is the program's code is told by its
// class.
std::string repr_of(PyObject* o, size_t limit = 120);

// Whether the module that was imported by this name, as functions and classes have it, is of Python's own
// library or of PyTorch.
bool is_library(PyObject* module);
bool is_library_function(PyObject* function);  // by where it was written
bool is_library_code(PyCodeObject* code);

// Whether a class has one of these from code of the program: not from Python's own library or PyTorch, nor as
// dataclasses writes it.
bool runs_user_code(PyTypeObject* type, std::initializer_list<const char*> names);

// Whether a hash of this key, or a comparison with it, runs code of the program.
bool hashes_by_user_code(PyObject* key);

}  // namespace vitrine::capture
