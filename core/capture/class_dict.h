// The dict of a class itself. From CPython 3.12 on each interpreter keeps those of the builtin classes, and
// tp_dict is empty there.
#pragma once

#include <Python.h>

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

}  // namespace vitrine::capture
