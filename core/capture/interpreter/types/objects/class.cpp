// Classes.
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/constants.h"
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// What the object itself answers, here and now; nullptr: it has no such attribute.
Value* answer_of(Tracer& t, PyObject* object, const std::string& name) {
  PyRef value(PyObject_GetAttrString(object, name.c_str()));
  if (value) return t.pinned(value.get());
  PyErr_Clear();
  return nullptr;
}

// By a data descriptor of its metaclass.
Value* attr_of_metaclass(Tracer& t, PyTypeObject* type, PyObject* descriptor, const std::string& name) {
  PyObject* object = reinterpret_cast<PyObject*>(type);
  PyTypeObject* meta = Py_TYPE(type);
  if (Py_TYPE(descriptor) != &PyGetSetDescr_Type && Py_TYPE(descriptor) != &PyMemberDescr_Type)
    return bind_descriptor(t, descriptor, t.pinned(object), meta, name);
  if (name == "__dict__") stop("unsupported_value", "the __dict__ of a class");
  if (name == "__class__") return t.pinned(reinterpret_cast<PyObject*>(meta));
  return answer_of(t, object, name);
}

Value* class_attr(Tracer& t, Value* v, const std::string& name) {
  PyObject* object = v->obj;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  pin_type(t, type);
  PyTypeObject* meta = Py_TYPE(type);
  PyObject* on_meta = lookup(meta, name);
  PyObject* found = lookup(type, name);
  if (PyType_IsSubtype(type, torch_names().enum_base) && name[0] != '_') {
    PyRef member(PyObject_GetAttrString(object, name.c_str()));
    if (!member) {
      PyErr_Clear();
      return nullptr;
    }
    if (Py_TYPE(member.get()) == type) return t.pinned(member.get());
  }
  if (on_meta && is_data_descriptor(on_meta) && Py_TYPE(on_meta)->tp_descr_get)
    return attr_of_metaclass(t, type, on_meta, name);
  if (found) return bind_descriptor(t, found, nullptr, type, name);
  if (on_meta) return bind_descriptor(t, on_meta, t.pinned(object), meta, name);
  if (lookup(meta, "__getattr__"))
    stop("unsupported_value", std::string("attributes of class ") + type->tp_name);
  return nullptr;
}

Value* call_class(Tracer& t, Value* v, Arguments a) {
  return construct(t, reinterpret_cast<PyTypeObject*>(v->obj), std::move(a));
}

// An enumeration's members.
Value* iter_class(Tracer& t, Value* v) {
  auto* type = reinterpret_cast<PyTypeObject*>(v->obj);
  if (!PyType_IsSubtype(type, torch_names().enum_base)) return iter_constant(t, v);
  pin_type(t, type);
  PyRef members(PySequence_List(v->obj));
  if (!members) t.raise_python();
  return iter(t, t.fold(members.release()));
}

// list[int], Generic[T]
Value* get_class_item(Tracer& t, Value* v, Value* key) {
  PyRef k(constant_tree(t, key));
  if (!k) stop("unsupported_value", "subscript of a class");
  return t.fold(PyObject_GetItem(v->obj, k.get()));
}

}  // namespace

const TypeOps class_type = [] {
  TypeOps ops = constant_ops("type");
  ops.attr = class_attr;
  ops.call = call_class;
  ops.get_item = get_class_item;
  ops.iter = iter_class;
  return ops;
}();

}  // namespace vitrine::capture
