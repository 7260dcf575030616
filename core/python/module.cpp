// The extension module vitrine._engine.
#include <Python.h>

#include "core/python/parts.h"

namespace {
PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "vitrine._engine",
                       "The engine of Vitrine.",
                       -1,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};
}

PyMODINIT_FUNC PyInit__engine() {
  PyObject* module = PyModule_Create(&kModule);
  if (!module) return nullptr;
  if (PyModule_AddStringConstant(module, "__version__", VITRINE_VERSION) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  for (vitrine::python::AddPart add : vitrine::python::kParts) {
    add(module);
    if (PyErr_Occurred()) {
      Py_DECREF(module);
      return nullptr;
    }
  }
  return module;
}
