// The numbers by which CPython tells that a class or a dict has changed.
#pragma once

#include <Python.h>

#include <cstdint>

namespace vitrine::torch_api {

// 0: the class has changed, and nobody has looked at it since.
inline unsigned class_version(const PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000  // later ones take the number away when the class changes
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

// No two states of any dicts have had the same. CPython 3.12 means to take it away one day, and keeps it up
// to date until then.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
inline const uint64_t* dict_version(PyObject* dict) {
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop

// From CPython 3.13 on an object may keep its attributes in itself, and what is written there does not change
// the version of its dict. Afterwards they are in the dict alone. False: they could not be moved.
inline bool keeps_version(PyObject* dict) {
#if PY_VERSION_HEX >= 0x030D0000
  const auto* d = reinterpret_cast<PyDictObject*>(dict);
  if (!d->ma_values) return true;
  if (!PyDict_CheckExact(dict)) return false;
  // Taking the last item moves all of them; nothing else that is public does.
  PyObject* const filler = PyDict_GET_SIZE(dict) == 0 ? PyUnicode_InternFromString("__vitrine__") : nullptr;
  if (filler) PyDict_SetItem(dict, filler, Py_None);
  PyObject* last = PyObject_CallMethod(dict, "popitem", nullptr);
  if (last && !filler) PyDict_SetItem(dict, PyTuple_GET_ITEM(last, 0), PyTuple_GET_ITEM(last, 1));
  Py_XDECREF(last);
  Py_XDECREF(filler);
  if (PyErr_Occurred()) PyErr_Clear();
  return !d->ma_values;
#else
  (void)dict;
  return true;
#endif
}

}  // namespace vitrine::torch_api
