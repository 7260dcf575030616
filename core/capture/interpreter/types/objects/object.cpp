// Objects of plain classes, and what every object has of class object.
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"

#include "core/base/words.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

// The first of its classes that is not written in Python.
PyTypeObject* native_class(PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_base) type = type->tp_base;
  return type;
}

Value* object_attr(Tracer& t, Value* v, const std::string& name) {
  PyTypeObject* type = type_of(t, v);
  PyObject* getter = lookup(type, "__getattribute__");
  if (!getter || !PyFunction_Check(getter)) return generic_get(t, v, name, true);
  pin_type(t, type);
  if (!lookup(type, "__getattr__")) return call_special(t, v, getter, {t.text(name)});
  try {
    return call_special(t, v, getter, {t.text(name)});
  } catch (const RaiseSignal& signal) {
    auto* error = reinterpret_cast<PyTypeObject*>(PyExc_AttributeError);
    if (!signal.exception || !PyType_IsSubtype(signal.exception->cls, error)) throw;
    return ask_getattr(t, v, name);
  }
}

namespace {

constexpr const char* kItemsOf = "vitrine._polyfills.standard_library.items_of";

// An nn.Module sorts what is set by its kind. Whether that was done here.
bool set_member_of_module(Tracer& t, Value* v, PyObject* setter, const std::string& name, Value*& value) {
  for (const char* group : {"_parameters", "_buffers", "_modules"}) {
    Value* members = instance_get(t, v, group);
    if (!members) continue;
    if (!dict_get(t, members, name.c_str())) continue;
    value = t.look(value);
    if (std::string(group) == "_buffers" &&
        ((value->is(ValueKind::Tensor) && value->cls == torch_names().tensor) || is_none(t, value)))
      dict_set(t, t.look(members), t.text(name), value);
    else
      call_special(t, v, setter, {t.text(name), value});
    return true;
  }
  Value* list = symbolic_list(t, value);
  value = list ? list : peek(t, value);
  const bool member = (value->is(ValueKind::Tensor) && value->cls != torch_names().tensor) ||
                      (value->is(ValueKind::Object) && torch_names().is_module(value->cls));
  if (!member) return false;
  pin_type(t, type_of(t, v));
  call_special(t, v, setter, {t.text(name), value});
  return true;
}

}  // namespace

void set_object_attr(Tracer& t, Value* v, const std::string& name, Value* value) {
  PyTypeObject* type = type_of(t, v);
  PyObject* setter = lookup(type, "__setattr__");
  if (setter && PyFunction_Check(setter) && setter != torch_names().module_setattr) {
    pin_type(t, type);
    return void(call_special(t, v, setter, {t.text(name), value}));
  }
  if (setter == torch_names().module_setattr && set_member_of_module(t, v, setter, name, value)) return;
  generic_set(t, v, name, value);
}

Value* call_object(Tracer& t, Value* v, Arguments a) {
  PyTypeObject* type = type_of(t, v);
  PyObject* method = python_method(t, type, "__call__");
  if (!method) {
    if (!type->tp_call) t.raise(PyExc_TypeError, describe(t, v) + " is not callable");
    stop("foreign_call", "call of a " + describe(t, v));
  }
  if (method == torch_names().module_call && v->obj) return call_module(t, v, std::move(a));
  a.positional.insert(a.positional.begin(), v);
  return call(t, t.pinned(method), std::move(a));
}

