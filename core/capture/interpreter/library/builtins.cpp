// Python's own builtins.
#include "core/capture/interpreter/library/builtins.h"
#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/machine/frame_locals.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/derived_floats.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/size_floats.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/types/protocols.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"
#include "core/capture/objects/class_dict.h"

#include <unordered_map>

#include "core/capture/interpreter/commit/recipes.h"
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

Value* builtin_getattr(Tracer& t, const Arguments& a) {
  if (!a.keyword.empty()) t.raise(PyExc_TypeError, "getattr() takes no keyword arguments", true);
  const std::string name = str_of(t, need(t, a, 1), false);
  if (a.positional.size() < 3) return load_attr(t, a.positional[0], name);
  Value* found = attribute_if_any(t, a.positional[0], name);
  return found ? found : a.positional[2];
}

Value* builtin_hasattr(Tracer& t, const Arguments& a) {
  return t.boolean(attribute_if_any(t, need(t, a, 0), str_of(t, need(t, a, 1), false)) != nullptr);
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
  if (!holds) t.raise(PyExc_TypeError, "super(type, obj): obj must be an instance or subtype of type", true);
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

Value* make_sequence(Tracer& t, const Arguments& a, ValueKind kind) {
  if (Value* given = a.positional.empty() ? nullptr : t.look(a.positional[0]);
      given && kind == ValueKind::Tuple && is_plain_tuple(given))
    return given;
  return t.sequence(kind, a.positional.empty() ? Values{} : listed(t, a.positional[0]));
}

Value* make_set(Tracer& t, const Arguments& a) {
  Value* set = t.sequence(ValueKind::Set, {});
  if (a.positional.empty()) return set;
  set_insert_all(t, set, a.positional[0]);
  set->mutated = false;
  return set;
}

Value* make_dict(Tracer& t, const Arguments& a) {
  Value* dict = new_dict(t);
  if (!a.positional.empty()) dict_update(t, dict, a.positional[0]);
  for (auto& [key, value] : a.keyword) dict_set(t, dict, t.text(key), value);
  return dict;
}

// Of the class dict itself: a class derived from it would be made by its own rules.
Value* dict_from_keys(Tracer& t, const Arguments& a) {
  Value* dict = new_dict(t);
  Value* value = need(t, a, 1, "value", t.none());
  for (Value* key : unpack(t, need(t, a, 0))) dict_set(t, dict, key, value);
  return dict;
}

// What __int__ or __float__ gave has to be of that very type.
Value* exactly(Tracer& t, Value* v, const char* type) {
  if (reinterpret_cast<PyObject*>(type_of(t, v)) != find_object(std::string("builtins.") + type))
    stop("exception", std::string("__") + type + "__ gives " + describe(t, v));
  return v;
}

// int(x), float(x), bool(x), ...: of a tensor they read its value.
Value* number(Tracer& t, const Arguments& a, const char* type) {
  const bool is_int = std::string(type) == "int" && a.positional.size() == 1 && a.keyword.empty();
  if (Value* open = is_int ? symbolic(t, a.positional[0]) : nullptr) return open;
  if (Value* open = is_int ? size_integer(t, type, a.positional[0]) : nullptr) return open;
  if (std::string(type) == "float" && a.positional.size() == 1 && a.keyword.empty())
    if (Value* open = pythons_float(t, reinterpret_cast<PyObject*>(&PyFloat_Type), a.positional)) return open;
  if (!a.positional.empty()) {
    Value* v = t.look(a.positional[0]);
    if (v->is(ValueKind::Tensor) && a.positional.size() == 1 && a.keyword.empty())
      if (Value* known = known_number(t, v, (std::string("__") + type + "__").c_str())) return known;
    if (v->is(ValueKind::Tensor))
      stop("scalar_read", std::string(type) + "() reads the value of a tensor (" + describe(t, v) + ")");
    if (v->is(ValueKind::Object) && std::string(type) != "complex")
      if (PyObject* m = python_method(t, type_of(t, v), (std::string("__") + type + "__").c_str()))
        return exactly(t, call_special(t, v, m, {}), type);
  }
  return fold_call(t, find_object(std::string("builtins.") + type), a);
}

Value* builtin_abs(Tracer& t, const Arguments& a) {
  if (Value* open = symbolic(t, need(t, a, 0)))
    return truth(t, compare(t, Py_GE, open, t.integer(0))) ? open : unary(t, "neg", open);
  if (Value* open = pythons_float(t, find_object("builtins.abs"), {a.positional[0]})) return open;
  Value* v = t.look(need(t, a, 0));
  if (v->is(ValueKind::Tensor)) return unary(t, "abs", v);
  if (Value* own = own_method(t, v, "__abs__")) return own;
  return fold_call(t, find_object("builtins.abs"), a);
}

Value* builtin_pow(Tracer& t, const Arguments& a) {
  if (a.positional.size() != 2 || !a.keyword.empty()) return fold_call(t, find_object("builtins.pow"), a);
  return binary(t, "pow", a.positional[0], a.positional[1]);
}

Value* builtin_divmod(Tracer& t, const Arguments& a) {
  for (Value* v : a.positional)
    if (peek(t, v)->is(ValueKind::Object)) {
      Value* own = v == a.positional[0] ? own_method(t, v, "__divmod__", {need(t, a, 1)}) : nullptr;
      if (own && const_object(t, own) != Py_NotImplemented) return own;
      stop("unsupported_builtin", "divmod() of " + describe(t, v));
    }
  bool known = true;
  for (Value* v : {need(t, a, 0), need(t, a, 1)}) {
    const bool constant = peek(t, v)->is(ValueKind::Constant);
    known &= constant;
    if (!constant && !symbolic(t, v) && !symbolic_float(t, v))
      stop("unsupported_builtin", "divmod() of " + describe(t, v));
  }
  if (known) return fold_call(t, find_object("builtins.divmod"), a);
  return t.tuple({binary(t, "floordiv", a.positional[0], a.positional[1]),
                  binary(t, "mod", a.positional[0], a.positional[1])});
}

Value* builtin_round(Tracer& t, const Arguments& a) {
  if (a.keyword.empty() && a.positional.size() == 2)
    if (Value* open = pythons_float(t, find_object("builtins.round"), a.positional)) return open;
  if (a.keyword.empty() && a.positional.size() == 1)
    if (Value* open = size_integer(t, "round", a.positional[0])) return open;
  if (Value* v = t.look(need(t, a, 0)); is_tensor(v)) {
    if (!lookup(type_of(t, v), "__round__"))
      t.raise(PyExc_TypeError,
              std::string("type ") + type_of(t, v)->tp_name + " doesn't define __round__ method", true);
    Arguments rest = a;
    rest.positional.erase(rest.positional.begin());
    if (!rest.positional.empty()) rest = {{}, {{"decimals", rest.positional[0]}}};
    return tensor_method(t, t.look(a.positional[0]), "round", nullptr, rest);
  }
  if (Value* own =
          own_method(t, a.positional[0], "__round__", {a.positional.begin() + 1, a.positional.end()}))
    return own;
  return fold_call(t, find_object("builtins.round"), a);
}

Value* builtin_setattr(Tracer& t, const Arguments& a) {
  set_attr(t, need(t, a, 0), str_of(t, need(t, a, 1), false), need(t, a, 2));
  return t.none();
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

Value* builtin_str(Tracer& t, const Arguments& a) {
  if (a.positional.empty() && a.keyword.empty()) return t.text("");
  if (a.positional.size() != 1 || !a.keyword.empty()) return fold_call(t, find_object("builtins.str"), a);
  if (Value* given = peek(t, a.positional[0]);
      given->is(ValueKind::Constant) && PyUnicode_CheckExact(given->obj))
    return given;
  return t.text(str_of(t, a.positional[0], false));
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

Value* builtin_vars(Tracer& t, const Arguments& a) {
  if (a.positional.empty()) return locals_of_frame(t);
  return load_attr(t, a.positional[0], "__dict__");
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

#define VITRINE_SIDE_EFFECTS(X) X(print) X(input) X(open) X(breakpoint) X(exec) X(eval) X(__import__)
#define X(name)                                     \
  Value* refuse_##name(Tracer&, const Arguments&) { \
    stop("side_effect", "call of " #name "()");     \
  }
VITRINE_SIDE_EFFECTS(X)
#undef X
#define VITRINE_REFUSED(X) X(globals) X(dir) X(memoryview) X(bytearray) X(compile)
#define X(name)                                         \
  Value* refuse_##name(Tracer&, const Arguments&) {     \
    stop("unsupported_builtin", "call of " #name "()"); \
  }
VITRINE_REFUSED(X)
#undef X

using T = Tracer;
using A = Arguments;
constexpr BuiltinRow kRows[] = {
#define X(name) {"builtins." #name, refuse_##name},
    VITRINE_SIDE_EFFECTS(X) VITRINE_REFUSED(X)
#undef X
        {"builtins.len",
         [](T& t, const A& a) {
           Value* v = t.look(need(t, a, 0));
           if (v->is(ValueKind::Tensor)) return tensor_method(t, v, "__len__", nullptr, {});
           return len(t, v);
         }},
    {"builtins.range", [](T& t, const A& a) { return fold_call(t, find_object("builtins.range"), a); }},
    {"builtins.slice",
     [](T& t, const A& a) {
       Values p = a.positional;
       if (p.size() == 1) p.insert(p.begin(), t.none());
       if (p.size() == 2) p.push_back(t.none());
       return t.sequence(ValueKind::Slice, p);
     }},
    {"builtins.abs", builtin_abs},
    {"builtins.id", builtin_id},
    {"builtins.isinstance", builtin_isinstance},
    {"builtins.issubclass", builtin_issubclass},
    {"builtins.type", builtin_type},
    {"builtins.getattr", builtin_getattr},
    {"builtins.hasattr", builtin_hasattr},
    {"builtins.setattr", builtin_setattr},
    {"builtins.delattr",
     [](T& t, const A& a) {
       del_attr(t, need(t, a, 0), str_of(t, need(t, a, 1), false));
       return t.none();
     }},
    {"builtins.callable", builtin_callable},
    {"builtins.tuple", [](T& t, const A& a) { return make_sequence(t, a, ValueKind::Tuple); }},
    {"builtins.list", [](T& t, const A& a) { return make_sequence(t, a, ValueKind::List); }},
    {"builtins.dict", make_dict},
    {"builtins.dict.fromkeys", dict_from_keys},
    {"builtins.set", make_set},
    {"builtins.frozenset",
     [](T& t, const A& a) {
       if (a.positional.empty()) return t.fold(PyFrozenSet_New(nullptr));
       if (PyObject* given = const_object(t, a.positional[0]); given && PyFrozenSet_CheckExact(given))
         return t.look(a.positional[0]);
       PyRef set(constant_tree(t, make_set(t, a)));
       if (!set) stop("unsupported_builtin", "frozenset() of values that are no constants");
       return t.fold(PyFrozenSet_New(set.get()));
     }},
    {"builtins.int", [](T& t, const A& a) { return number(t, a, "int"); }},
    {"builtins.float", [](T& t, const A& a) { return number(t, a, "float"); }},
    {"builtins.complex", [](T& t, const A& a) { return number(t, a, "complex"); }},
    {"builtins.bool",
     [](T& t, const A& a) {
       return t.boolean(!a.positional.empty() && truth(t, a.positional[0], "scalar_read"));
     }},
    {"builtins.str", builtin_str},
    {"builtins.repr", [](T& t, const A& a) { return t.text(str_of(t, need(t, a, 0), true)); }},
    {"builtins.format",
     [](T& t, const A& a) {
       return format(t, need(t, a, 0), a.positional.size() > 1 ? a.positional[1] : nullptr, 0);
     }},
    {"builtins.round", builtin_round},
    {"builtins.pow", builtin_pow},
    {"builtins.divmod", builtin_divmod},
    {"builtins.super", builtin_super},
    {"builtins.vars", builtin_vars},
    {"builtins.locals", [](T& t, const A&) { return locals_of_frame(t); }},
    {"builtins.hash", builtin_hash},
    {"builtins.ord", [](T& t, const A& a) { return fold_call(t, find_object("builtins.ord"), a); }},
    {"builtins.chr", [](T& t, const A& a) { return fold_call(t, find_object("builtins.chr"), a); }},
    {"builtins.bin", [](T& t, const A& a) { return fold_call(t, find_object("builtins.bin"), a); }},
    {"builtins.oct", [](T& t, const A& a) { return fold_call(t, find_object("builtins.oct"), a); }},
    {"builtins.ascii", [](T& t, const A& a) { return fold_call(t, find_object("builtins.ascii"), a); }},
    {"builtins.str.maketrans",
     [](T& t, const A& a) { return fold_call(t, find_object("builtins.str.maketrans"), a); }},
    {"builtins.hex", [](T& t, const A& a) { return fold_call(t, find_object("builtins.hex"), a); }},
    {"builtins.bytes", [](T& t, const A& a) { return fold_call(t, find_object("builtins.bytes"), a); }},
};

// Not what a program has put in the place of a function before anything was compiled (mock.patch): that is
// interpreted as any other.
bool is_in_its_place(const char* path, PyObject* found) {
  static PyObject* ask = find_object("vitrine._polyfills.signatures.is_in_its_place");
  if (!ask) return true;  // the engine is used without its module
  const PyRef is(PyObject_CallFunction(ask, "sO", path, found));
  PyErr_Clear();
  return !is || is.get() == Py_True;
}

const std::unordered_map<PyObject*, BuiltinHandler>& handlers() {
  static constinit Once<std::unordered_map<PyObject*, BuiltinHandler>> table;
  return table.get([] {
    std::unordered_map<PyObject*, BuiltinHandler> map;
    for (auto rows :
         {python_builtins(), iteration_builtins(), library_builtins(), torch_builtins(), numpy_builtins(),
          array_builtins(), optimizer_builtins(), autograd_builtins(), mode_builtins(), warning_builtins(),
          transform_builtins(), choice_builtins(), pure_builtins()})
      for (const BuiltinRow& row : rows)
        if (PyObject* o = find_object(row.path); o && is_in_its_place(row.path, o))
          map.emplace(o, row.handler);
    return map;
  });
}

// Methods of builtin classes (dict.fromkeys) are a new object each time they are read: known by what they
// call, and of which class, for classes derived from it make instances of their own.
struct ClassMethod {
  PyObject* owner;
  BuiltinHandler handler;
};
const std::unordered_map<PyMethodDef*, ClassMethod>& class_methods() {
  static constinit Once<std::unordered_map<PyMethodDef*, ClassMethod>> table;
  return table.get([] {
    std::unordered_map<PyMethodDef*, ClassMethod> map;
    for (auto rows : {python_builtins(), library_builtins()})
      for (const BuiltinRow& row : rows) {
        const std::string path = row.path;
        PyObject* owner = find_object(path.substr(0, path.rfind('.')));
        if (!owner || !PyType_Check(owner)) continue;
        PyRef method(PyObject_GetAttrString(owner, path.substr(path.rfind('.') + 1).c_str()));
        PyErr_Clear();
        if (method && PyCFunction_Check(method.get()))
          map.emplace(reinterpret_cast<PyCFunctionObject*>(method.get())->m_ml,
                      ClassMethod{owner, row.handler});
      }
    return map;
  });
}

BuiltinHandler handler_of(PyObject* callable) {
  if (auto found = handlers().find(callable); found != handlers().end()) return found->second;
  if (!PyCFunction_Check(callable)) return nullptr;
  auto found = class_methods().find(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml);
  if (found == class_methods().end()) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  const bool of_another = self && PyType_Check(self) && self != found->second.owner;
  return of_another ? nullptr : found->second.handler;
}

}  // namespace

Value* attribute_if_any(Tracer& t, Value* v, const std::string& name) {
  try {
    return get_attr(t, v, name);
  } catch (const RaiseSignal& signal) {
    if (signal.exception && signal.exception->cls == reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))
      return nullptr;
    throw;
  }
}

std::span<const BuiltinRow> python_builtins() {
  return kRows;
}

namespace {

// What a builtin takes, as far as it tells.
struct Accepted {
  Py_ssize_t positional = -1;  // at most; -1: any number
  bool any_keyword = true;
  std::unordered_set<std::string> keywords;
};

Accepted ask_accepted(PyObject* callable) {
  Accepted out;
  PyObject* ask = find_object("vitrine._polyfills.signatures.accepted_by");
  const PyRef told(ask ? PyObject_CallOneArg(ask, callable) : nullptr);
  PyObject *most = nullptr, *names = nullptr;
  if (!told || !PyArg_ParseTuple(told.get(), "OO", &most, &names)) return PyErr_Clear(), out;
  if (most != Py_None) out.positional = PyLong_AsSsize_t(most);
  out.any_keyword = names == Py_None;
  for (Py_ssize_t i = 0; !out.any_keyword && i < PyTuple_GET_SIZE(names); ++i)
    out.keywords.insert(text_of(PyTuple_GET_ITEM(names, i)));
  return out;
}

}  // namespace

// Arguments that a builtin does not take are refused in CPython's words.
void check_accepted(Tracer& t, PyObject* callable, size_t positional, const Arguments& a) {
  if (!callable || PyFunction_Check(callable)) return;
  PyObject* owner = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  if (owner && PyType_Check(owner)) return;  // a class's method, made anew at each reading
  static std::unordered_map<PyObject*, Accepted> known;
  auto found = known.find(callable);
  if (found == known.end()) {
    const Accepted accepted = ask_accepted(callable);
    found = known.emplace(Py_NewRef(callable), accepted).first;
  }
  const Accepted& accepted = found->second;
  const bool too_many = accepted.positional >= 0 && positional > static_cast<size_t>(accepted.positional);
  const bool unknown =
      !accepted.any_keyword && std::any_of(a.keyword.begin(), a.keyword.end(), [&](const auto& named) {
        return !accepted.keywords.contains(named.first);
      });
  if (too_many || unknown)
    stop("exception", "arguments that " + describe(t, t.pinned(callable)) + "() does not take");
}

Value* call_builtin(Tracer& t, PyObject* callable, const Arguments& a, bool* known) {
  const BuiltinHandler handler = handler_of(callable);
  *known = handler != nullptr;
  if (handler) check_accepted(t, callable, a.positional.size(), a);
  if (handler) return handler(t, a);
  Value* folded = known_before_its_guard(t, callable, a);
  if (!folded) folded = call_pure_function(t, callable, a);
  *known = folded != nullptr;
  return folded;
}

}  // namespace vitrine::capture
