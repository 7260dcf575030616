// What is asked of an object's class and identity: type, isinstance, super, callable, id, hash.
#include <algorithm>
#include <cmath>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/protocols.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// The method of the program by which a class answers for its instances or subclasses; nullptr: there is none.
PyObject* own_answer(PyTypeObject* metaclass, const char* name) {
  return runs_user_code(metaclass, {name}) ? lookup(metaclass, name) : nullptr;
}

// An abstract class answers for those that were registered with it; a protocol asks the instance's
// attributes.
void check_abstract(Tracer& t, PyObject* cls) {
  PyObject* own = class_dict(reinterpret_cast<PyTypeObject*>(cls));
  if (is_protocol(cls)) stop("unsupported_builtin", "issubclass() with a protocol");
  if (!PyDict_GetItemString(own, "_abc_impl") || is_library(PyDict_GetItemString(own, "__module__"))) return;
  t.guard(GuardKind::AbcRegistry, constant_source(t, cls), cls, abc_registrations(), "", nullptr,
          "no class was registered");
}

// Its class is another one than the program would see.
void check_class_asked(Tracer& t, Value* v) {
  v = resolve(v);
  if (is_kept_as(v, "Identity")) stop("unsupported_builtin", "the class of what id() gives");
  if (is_kept_as(v, "Compiled")) stop("unsupported_builtin", "the class of a compiled function");
}

Value* builtin_isinstance(Tracer& t, const Arguments& a) {
  Value* classes = t.look(need(t, a, 1));
  check_class_asked(t, need(t, a, 0));
  if (array_kind(t, need(t, a, 0)) == ArrayKind::Scalar)
    stop("scalar_read", "what one of NumPy's numbers is an instance of");
  PyTypeObject* type = type_of(t, need(t, a, 0));
  Values all = classes->is(ValueKind::Tuple) ? unpack(t, classes) : Values{classes};
  for (size_t i = 0; i < all.size(); ++i) {
    Value* one = t.look(all[i]);
    if (one->is(ValueKind::Tuple)) {
      all.insert(all.end(), one->items().begin(), one->items().end());
      continue;
    }
    PyObject* o = const_object(t, one);
    if (o && Py_TYPE(o) == torch_names().union_type) {
      PyRef arguments(PyObject_GetAttrString(o, "__args__"));
      Value* members = t.fold(arguments.release());
      all.insert(all.end(), members->items().begin(), members->items().end());
      continue;
    }
    if (!o || !PyType_Check(o)) stop("unsupported_builtin", "isinstance() with " + describe(t, one));
    if (type == reinterpret_cast<PyTypeObject*>(o)) return t.boolean(true);
    if (PyObject* method = own_answer(Py_TYPE(o), "__instancecheck__")) {
      if (truth(t, call_special(t, one, method, {a.positional[0]}))) return t.boolean(true);
      continue;
    }
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(o))) return t.boolean(true);
    if (Py_TYPE(o) == &PyType_Type) {
      if (type == torch_names().compiled_function || type == torch_names().disabled_function)
        stop("unsupported_builtin", "isinstance() of a compiled function");
      if (!runs_user_code(type, {"__getattribute__", "__class__"})) continue;
      Value* said = get_attr(t, a.positional[0], "__class__");  // which may be another class than its own
      PyObject* cls = said ? const_object(t, said) : nullptr;
      if (cls && PyType_Check(cls) &&
          PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), reinterpret_cast<PyTypeObject*>(o)))
        return t.boolean(true);
      continue;
    }
    if (is_protocol(o)) {
      if (is_of_protocol(t, a.positional[0], o)) return t.boolean(true);
      continue;
    }
    check_abstract(t, o);
    // A metaclass may answer by itself (abstract classes, Parameter): asked about the class, which is pure.
    Value* open = symbolic_float(t, need(t, a, 0));
    Value* first = open ? open : peek(t, need(t, a, 0));
    PyObject* real = first->is(ValueKind::Tensor)     ? (real_of(first) ? real_of(first) : first->obj)
                     : first->is(ValueKind::Constant) ? first->obj
                                                      : first->obj;
    const int yes =
        real ? PyObject_IsInstance(real, o) : PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), o);
    if (yes < 0) t.raise_python();
    if (yes) return t.boolean(true);
  }
  return t.boolean(false);
}