bool truth_of_object(Tracer& t, Value* v, const char*) {
  PyTypeObject* type = type_of(t, v);
  if (const int told = checked_truth(t, v); told >= 0) return told;
  pin_type(t, type);
  const bool own = (type->tp_as_number && type->tp_as_number->nb_bool) ||
                   (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                   (type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (own) stop("unsupported_value", "the truth of a " + describe(t, v));
  return true;
}

int64_t length_of_object(Tracer& t, Value* v) {
  if (PyObject* function = python_method(t, v->cls, "__len__")) return checked_length(t, v, function);
  stop("unsupported_value", "len() of a " + describe(t, v));
}

Value* get_object_item(Tracer& t, Value* v, Value*) {
  stop("unsupported_value", "subscript of " + describe(t, v));
}

Value* iter_object(Tracer& t, Value* v) {
  if (!v->cls->tp_iter && python_method(t, v->cls, "__getitem__"))
    return iter(t, call(t, t.pinned(find_object(kItemsOf)), {{v}, {}}));
  if (!v->cls->tp_iter) t.raise(PyExc_TypeError, describe(t, v) + " is not iterable");
  if (v->obj && v->cls->tp_iter == PyObject_SelfIter) return v;
  stop("unsupported_value", "iteration over " + describe(t, v));
}

Value* next_of_object(Tracer& t, Value* v, Value** returned) {
  PyObject* method = python_method(t, type_of(t, v), "__next__");
  if (!method && v->obj && PyGen_CheckExact(v->obj))
    stop("generator", "iteration over a generator from before this point");
  if (!method && v->cls->tp_iternext)
    stop("unsupported_value", "iteration over a " + describe(t, v) + " from before this point");
  if (!method) t.raise(PyExc_TypeError, describe(t, v) + " is not an iterator");
  try {
    return call_special(t, v, method, {});
  } catch (const RaiseSignal& signal) {
    if (!signal.exception || signal.exception->cls != reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))
      throw;
    if (returned && !signal.exception->items().empty()) *returned = signal.exception->items()[0];
    return nullptr;
  }
}

namespace {

// A class that PyTorch makes in C++. One that is written in Python is none, whatever it is called.
bool is_torch_extension_type(PyTypeObject* type) {
  const bool of_python = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && Py_TYPE(type) == &PyType_Type;
  return !of_python && std::string_view(type->tp_name).starts_with("torch.");
}

}  // namespace

Value* object_unary(Tracer& t, const std::string& op, Value* v) {
  PyObject* method = python_method(t, type_of(t, v), ("__" + op + "__").c_str());
  return method ? call_special(t, v, method, {}) : nullptr;
}

std::string describe_object(Tracer&, Value* v) {
  return std::string(v->cls->tp_name) + " object";
}

PyObject* object_to_torch(Tracer& t, Value* v) {
  if (!v->obj || !v->source || !is_torch_extension_type(v->cls))
    stop("unsupported_value", with_article(describe(t, v)) + " is given to PyTorch");
  t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + describe(t, v));
  return Py_NewRef(v->obj);
}

Recipe recipe_of_object(Tracer& t, RecipeMaker& make, Value* v) {
  for (const auto& [name, maker] :
       {std::pair{"Identity", "builtins.id"},
        std::pair{"Compiled", "vitrine._polyfills.made_inside.compiled_for_real"}}) {
    if (!is_kept_as(v, name)) continue;
    Recipe r = make.call(find_object(maker), {});
    for (const auto& [attribute, value] : v->attrs) r.children.push_back(make.make(value));
    return r;
  }
  if (array_kind(t, v) != ArrayKind::None) return recipe_of_array(make, v);
  static PyObject* object_new =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
  return make.made_empty(v, object_new, [&](const Recipe& target) { make.attributes(v, target); });
}

