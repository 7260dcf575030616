// Functions and methods that are not written in Python, and what else is called and never changes.
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/default_devices.h"
#include "core/capture/interpreter/library/own_backward.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/constants.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

std::string module_of(PyObject* o) {
  PyRef name(PyObject_GetAttrString(o, "__module__"));
  if (!name) PyErr_Clear();
  return text_of(name.get());
}

// A number, a text or None.
bool is_plain(const Value* v) {
  return v->is(ValueKind::Constant) && (v->obj == Py_None || PyLong_Check(v->obj) || PyFloat_Check(v->obj) ||
                                        PyUnicode_Check(v->obj) || PyBytes_Check(v->obj));
}

// type.__call__, which a metaclass's own __call__ ends in.
PyObject* type_call() {
  static PyObject* method = PyDict_GetItemString(class_dict(&PyType_Type), "__call__");
  return method;
}

// A native method takes instances of its own class only.
void check_receiver(Tracer& t, PyObject* method, Value* self) {
  auto* descriptor = reinterpret_cast<PyDescrObject*>(method);
  if (!type_of(t, self) || PyType_IsSubtype(type_of(t, self), descriptor->d_type)) return;
  const bool wrapper = Py_TYPE(method) == &PyWrapperDescr_Type;
  const std::string of = wrapper ? "' requires a '" : "' for '",
                    but = wrapper ? "' object but received a '" : "' objects doesn't apply to a '";
  t.raise(PyExc_TypeError,
          "descriptor '" + text_of(descriptor->d_name) + of + descriptor->d_type->tp_name + but +
              type_of(t, self)->tp_name + (wrapper ? "'" : "' object"),
          true);
}

// list.append, object.__init__: a method that is called on its first argument.
Value* call_native_method(Tracer& t, Value* v, Arguments a) {
  PyObject* o = v->obj;
  if (a.positional.empty()) t.raise(PyExc_TypeError, "unbound method needs an argument");
  if (Value* added = add_to_symbolic_list(t, o, a)) return added;
  Value* self = t.look(a.positional[0]);
  check_receiver(t, o, self);
  if (is_plain(self) && _PyType_Lookup(Py_TYPE(self->obj), PyDescr_NAME(o)) != o)
    return fold_call(t, o, a);  // object.__repr__(3): not the class's own
  a.positional.erase(a.positional.begin());
  if (PyObject* cls = const_object(t, self); cls && PyType_Check(cls) && o == type_call())
    return construct_plain(t, reinterpret_cast<PyTypeObject*>(cls), std::move(a));
  const std::string method = text_of(reinterpret_cast<PyDescrObject*>(o)->d_name);
  if (self->is(ValueKind::Tensor)) return tensor_method(t, self, method, o, std::move(a));
  return call_method(t, self, method, a);
}

Value* call_native_function(Tracer& t, Value* v, Arguments a) {
  PyObject* o = v->obj;
  const std::string module = module_of(o);
  if (std::string(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "__new__" &&
      !a.positional.empty())
    return call_method(t, a.positional[0], "__new__", a);
  PyObject* self = PyCFunction_GET_SELF(o);
  if (Value* result = apply_function(t, o, a)) return result;
  if (Value* left = leave_default_device(t, o)) return left;
  if (self && !PyModule_Check(self) && !PyType_Check(self))
    stop("unsupported_builtin", "builtin method " + describe(t, v));
  const bool builtin = module == "builtins" || module.empty();
  stop(builtin || module == "_functools" || module == "itertools" ? "unsupported_builtin" : "foreign_call",
       (builtin ? "builtin " : "call of " + module + ".") + describe(t, v));
}

// dict[str, int](): a class of the program's own would note in its object what it was called by. nullptr: of
// such a class, or no class.
PyObject* origin_of_alias(PyObject* alias) {
  PyRef origin(PyObject_GetAttrString(alias, "__origin__"));
  if (origin && PyType_Check(origin.get()) &&
      !(reinterpret_cast<PyTypeObject*>(origin.get())->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return origin.release();
  PyErr_Clear();
  return nullptr;
}

}  // namespace

Value* call_constant(Tracer& t, Value* v, Arguments a) {
  PyObject* o = v->obj;
  if (Py_TYPE(o) == torch_names().lru_cache_wrapper) return call_cached(t, v, std::move(a));
  if (Py_TYPE(o) == torch_names().generic_alias)
    if (const PyRef origin(origin_of_alias(o)); origin) return call(t, t.pinned(origin.get()), std::move(a));
  // A member of an enum, say: an object that never changes, whose class is callable.
  if (PyObject* method = python_method(t, Py_TYPE(o), "__call__")) {
    a.positional.insert(a.positional.begin(), v);
    return call(t, t.pinned(method), std::move(a));
  }
  stop("foreign_call", "call of " + describe(t, v));
}

const TypeOps native_method_type = [] {
  TypeOps ops = constant_ops("method_descriptor, wrapper_descriptor");
  ops.call = call_native_method;
  return ops;
}();
const TypeOps native_function_type = [] {
  TypeOps ops = constant_ops("builtin_function_or_method");
  ops.call = call_native_function;
  return ops;
}();

}  // namespace vitrine::capture