Value* builtin_type(Tracer& t, const Arguments& a) {
  if (a.positional.size() != 1) stop("unsupported_builtin", "a class is made");
  check_class_asked(t, a.positional[0]);
  const ArrayKind array = array_kind(t, a.positional[0]);
  if (array == ArrayKind::Scalar) stop("scalar_read", "the class of one of NumPy's numbers");
  return t.pinned(reinterpret_cast<PyObject*>(array == ArrayKind::Array ? torch_names().numpy_array
                                                                        : type_of(t, a.positional[0])));
}

// What super() says of an object of another class, in CPython's words.
std::string no_super_text(PyObject* object, PyTypeObject* type, PyTypeObject* cls) {
  if (PY_VERSION_HEX < 0x030D0000) return "super(type, obj): obj must be an instance or subtype of type";
  const bool is_class = object && PyType_Check(object);
  const std::string what = is_class ? std::string("type ") + reinterpret_cast<PyTypeObject*>(object)->tp_name
                                    : std::string("instance of ") + type->tp_name;
  return "super(type, obj): obj (" + what + ") is not an instance or subtype of type (" + cls->tp_name + ").";
}

void check_super(Tracer& t, Value* v) {
  PyObject* after = const_object(t, v->items()[0]);
  if (!after || !PyType_Check(after)) stop("unsupported_value", "super() of " + describe(t, v->items()[0]));
  auto* cls = reinterpret_cast<PyTypeObject*>(after);
  Value* self = t.look(v->items()[1]);
  PyObject* object = const_object(t, self);
  const bool holds =
      (object && PyType_Check(object) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object), cls)) ||
      PyType_IsSubtype(type_of(t, self), cls);
  if (!holds) t.raise(PyExc_TypeError, no_super_text(object, type_of(t, self), cls), true);
}

Value* builtin_super(Tracer& t, const Arguments& a) {
  Value* v = t.make(ValueKind::Super);
  if (a.positional.size() > 2 || !a.keyword.empty()) stop("exception", "super() of other arguments");
  if (a.positional.size() == 2) {
    v->items() = {a.positional[0], a.positional[1]};
    check_super(t, v);
    return v;
  }
  VirtualFrame& f = t.frame();
  Value* cls = nullptr;
  for (size_t i = 0; i < f.locals.size(); ++i)
    if (text_of(f.bytecode->local_name(static_cast<int>(i))) == "__class__" && f.locals[i])
      cls = cell_get(t, f.locals[i]);
  if (!cls || f.code->co_argcount == 0 || !f.locals[0]) t.raise(PyExc_RuntimeError, "super(): no arguments");
  Value* self = resolve(f.locals[0]);
  if (self->is(ValueKind::Cell) || (self->is(ValueKind::Lazy) && PyCell_Check(self->obj)))
    self = cell_get(t, self);
  v->items() = {cls, self};
  check_super(t, v);
  return v;
}

// A parameter or buffer of a module stays the same object; what a function is given is another one each time.
bool is_member(const Source* source) {
  for (const Source* s = source; s; s = s->base)
    if (s->kind == SourceKind::InstanceDict && (s->name == "_parameters" || s->name == "_buffers"))
      return true;
  return false;
}

// What is there before and behind the segment, or is made in it once: all but numbers, texts, and what
// CPython makes anew each time it is asked for.
bool has_identity(Tracer& t, const Value* v) {
  switch (v->kind()) {
    case ValueKind::Constant:
      return is_identity_constant(v->obj) || v->obj == Py_None || PyBool_Check(v->obj);
    case ValueKind::Tensor:
    case ValueKind::List:
    case ValueKind::Dict:
    case ValueKind::Set:
    case ValueKind::Function:
    case ValueKind::Object:
      return array_kind(t, const_cast<Value*>(v)) == ArrayKind::None && !owner_of(v) &&
             !is_kept_as(v, "Identity");  // an int, which dies at once
    default:
      return false;
  }
}