namespace {

// What object.__init__ says where nobody takes the arguments.
void check_object_init(Tracer& t, PyTypeObject* cls, const Arguments& a) {
  if (a.positional.empty() && a.keyword.empty()) return;
  const bool own_init = cls->tp_init != PyBaseObject_Type.tp_init;
  if (!own_init && cls->tp_new != PyBaseObject_Type.tp_new) return;
  t.raise(PyExc_TypeError,
          (own_init ? "object" : std::string(cls->tp_name)) +
              ".__init__() takes exactly one argument (the instance to initialize)",
          true);
}

Value* object_init(Tracer& t, Value* s, const Arguments& a) {
  if (s->cls && PyType_IsSubtype(s->cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    init_exception(t, s, a);
  else if (s->cls && native_class(s->cls)->tp_init != PyBaseObject_Type.tp_init)
    stop("unsupported_builtin", "__init__() of a " + describe(t, s));
  else if (s->cls)
    check_object_init(t, s->cls, a);
  return t.none();
}

Value* object_getattribute(Tracer& t, Value* s, const Arguments& a) {
  const std::string name = str_of(t, argument(t, a, 0), false);
  Value* found = generic_get(t, s, name, false);
  if (!found) t.raise(PyExc_AttributeError, describe(t, s) + " has no attribute '" + name + "'");
  return found;
}

Value* object_setattr(Tracer& t, Value* s, const Arguments& a) {
  generic_set(t, s, str_of(t, argument(t, a, 0), false), argument(t, a, 1));
  return t.none();
}

Value* object_delattr(Tracer& t, Value* s, const Arguments& a) {
  generic_del(t, s, str_of(t, argument(t, a, 0), false));
  return t.none();
}

Value* object_eq(Tracer& t, Value* s, const Arguments& a) {
  if (type_of(t, s) && type_of(t, s)->tp_richcompare != PyBaseObject_Type.tp_richcompare)
    stop("unsupported_builtin", "__eq__ of a " + describe(t, s));
  return same(t, s, argument(t, a, 0)) ? t.boolean(true) : t.constant(Py_NotImplemented);
}

Value* held_item(Tracer& t, Value* s, const Arguments& a) {
  return get_held_item(t, s, argument(t, a, 0));
}

const MethodTable& object_methods() {
  static const MethodTable table = {
      {"__init__", object_init},
      {"__setattr__", object_setattr},
      {"__delattr__", object_delattr},
      {"__getattribute__", object_getattribute},
      {"__init_subclass__", [](Tracer& t, Value*, const Arguments&) { return t.none(); }},
      {"__eq__", object_eq},
      {"__getitem__", held_item},
  };
  return table;
}

// What object.__new__ says where nobody takes the arguments.
void check_object_new(Tracer& t, PyTypeObject* cls, const Arguments& a) {
  if (a.positional.size() + a.keyword.size() < 2) return;
  if (cls->tp_new != PyBaseObject_Type.tp_new)
    t.raise(PyExc_TypeError, "object.__new__() takes exactly one argument (the type to instantiate)", true);
  if (cls->tp_init == PyBaseObject_Type.tp_init)
    t.raise(PyExc_TypeError, std::string(cls->tp_name) + "() takes no arguments", true);
}

}  // namespace

Method method_of_object(const std::string& name) {
  return method_in<object_methods>(name);
}

Value* new_object(Tracer& t, const Arguments& a) {
  PyObject* o = a.positional.empty() ? nullptr : const_object(t, a.positional[0]);
  if (!o || !PyType_Check(o)) stop("unsupported_value", "__new__ of something that is no class");
  auto* cls = reinterpret_cast<PyTypeObject*>(o);
  pin_type(t, cls);
  if (PyType_IsSubtype(cls, &PyDict_Type)) return new_dict(t, cls);
  if (PyType_IsSubtype(cls, &PyList_Type)) return t.sequence(ValueKind::List, {}, cls);
  if (PyType_IsSubtype(cls, &PyTuple_Type))
    return t.sequence(ValueKind::Tuple, a.positional.size() > 1 ? listed(t, a.positional[1]) : Values{}, cls);
  if (!(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) && cls != &PyBaseObject_Type &&
      !PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    stop("unsupported_builtin", std::string("an object of class ") + cls->tp_name + " is made");
  if (native_class(cls) == &PyBaseObject_Type) check_object_new(t, cls, a);
  if (PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_OSError)))
    stop("exception", "an OSError may become one of its subclasses");
  if (PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) && !is_plain_exception(cls))
    stop("exception", std::string("a ") + cls->tp_name + " is made");
  if (cls->tp_flags & Py_TPFLAGS_IS_ABSTRACT) {
    const PyRef nothing(PyTuple_New(0)), made(PyBaseObject_Type.tp_new(cls, nothing.get(), nullptr));
    t.raise_python();  // which methods it lacks
  }
  Value* v = t.make(ValueKind::Object);
  v->cls = cls;
  v->typed = true;
  return v;
}

}  // namespace vitrine::capture
