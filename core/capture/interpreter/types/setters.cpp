// Attribute writes: into the shadow, replayed after the graph.
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/thread_locals.h"
#include "core/capture/objects/torch_names.h"

#include <structmember.h>

namespace vitrine::capture {
namespace {

// A variable of an ordinary module. PyTorch's own functions, which run for real when they are recorded, would
// not see it changed.
bool may_be_set(PyObject* module, const std::string& name) {
  if (!PyModule_CheckExact(module) || name.starts_with("__")) return false;
  PyObject* globals = PyModule_GetDict(module);
  if (globals == PyEval_GetBuiltins()) return false;
  const std::string of = text_of(PyDict_GetItemString(globals, "__name__"));
  return of != "torch" && !of.starts_with("torch.");
}

bool is_read_only(PyObject* descriptor) {
  return descriptor && Py_TYPE(descriptor) == &PyMemberDescr_Type &&
         (reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->flags & READONLY);
}

}  // namespace

void Tracer::write_attr(Value* v, const std::string& name, Value* value) {
  touch(v);
  if (v->own_dict) enter_own(v, name, value);
  check_overwritten(v, name);
  for (auto at = v->attrs.begin(); at != v->attrs.end(); ++at)
    if (at->first == name) {
      if (at->second || !value) return void(at->second = value);
      v->attrs.erase(at);  // deleted, and set again: it is the last one now
      break;
    }
  v->attrs.emplace_back(name, value);
}

void Tracer::set_attr(Value* v, const std::string& name, Value* value) {
  v = look(v);
  switch (v->kind) {
    case Kind::Function: {
      FunctionState& f = *v->function;
      if (is_read_only(lookup(&PyFunction_Type, name)))
        stop("exception", name + " of a function, which is read-only, is set");
      if (name == "__code__") stop("custom_setter", "__code__ of a function is set");
      if (name == "__annotations__") return void(f.annotations = value);
      if (name == "__defaults__") return void(f.defaults = is_none(value) ? nullptr : value);
      if (name == "__kwdefaults__") return void(f.kwdefaults = is_none(value) ? nullptr : value);
      return write_attr(v, name, value);
    }
    case Kind::Tensor:
      return set_tensor_attr(v, name, value);
    case Kind::Constant:
      if (!may_be_set(v->obj, name))
        stop("custom_setter", "attribute " + name + " of " + describe(v) + " is set");
      return store_global(PyModule_GetDict(v->obj), constant_source(v->obj), name, value);
    case Kind::Object:
    case Kind::Dict:
    case Kind::List:
    case Kind::Tuple:
      break;
    default:
      stop("custom_setter", "attribute " + name + " of " + describe(v) + " is set");
  }
  // An exception made here has no traceback that anything could look at.
  if (v->worded && name == "__traceback__" && (is_none(value) || type_of(value) == &PyTraceBack_Type)) return;
  PyTypeObject* type = type_of(v);
  PyObject* setter = lookup(type, "__setattr__");
  if (setter && PyFunction_Check(setter) && setter != torch_names().module_setattr) {
    pin_type(type);
    call_special(v, setter, {text(name), value});
    return;
  }
  if (setter == torch_names().module_setattr) {
    for (const char* group : {"_parameters", "_buffers", "_modules"}) {
      Value* members = instance_get(v, group);
      if (!members) continue;
      if (!dict_get(members, name.c_str())) continue;
      value = look(value);
      if (std::string(group) == "_buffers" &&
          ((value->kind == Kind::Tensor && value->cls == torch_names().tensor) || is_none(value)))
        return dict_set(look(members), text(name), value);
      call_special(v, setter, {text(name), value});
      return;
    }
    Value* list = symbolic_list(value);
    value = list ? list : peek(value);
    const bool member = (value->kind == Kind::Tensor && value->cls != torch_names().tensor) ||
                        (value->kind == Kind::Object && torch_names().is_module(value->cls));
    if (member) {
      pin_type(type);
      call_special(v, setter, {text(name), value});
      return;
    }
  }
  generic_set(v, name, value);
}

void Tracer::generic_set(Value* v, const std::string& name, Value* value) {
  v = look(v);
  PyTypeObject* type = type_of(v);
  pin_type(type);
  check_plain_attributes(v, "__setattr__");
  if (set_chain_attr(v, name, value)) return;
  if (PyObject* d = lookup(type, name.c_str()); d && Py_TYPE(d)->tp_descr_set) {
    PyTypeObject* kind = Py_TYPE(d);
    if (PyType_IsSubtype(kind, &PyProperty_Type)) {
      Owned setter(PyObject_GetAttrString(d, "fset"));
      if (!setter || setter.get() == Py_None)
        raise(PyExc_AttributeError, "property " + name + " has no setter");
      call(pinned(setter.get()), {{v, value}, {}});
      return;
    }
    if (is_read_only(d))
      stop("exception", "attribute " + name + " of a " + describe(v) + ", which is read-only, is set");
    if (kind != &PyMemberDescr_Type) {
      PyObject* setter = python_method(kind, "__set__");
      if (!setter) stop("custom_setter", "attribute " + name + " of a " + describe(v) + " is set");
      call_special(pinned(d), setter, {v, value});
      return;
    }
  } else if (!v->obj ? type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
                     : !Owned(held_attributes(v->obj))) {
    PyErr_Clear();
    raise(PyExc_AttributeError, describe(v) + " has no attribute '" + name + "'");
  }
  write_attr(v, name, value);
}

void Tracer::del_attr(Value* v, const std::string& name) {
  v = look(v);
  if (v->kind != Kind::Object) stop("custom_setter", "an attribute of " + describe(v) + " is deleted");
  PyTypeObject* type = type_of(v);
  PyObject* deleter = lookup(type, "__delattr__");
  if (deleter && PyFunction_Check(deleter)) {
    call_special(v, deleter, {text(name)});
    return;
  }
  generic_del(v, name);
}

void Tracer::generic_del(Value* v, const std::string& name) {
  v = look(v);
  if (v->kind != Kind::Object) stop("custom_setter", "an attribute of " + describe(v) + " is deleted");
  PyTypeObject* type = type_of(v);
  pin_type(type);
  check_plain_attributes(v, "__delattr__");
  PyObject* d = lookup(type, name.c_str());
  if (d && PyType_IsSubtype(Py_TYPE(d), &PyProperty_Type)) {
    Owned function(PyObject_GetAttrString(d, "fdel"));
    if (!function || function.get() == Py_None) stop("custom_setter", "property " + name + " has no deleter");
    call(pinned(function.get()), {{v}, {}});
    return;
  }
  if (PyObject* own = d && Py_TYPE(d)->tp_descr_set ? python_method(Py_TYPE(d), "__delete__") : nullptr) {
    call_special(pinned(d), own, {v});
    return;
  }
  if (d && Py_TYPE(d) == &PyMemberDescr_Type && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    if (!bind_descriptor(d, v, type, name)) raise(PyExc_AttributeError, name, true);
    return write_attr(v, name, nullptr);
  }
  const bool own = !(d && Py_TYPE(d)->tp_descr_set) && instance_get(v, name);
  if (!own) stop("custom_setter", "attribute " + name + " of a " + describe(v) + " is deleted");
  write_attr(v, name, nullptr);
}

}  // namespace vitrine::capture
