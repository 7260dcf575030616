// What a class holds under a name, read through an instance or through the class: functions, properties,
// members, class methods, and descriptors that the program writes.
#include "core/capture/interpreter/types/objects/descriptors.h"
#include "core/base/once.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/exception_chain.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// What these wrappers make of a function stays a function of its class.
bool binds_as_method(PyTypeObject* type) {
  return type == torch_names().disabled_function || type == torch_names().compiled_function ||
         type == torch_names().lru_cache_wrapper;
}

// A descriptor, and how it was reached: type.name, or self.name where self is no nullptr.
struct FoundDescriptor {
  PyObject* descriptor;
  Value* self;
  PyTypeObject* type;
  const std::string& name;
};

Value* bound(Tracer& t, PyObject* function, Value* self) {
  Value* m = t.make(ValueKind::Method);
  m->items() = {t.pinned(function), self};
  m->cls =
      PyFunction_Check(function) || binds_as_method(Py_TYPE(function)) ? &PyMethod_Type : &PyCFunction_Type;
  return m;
}

Value* class_of(Tracer& t, const FoundDescriptor& r) {
  return t.pinned(reinterpret_cast<PyObject*>(r.type));
}

Value* of_static_method(Tracer& t, const FoundDescriptor& r) {
  PyRef inner(PyObject_GetAttrString(r.descriptor, "__func__"));
  return t.pinned(inner.get());
}

Value* of_class_method(Tracer& t, const FoundDescriptor& r) {
  Value* cls = class_of(t, r);
  PyRef inner(PyObject_GetAttrString(r.descriptor, "__func__"));
  if (!PyFunction_Check(inner.get()) && Py_TYPE(inner.get())->tp_descr_get &&
      !binds_as_method(Py_TYPE(inner.get())))
    stop("unsupported_value", std::string("a class method made of a ") + Py_TYPE(inner.get())->tp_name);
  return bound(t, inner.get(), cls);
}

// The descriptor that was found, not what the class itself answers: super() has passed over that.
Value* of_native_class_method(Tracer& t, const FoundDescriptor& r) {
  PyRef made(Py_TYPE(r.descriptor)->tp_descr_get(r.descriptor, nullptr, reinterpret_cast<PyObject*>(r.type)));
  if (!made) t.raise_python();
  return t.pinned(made.get());
}

Value* of_property(Tracer& t, const FoundDescriptor& r) {
  PyRef getter(PyObject_GetAttrString(r.descriptor, "fget"));
  if (!getter || getter.get() == Py_None) t.raise(PyExc_AttributeError, "unreadable attribute " + r.name);
  return call(t, t.pinned(getter.get()), {{r.self}, {}});
}

// A field of a named tuple.
Value* of_tuple_getter(Tracer& t, const FoundDescriptor& r) {
  PyRef reduced(PyObject_CallMethod(r.descriptor, "__reduce__", nullptr));
  if (!reduced) t.raise_python();
  const auto i = PyLong_AsSize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0));
  guard_length(t, r.self);
  if (i >= r.self->items().size()) t.raise(PyExc_IndexError, "tuple index out of range");
  return r.self->items()[i];
}

// Of an object that existed before: what lies in its slot.
Value* of_real_slot(Tracer& t, const FoundDescriptor& r) {
  PyRef value(PyObject_GenericGetAttr(r.self->obj, reinterpret_cast<PyDescrObject*>(r.descriptor)->d_name));
  if (!value) {
    PyErr_Clear();
    t.guard(GuardKind::HasAttr, r.self->source, nullptr, 0, r.name, nullptr, "has no " + r.name);
    return nullptr;
  }
  const bool fixed = r.self->pinned && r.type == torch_names().signature;
  return t.lazy(value.get(), t.sources().attr(r.self->source, r.name), fixed);
}

Value* of_member(Tracer& t, const FoundDescriptor& r) {
  Value* self = r.self;
  if (self->is(ValueKind::Tuple) && real_of(self)) {
    PyRef field(PyObject_GetAttrString(real_of(self), r.name.c_str()));  // torch.return_types.*
    if (!field) t.raise_python();
    return from_python(t, field.get());
  }
  if (r.name == "__dict__") return instance_dict(t, self);
  if (Value* of_chain = chain_attr(t, self, r.name)) return of_chain;
  bool found = false;
  Value* written = find_written(self, r.name, &found);
  if (found) return written;
  if (Value* of_exception = member_of_exception(t, self, r.descriptor, r.name)) return of_exception;
  if (Value* of_partial = part_of_partial(self, r.name)) return of_partial;
  return self->obj ? of_real_slot(t, r) : nullptr;
}

