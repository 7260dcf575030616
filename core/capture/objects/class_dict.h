// What CPython itself sees of classes and dicts, past every override. The dict of a class: from CPython 3.12
// on each interpreter keeps those of the builtin classes, and tp_dict is empty there.
#pragma once

#include <Python.h>

#include <string>

namespace vitrine::capture {

// Borrowed from the class.
inline PyObject* class_dict(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* dict = PyType_GetDict(type);
  Py_XDECREF(dict);
  return dict;
#else
  return type->tp_dict;
#endif
}

// What the class or its bases hold under this name, unbound: borrowed, nullptr without an error.
inline PyObject* lookup(PyTypeObject* type, const std::string& name) {
  PyObject* key = PyUnicode_InternFromString(name.c_str());
  PyObject* found = key ? _PyType_Lookup(type, key) : nullptr;
  Py_XDECREF(key);
  return found;
}

// list(dict) without the dict's own __iter__: a new reference, or nullptr with the error set.
inline PyObject* own_keys(PyObject* dict) {
  if (!PyODict_Check(dict)) return PyDict_Keys(dict);
  PyObject* iterator = PyODict_Type.tp_iter(dict);  // keeps an order of its own
  PyObject* keys = iterator ? PySequence_List(iterator) : nullptr;
  Py_XDECREF(iterator);
  return keys;
}

}  // namespace vitrine::capture
