// Python's own builtins, but for those of numbers (types/numbers/number_builtins.cpp), of classes and
// identity (types/objects/class_builtins.cpp), and of iteration (iteration_builtins.cpp).
#include "core/capture/interpreter/library/builtins.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/frame_locals.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/subscript.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"

#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

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

Value* builtin_setattr(Tracer& t, const Arguments& a) {
  set_attr(t, need(t, a, 0), str_of(t, need(t, a, 1), false), need(t, a, 2));
  return t.none();
}

Value* builtin_str(Tracer& t, const Arguments& a) {
  if (a.positional.empty() && a.keyword.empty()) return t.text("");
  if (a.positional.size() != 1 || !a.keyword.empty()) return fold_call(t, find_object("builtins.str"), a);
  if (Value* given = peek(t, a.positional[0]);
      given->is(ValueKind::Constant) && PyUnicode_CheckExact(given->obj))
    return given;
  return t.text(str_of(t, a.positional[0], false));
}

Value* builtin_vars(Tracer& t, const Arguments& a) {
  if (a.positional.empty()) return locals_of_frame(t);
  return load_attr(t, a.positional[0], "__dict__");
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
    {"builtins.getattr", builtin_getattr},
    {"builtins.hasattr", builtin_hasattr},
    {"builtins.setattr", builtin_setattr},
    {"builtins.delattr",
     [](T& t, const A& a) {
       del_attr(t, need(t, a, 0), str_of(t, need(t, a, 1), false));
       return t.none();
     }},
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
    {"builtins.str", builtin_str},
    {"builtins.repr", [](T& t, const A& a) { return t.text(str_of(t, need(t, a, 0), true)); }},
    {"builtins.format",
     [](T& t, const A& a) {
       return format(t, need(t, a, 0), a.positional.size() > 1 ? a.positional[1] : nullptr, 0);
     }},
    {"builtins.vars", builtin_vars},
    {"builtins.locals", [](T& t, const A&) { return locals_of_frame(t); }},
    {"builtins.ord", [](T& t, const A& a) { return fold_call(t, find_object("builtins.ord"), a); }},
    {"builtins.chr", [](T& t, const A& a) { return fold_call(t, find_object("builtins.chr"), a); }},
    {"builtins.ascii", [](T& t, const A& a) { return fold_call(t, find_object("builtins.ascii"), a); }},
    {"builtins.str.maketrans",
     [](T& t, const A& a) { return fold_call(t, find_object("builtins.str.maketrans"), a); }},
    {"builtins.bytes", [](T& t, const A& a) { return fold_call(t, find_object("builtins.bytes"), a); }},
};

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

}  // namespace vitrine::capture