Value* of_getset(Tracer& t, const FoundDescriptor& r) {
  Value* self = r.self;
  if (Value* of_chain = chain_attr(t, self, r.name)) return of_chain;
  if (r.name == "__dict__") return instance_dict(t, self);
  if (r.name == "__class__" && !binds_as_method(type_of(t, self))) return class_of(t, r);
  if (r.name == "args" && is_worded(self)) return t.tuple(self->items());
  if (r.name == "maxlen" && self->is(ValueKind::List))
    return self->as<ListValue>().limit < 0 ? t.none() : t.integer(self->as<ListValue>().limit);
  stop("unsupported_value", "attribute " + r.name + " of a " + describe(t, self));
}

Value* of_cached_property(Tracer& t, const FoundDescriptor& r) {
  if (!r.self) return t.pinned(r.descriptor);
  PyRef named(PyObject_GetAttrString(r.descriptor, "attrname"));
  const bool kept_as_named = named && PyUnicode_Check(named.get()) && text_of(named.get()) == r.name;
  if (!kept_as_named || !r.self->is(ValueKind::Object))  // which CPython has words for
    stop("exception", "a cached_property that cannot be kept under its name");
  PyRef function(PyObject_GetAttrString(r.descriptor, "func"));
  if (!function) t.raise_python();
  Value* value = call(t, t.pinned(function.get()), {{r.self}, {}});
  write_attr(t, r.self, r.name, value);
  return value;
}

PyTypeObject* cached_property_type() {
  static constinit Once<PyObject*> kept_property;
  return reinterpret_cast<PyTypeObject*>(
      kept_property.get([] { return find_object("functools.cached_property"); }));
}

// By a __get__ in Python, if it has one.
Value* of_other(Tracer& t, const FoundDescriptor& r) {
  PyTypeObject* kind = Py_TYPE(r.descriptor);
  if (kind == cached_property_type()) return of_cached_property(t, r);
  if (kind == torch_names().compiled_function || kind == torch_names().disabled_function)
    return r.self ? bound(t, r.descriptor, r.self) : t.pinned(r.descriptor);
  Value* cls = class_of(t, r);
  if (PyObject* getter = python_method(t, kind, "__get__"))
    return call_special(t, t.pinned(r.descriptor), getter, {r.self ? r.self : t.none(), cls});
  stop("unsupported_value", std::string("descriptor ") + kind->tp_name + " for " + r.name);
}

bool is_function(PyObject* d) {
  return PyFunction_Check(d) || is_native_method(d) || binds_as_method(Py_TYPE(d));
}

Value* through_class(Tracer& t, const FoundDescriptor& r) {
  PyTypeObject* kind = Py_TYPE(r.descriptor);
  const bool itself = is_function(r.descriptor) || kind == &PyProperty_Type || !kind->tp_descr_get ||
                      kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type;
  return itself ? t.pinned(r.descriptor) : of_other(t, r);
}

Value* through_instance(Tracer& t, const FoundDescriptor& r) {
  PyTypeObject* kind = Py_TYPE(r.descriptor);
  if (is_function(r.descriptor)) return bound(t, r.descriptor, r.self);
  if (PyType_IsSubtype(kind, &PyProperty_Type)) return of_property(t, r);
  // "_collections._tuplegetter" before CPython 3.12
  if (std::string_view(kind->tp_name).ends_with("collections._tuplegetter") && r.self->is(ValueKind::Tuple))
    return of_tuple_getter(t, r);
  if (kind == &PyMemberDescr_Type) return of_member(t, r);
  if (kind == &PyGetSetDescr_Type) return of_getset(t, r);
  if (Value* of_chain = chain_attr(t, r.self, r.name)) return of_chain;
  return kind->tp_descr_get ? of_other(t, r) : t.pinned(r.descriptor);
}

}  // namespace

Value* bind_descriptor(Tracer& t, PyObject* d, Value* self, PyTypeObject* type, const std::string& name) {
  const FoundDescriptor r{d, self, type, name};
  PyTypeObject* kind = Py_TYPE(d);
  if (kind == &PyStaticMethod_Type) return of_static_method(t, r);
  if (kind == &PyClassMethod_Type) return of_class_method(t, r);
  if (kind == &PyClassMethodDescr_Type) return of_native_class_method(t, r);
  return self ? through_instance(t, r) : through_class(t, r);
}

}  // namespace vitrine::capture
