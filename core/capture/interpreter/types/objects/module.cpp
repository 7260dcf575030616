// Modules. What is set in one is a global of the functions in it.
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/interpret.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/objects/constants.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// A data descriptor of the module's class: torch.backends.cudnn.enabled. nullptr: there is none.
PyObject* own_descriptor(PyTypeObject* type, const std::string& name) {
  PyObject* found = type == &PyModule_Type ? nullptr : lookup(type, name);
  const bool own = found && is_data_descriptor(found) && (Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return own ? found : nullptr;
}

// What a class derived from that of modules gives for a name that is not in the module's dict.
Value* attr_of_class(Tracer& t, Value* v, const std::string& name, const Source* base) {
  PyTypeObject* cls = Py_TYPE(v->obj);
  PyObject* found = lookup(cls, name);
  if (found && PyFunction_Check(found)) {  // torch.backends.mkldnn.is_available
    pin_type(t, cls);
    t.guard(GuardKind::InstanceHas, base, nullptr, 0, name, nullptr, "has no own " + name);
    return bind_descriptor(t, found, v, cls, name);
  }
  PyObject* getter = found ? nullptr : python_method(t, cls, "__getattr__");
  if (!getter) stop("unsupported_value", "a lazy attribute of module " + describe(t, v));
  t.guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
  return call(t, t.pinned(getter), Arguments{{v, t.text(name)}, {}});
}

Value* getattribute_of(Tracer& t, Value* v) {
  Value* method = t.make(ValueKind::Method);
  method->items() = {t.pinned(lookup(&PyModule_Type, "__getattribute__")), v};
  method->cls = torch_names().method_wrapper;
  return method;
}

Value* module_attr(Tracer& t, Value* v, const std::string& name) {
  PyTypeObject* type = Py_TYPE(v->obj);
  PyObject* dict = PyModule_GetDict(v->obj);
  if (python_method(t, type, "__getattribute__"))
    stop("unsupported_value", "a module whose class has a __getattribute__ of its own");
  if (PyObject* descriptor = own_descriptor(type, name)) {
    pin_type(t, type);
    return bind_descriptor(t, descriptor, v, type, name);
  }
  if (Value* written = written_global(t, dict, name)) return written;
  PyObject* value = PyDict_GetItemString(dict, name.c_str());
  const Source* base = v->source ? v->source : constant_source(t, v->obj);
  if (value) return t.lazy(value, t.sources().attr(base, name));
  const TorchNames& torch = torch_names();
  if (type == torch.op_namespace || type == torch.ops || name == "__class__") {
    PyRef made(PyObject_GetAttrString(v->obj, name.c_str()));
    if (made) return t.pinned(made.get());
    PyErr_Clear();
    return nullptr;
  }
  if (name == "__dict__") stop("unsupported_value", "the __dict__ of a module");
  if (name == "__getattribute__") return getattribute_of(t, v);
  if (type != &PyModule_Type) return attr_of_class(t, v, name, base);
  if (PyDict_GetItemString(dict, "__getattr__"))
    stop("unsupported_value", "a lazy attribute of module " + describe(t, v));
  t.guard(GuardKind::HasAttr, base, nullptr, 0, name, nullptr, "has no " + name);
  return nullptr;
}

Value* module_method(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  return name == "__getattribute__" ? load_attr(t, self, str_of(t, argument(t, a, 0), false)) : nullptr;
}

// A variable of an ordinary module. PyTorch's own functions, which run for real when they are recorded, would
// not see it changed.
bool may_be_set(PyObject* module, const std::string& name) {
  if (!PyModule_CheckExact(module) || name.starts_with("__")) return false;
  PyObject* globals = PyModule_GetDict(module);
  if (globals == PyEval_GetBuiltins()) return false;
  const std::string of = text_of(PyDict_GetItemString(globals, "__name__"));
  return of != "torch" && !of.starts_with("torch.");
}

void set_module_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  if (!may_be_set(v->obj, name))
    stop("custom_setter", "attribute " + name + " of " + describe(t, v) + " is set");
  store_global(t, PyModule_GetDict(v->obj), constant_source(t, v->obj), name, value);
}

}  // namespace

const TypeOps module_type = [] {
  TypeOps ops = constant_ops("module");
  ops.attr = module_attr;
  ops.set_attr = set_module_attr;
  ops.call_method = module_method;
  return ops;
}();

}  // namespace vitrine::capture
