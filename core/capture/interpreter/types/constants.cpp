// Which objects are constants: compared by value, or by identity.
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/types/numbers/numpy_values.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

bool is_plain_constant(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o)) return true;
  if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o) || PyUnicode_CheckExact(o) ||
      PyBytes_CheckExact(o))
    return true;
  if (is_numpy_number(o)) return true;
  const TorchNames& torch = torch_names();
  return Py_TYPE(o) == torch.dtype || Py_TYPE(o) == torch.device || Py_TYPE(o) == torch.layout ||
         Py_TYPE(o) == torch.memory_format ||
         (torch.numpy_dtype && PyType_IsSubtype(Py_TYPE(o), torch.numpy_dtype));
}

bool is_frozen_set_of_constants(PyObject* o) {
  if (!PyFrozenSet_CheckExact(o)) return false;
  PyRef iterator(PyObject_GetIter(o));
  while (PyRef item = PyRef(PyIter_Next(iterator.get())))
    if (!is_plain_constant(item.get())) return false;
  return !PyErr_Occurred();
}

bool is_identity_constant(PyObject* o) {
  if (PyType_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) || PyModule_Check(o) ||
      PyCode_Check(o) || is_numpy_function(o))
    return true;
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type ||
      type == &PyMemberDescr_Type || type == &PyClassMethodDescr_Type || type == &PyProperty_Type ||
      type == &PyStaticMethod_Type || type == &PyClassMethod_Type)
    return true;
  const TorchNames& torch = torch_names();
  return type == torch.method_wrapper || type == torch.op_overload || type == torch.op_packet ||
         PyObject_TypeCheck(o, torch.enum_base) || type == torch.finfo || type == torch.iinfo ||
         type == torch.lru_cache_wrapper || type == torch.version || type == torch.attention_backend ||
         type == torch.type_variable || PyType_IsSubtype(type, torch.generic_alias) ||
         type == torch.union_type;
}

bool is_constant_object(PyObject* o) {
  return is_plain_constant(o) || is_frozen_set_of_constants(o) || is_identity_constant(o);
}

}  // namespace vitrine::capture
