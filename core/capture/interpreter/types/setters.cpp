// Attribute writes: into the shadow, replayed after the graph.
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/thread_locals.h"

#include <structmember.h>

namespace vitrine::capture {

bool is_read_only(PyObject* descriptor) {
  return descriptor && Py_TYPE(descriptor) == &PyMemberDescr_Type &&
         (reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->flags & READONLY);
}

void write_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  touch(t, v);
  if (v->own_dict) enter_own(t, v, name, value);
  check_overwritten(t, v, name);
  for (auto at = v->attrs.begin(); at != v->attrs.end(); ++at)
    if (at->first == name) {
      if (at->second || !value) return void(at->second = value);
      v->attrs.erase(at);  // deleted, and set again: it is the last one now
      break;
    }
  v->attrs.emplace_back(name, value);
}

void set_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  v = t.look(v);
  const TypeOps& type = ops_of(v);
  if (!type.set_attr) stop("custom_setter", "attribute " + name + " of " + describe(t, v) + " is set");
  type.set_attr(t, v, name, value);
}

void generic_set(Tracer& t, Value* v, const std::string& name, Value* value) {
  v = t.look(v);
  PyTypeObject* type = type_of(t, v);
  pin_type(t, type);
  check_plain_attributes(t, v, "__setattr__");
  if (set_chain_attr(t, v, name, value)) return;
  if (PyObject* d = lookup(type, name.c_str()); d && Py_TYPE(d)->tp_descr_set) {
    PyTypeObject* kind = Py_TYPE(d);
    if (PyType_IsSubtype(kind, &PyProperty_Type)) {
      PyRef setter(PyObject_GetAttrString(d, "fset"));
      if (!setter || setter.get() == Py_None)
        t.raise(PyExc_AttributeError, "property " + name + " has no setter");
      call(t, t.pinned(setter.get()), {{v, value}, {}});
      return;
    }
    if (is_read_only(d))
      stop("exception", "attribute " + name + " of a " + describe(t, v) + ", which is read-only, is set");
    if (kind != &PyMemberDescr_Type) {
      PyObject* setter = python_method(t, kind, "__set__");
      if (!setter) stop("custom_setter", "attribute " + name + " of a " + describe(t, v) + " is set");
      call_special(t, t.pinned(d), setter, {v, value});
      return;
    }
  } else if (!v->obj ? type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
                     : !PyRef(held_attributes(v->obj))) {
    PyErr_Clear();
    t.raise(PyExc_AttributeError, describe(t, v) + " has no attribute '" + name + "'");
  }
  write_attr(t, v, name, value);
}

void del_attr(Tracer& t, Value* v, const std::string& name) {
  v = t.look(v);
  if (!v->is(ValueKind::Object)) stop("custom_setter", "an attribute of " + describe(t, v) + " is deleted");
  PyTypeObject* type = type_of(t, v);
  PyObject* deleter = lookup(type, "__delattr__");
  if (deleter && PyFunction_Check(deleter)) {
    call_special(t, v, deleter, {t.text(name)});
    return;
  }
  generic_del(t, v, name);
}

void generic_del(Tracer& t, Value* v, const std::string& name) {
  v = t.look(v);
  if (!v->is(ValueKind::Object)) stop("custom_setter", "an attribute of " + describe(t, v) + " is deleted");
  PyTypeObject* type = type_of(t, v);
  pin_type(t, type);
  check_plain_attributes(t, v, "__delattr__");
  PyObject* d = lookup(type, name.c_str());
  if (d && PyType_IsSubtype(Py_TYPE(d), &PyProperty_Type)) {
    PyRef function(PyObject_GetAttrString(d, "fdel"));
    if (!function || function.get() == Py_None) stop("custom_setter", "property " + name + " has no deleter");
    call(t, t.pinned(function.get()), {{v}, {}});
    return;
  }
  if (PyObject* own = d && Py_TYPE(d)->tp_descr_set ? python_method(t, Py_TYPE(d), "__delete__") : nullptr) {
    call_special(t, t.pinned(d), own, {v});
    return;
  }
  if (d && Py_TYPE(d) == &PyMemberDescr_Type && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    if (!bind_descriptor(t, d, v, type, name)) t.raise(PyExc_AttributeError, name, true);
    return write_attr(t, v, name, nullptr);
  }
  const bool own = !(d && Py_TYPE(d)->tp_descr_set) && instance_get(t, v, name);
  if (!own) stop("custom_setter", "attribute " + name + " of a " + describe(t, v) + " is deleted");
  write_attr(t, v, name, nullptr);
}

}  // namespace vitrine::capture