// The id of an object that is pinned, or becomes so: while it is the same object, its id is the same number.
// Of others it is known only to which it is equal.
Value* builtin_id(Tracer& t, const Arguments& a) {
  Value* v = t.look(need(t, a, 0));
  PyObject* object = v->is(ValueKind::Tensor) ? real_of(v) : v->obj;
  if (!object || v->is(ValueKind::Constant) || v->is(ValueKind::List) || v->is(ValueKind::Dict) ||
      v->is(ValueKind::Set) || (v->is(ValueKind::Tensor) && !is_member(v->source)) ||
      (!v->source && !v->pinned)) {
    PyObject* kept = find_object("vitrine._polyfills.made_inside.Identity");
    if (!kept || !has_identity(t, v)) stop("unsupported_builtin", "call of id() on " + describe(t, v));
    return call(t, t.pinned(kept), {{v}, {}});
  }
  if (!v->pinned) guard_weakly(t, v->source, object, "is " + describe(t, v));
  PyRef number(PyLong_FromVoidPtr(object));
  return t.fold(number.release());
}

Value* builtin_callable(Tracer& t, const Arguments& a) {
  Value* v = resolve(need(t, a, 0));
  if (made_anew(t, v) && type_of(t, v)) return t.boolean(true);
  v = t.look(v);
  switch (v->kind()) {
    case ValueKind::Function:
    case ValueKind::Method:
      return t.boolean(true);
    case ValueKind::Constant:
      return t.boolean(PyCallable_Check(v->obj));
    default:
      return t.boolean(type_of(t, v)->tp_call != nullptr);
  }
}

// Equal ones have the same hash, in each call. A NaN's is that of the object.
bool has_hash_of_value(PyObject* o) {
  if (PyFloat_Check(o)) return !std::isnan(PyFloat_AS_DOUBLE(o));
  if (PyLong_Check(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o)) return true;
  if (!PyTuple_CheckExact(o)) return false;
  PyObject** items = reinterpret_cast<PyTupleObject*>(o)->ob_item;
  return std::all_of(items, items + PyTuple_GET_SIZE(o), has_hash_of_value);
}

Value* builtin_hash(Tracer& t, const Arguments& a) {
  if (is_kept_as(resolve(need(t, a, 0)), "Identity"))
    stop("unsupported_builtin", "hash() of what id() gives");
  if (Value* own = own_method(t, need(t, a, 0), "__hash__")) {
    PyObject* number = const_object(t, own);
    if (number && PyLong_CheckExact(number)) return t.fold(PyLong_FromSsize_t(hash_told(number)));
  }
  PyRef o(constant_tree(t, a.positional[0]));
  PyErr_Clear();
  if (!o || !has_hash_of_value(o.get()))
    stop("unsupported_builtin", "hash() of " + describe(t, a.positional[0]));
  return t.fold(PyLong_FromSsize_t(PyObject_Hash(o.get())));
}

Value* builtin_issubclass(Tracer& t, const Arguments& a) {
  PyRef classes(constant_tree(t, need(t, a, 1)));
  PyObject* one = const_object(t, need(t, a, 0));
  if (!one || !classes) stop("unsupported_builtin", "issubclass() of " + describe(t, a.positional[0]));
  if (PyType_Check(classes.get()) && own_answer(Py_TYPE(classes.get()), "__subclasscheck__"))
    return t.boolean(
        truth(t, call_special(t, a.positional[1], own_answer(Py_TYPE(classes.get()), "__subclasscheck__"),
                              {a.positional[0]})));
  if (PyType_Check(classes.get()) && Py_TYPE(classes.get()) != &PyType_Type) check_abstract(t, classes.get());
  const int yes = PyObject_IsSubclass(one, classes.get());
  if (yes < 0) t.raise_python();
  return t.boolean(yes);
}

constexpr BuiltinRow kRows[] = {
    {"builtins.id", builtin_id},
    {"builtins.isinstance", builtin_isinstance},
    {"builtins.issubclass", builtin_issubclass},
    {"builtins.type", builtin_type},
    {"builtins.callable", builtin_callable},
    {"builtins.super", builtin_super},
    {"builtins.hash", builtin_hash},
};

}  // namespace

std::span<const BuiltinRow> class_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
