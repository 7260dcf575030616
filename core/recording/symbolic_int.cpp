#include "core/recording/symbolic_int.h"

#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

namespace {

constexpr const char* kNumber = "_vitrine_number";

PyObject* symbolic_class() {
  static PyObject* const kClass =
      PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){}", "SymbolicInt",
                            reinterpret_cast<PyObject*>(&PyLong_Type));
  return kClass;
}

}  // namespace

PyObject* make_symbolic_int(int64_t hint, int32_t number) {
  if (!symbolic_class()) return nullptr;
  PyRef made = PyRef::steal(PyObject_CallFunction(symbolic_class(), "L", static_cast<long long>(hint)));
  PyRef tag = PyRef::steal(made ? PyLong_FromLong(number) : nullptr);
  if (!tag || PyObject_SetAttrString(made.get(), kNumber, tag.get()) != 0) return nullptr;
  return made.release();
}

int32_t symbolic_number(PyObject* o) {
  if (!PyLong_Check(o) || PyLong_CheckExact(o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) != symbolic_class())
    return -1;
  PyRef tag = PyRef::steal(PyObject_GetAttrString(o, kNumber));
  const long number = tag ? PyLong_AsLong(tag.get()) : -1;
  PyErr_Clear();
  return static_cast<int32_t>(number);
}

}  // namespace vitrine::torch_api
