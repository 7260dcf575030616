// Python and PyTorch objects that the interpreter knows by identity, looked up once.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/capture/objects/python.h"

namespace vitrine::capture {

struct TorchNames {
  PyTypeObject *deque, *tensor, *tensor_base, *parameter, *size, *dtype, *device, *layout, *memory_format,
      *finfo, *iinfo;
  PyTypeObject *module, *op_overload, *op_packet, *custom_op, *enum_base, *lru_cache_wrapper, *generic_alias,
      *union_type;
  PyTypeObject *numpy_number, *numpy_bool, *numpy_ufunc, *numpy_dispatcher, *numpy_array,
      *numpy_dtype;  // nullptr: no NumPy
  PyTypeObject *partial, *ordered_dict, *default_dict;
  PyTypeObject *count, *repeat, *chain, *islice;  // of itertools
  PyTypeObject* flex_attention;                   // the class of its operator
  PyTypeObject *script_function, *version, *attention_backend, *type_variable, *method_wrapper;
  PyTypeObject* inference_context;                          // what torch.inference_mode enters
  PyTypeObject *op_namespace, *ops;                         // torch.ops and what is found in it
  PyTypeObject *signature, *expression, *expression_match;  // of inspect and re
  PyTypeObject *item_getter, *attribute_getter, *method_caller;
  PyTypeObject* removable_handle;                       // what registering a hook gives
  PyTypeObject *disabled_function, *compiled_function;  // nullptr: the engine is used without its module
  PyObject *module_call, *module_call_impl, *module_getattr, *module_setattr, *module_delattr,
      *module_forward;
  PyObject* dict_of_sys_modules;
  PyObject *torch, *functional, *operator_module, *builtins;
  std::unordered_set<PyTypeObject*> iterators;
  bool is_iterator(PyTypeObject* type) const { return iterators.count(type) != 0; }
  PyObject* operator_function(const std::string& name) const;  // operator.<name>, borrowed
  bool is_module(PyTypeObject* type) const { return PyType_IsSubtype(type, module); }
};

// Needs the GIL and an imported torch. Throws InternalError when PyTorch lacks a name.
const TorchNames& torch_names();

// Borrowed object at a dotted path ("torch.nn.functional.linear"); nullptr when absent.
PyObject* find_object(const std::string& path);

}  // namespace vitrine::capture
