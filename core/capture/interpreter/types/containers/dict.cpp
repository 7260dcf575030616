// dict, the classes that derive from it, and mappingproxy: their methods, operators and the way out. Their
// entries stand in dict_entries.cpp.
#include <algorithm>

#include "core/base/words.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/construct.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/dicts.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

Value* iter_keys(Tracer& t, Value* v) {
  dict_entries(t, v);
  return new_iterator(t, IteratorKind::Keys, {v});
}

Value* dict_pop(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  Value* found = dict_get(t, self, key);
  if (!found) {
    if (a.positional.size() > 1) return a.positional[1];
    t.raise(PyExc_KeyError, describe(t, key));
  }
  dict_remove(t, self, key);
  return found;
}

Value* dict_update_method(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty()) dict_update(t, self, a.positional[0]);
  for (auto& [key, value] : a.keyword) dict_set(t, self, t.text(key), value);
  return t.none();
}

Value* dict_init(Tracer& t, Value* self, const Arguments& a) {
  if (!PyType_IsSubtype(self->cls, torch_names().default_dict) || a.positional.empty())
    return dict_update_method(t, self, a);
  if (self->obj) stop("side_effect", "__init__() of a defaultdict that exists already");
  self->attrs.emplace_back("default_factory", a.positional[0]);
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin());
  return dict_update_method(t, self, rest);
}

Value* dict_copy(Tracer& t, Value* self, const Arguments&) {
  if (PyType_IsSubtype(self->cls, torch_names().default_dict))
    stop("unsupported_builtin", "copy() of " + describe(t, self));
  Value* copy =
      new_dict(t, PyType_IsSubtype(self->cls, torch_names().ordered_dict) ? self->cls : &PyDict_Type);
  dict_update(t, copy, self);
  return copy;
}

Value* dict_move_to_end(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  Value* value = dict_get(t, self, key);
  if (!value) t.raise(PyExc_KeyError, describe(t, key));
  if (!truth(t, argument(t, a, 1, "last", t.boolean(true))))
    stop("unsupported_builtin", "move_to_end(last=False)");
  dict_remove(t, self, key);
  dict_set(t, self, key, value);
  return t.none();
}

Value* dict_popitem(Tracer& t, Value* self, const Arguments& a) {
  auto entries = dict_entries(t, self);
  if (entries.empty()) t.raise(PyExc_KeyError, "dictionary is empty");
  const bool given = !a.positional.empty() || !a.keyword.empty();
  if (given && self->cls != torch_names().ordered_dict) stop("unsupported_builtin", "popitem(last=...)");
  const bool last = !given || truth(t, argument(t, a, 0, "last"));
  auto [key, value] = last ? entries.back() : entries.front();
  dict_remove(t, self, key);
  return t.tuple({key, value});
}

Value* dict_setdefault(Tracer& t, Value* self, const Arguments& a) {
  Value* key = argument(t, a, 0);
  if (Value* found = dict_get(t, self, key)) return found;
  Value* value = argument(t, a, 1, "default", t.none());
  dict_set(t, self, key, value);
  return value;
}

Value* get_dict_item(Tracer& t, Value* v, Value* key);

const MethodTable& dict_methods() {
  static const MethodTable table = {
      {"get",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         Value* found = dict_get(t, s, argument(t, a, 0));
         return found ? found : argument(t, a, 1, "default", t.none());
       }},
      {"keys", [](Tracer& t, Value* s, const Arguments&) { return new_dict_view(t, s, &PyDictKeys_Type); }},
      {"values",
       [](Tracer& t, Value* s, const Arguments&) { return new_dict_view(t, s, &PyDictValues_Type); }},
      {"items", [](Tracer& t, Value* s, const Arguments&) { return new_dict_view(t, s, &PyDictItems_Type); }},
      {"pop", dict_pop},
      {"popitem", dict_popitem},
      {"setdefault", dict_setdefault},
      {"update", dict_update_method},
      {"copy", dict_copy},
      {"move_to_end", dict_move_to_end},
      {"clear",
       [](Tracer& t, Value* s, const Arguments&) -> Value* {
         dict_entries(t, s);
         dict_clear(t, s);
         return t.none();
       }},
      {"__init__", dict_init},
      {"__getitem__",
       [](Tracer& t, Value* s, const Arguments& a) { return get_dict_item(t, s, argument(t, a, 0)); }},
      {"__setitem__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         dict_set(t, s, argument(t, a, 0), argument(t, a, 1));
         return t.none();
       }},
      {"__delitem__",
       [](Tracer& t, Value* s, const Arguments& a) -> Value* {
         if (!dict_remove(t, s, argument(t, a, 0))) t.raise(PyExc_KeyError, describe(t, argument(t, a, 0)));
         return t.none();
       }},
      {"__contains__",
       [](Tracer& t, Value* s, const Arguments& a) {
         return t.boolean(dict_get(t, s, argument(t, a, 0)) != nullptr);
       }},
      {"__len__", len_method},
      {"__iter__", [](Tracer& t, Value* s, const Arguments&) { return iter_keys(t, s); }},
  };
  return table;
}

// --- operations
int64_t length_of_dict(Tracer& t, Value* v) {
  return static_cast<int64_t>(dict_entries(t, v).size());
}

bool dict_contains(Tracer& t, Value* v, Value* key) {
  return dict_get(t, v, key) != nullptr;
}

Value* get_dict_item(Tracer& t, Value* v, Value* key) {
  if (Value* found = dict_get(t, v, key)) return found;
  if (PyObject* own = python_method(t, v->cls, "__missing__")) return call_special(t, v, own, {key});
  if (PyType_IsSubtype(v->cls, torch_names().default_dict)) {
    Value* factory = get_attr(t, v, "default_factory");
    if (factory && !is_none(t, factory)) {
      Value* made = call(t, factory, {});
      dict_set(t, v, key, made);
      return made;
    }
  }
  RaiseSignal signal;
  signal.exception = construct(t, reinterpret_cast<PyTypeObject*>(PyExc_KeyError), {{key}, {}});
  signal.text = "KeyError: " + describe(t, key);
  throw signal;
}

void set_dict_item(Tracer& t, Value* v, Value* key, Value* value) {
  dict_set(t, v, key, value);
}

void del_dict_item(Tracer& t, Value* v, Value* key) {
  if (!dict_remove(t, v, key)) t.raise(PyExc_KeyError, describe(t, key));
}

Value* dict_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (!op.is("or_") || !a->is(ValueKind::Dict) || !b->is(ValueKind::Dict)) return nullptr;
  Value* target = a;
  const auto native_or = [](const Value* v) { return v->cls->tp_as_number->nb_or; };
  if (!op.in_place && (PyType_IsSubtype(a->cls, torch_names().default_dict) ||
                       (native_or(a) != native_or(b) && native_or(b) != PyDict_Type.tp_as_number->nb_or)))
    stop("unsupported_value", "the union of " + describe(t, a) + " and " + describe(t, b));
  if (!op.in_place) {
    // dict's own operator gives a dict; OrderedDict's and defaultdict's, one of their class.
    const bool by_dict = a->cls->tp_as_number->nb_or == PyDict_Type.tp_as_number->nb_or;
    target = new_dict(t, by_dict ? nullptr : a->cls);
    dict_update(t, target, a);
  }
  dict_update(t, target, b);
  return target;
}

// Of two OrderedDicts the order counts.
bool keys_in_one_order(Tracer& t, Value* a, Value* b) {
  const auto in_b = dict_entries(t, b);
  size_t at = 0;
  for (const auto& entry : dict_entries(t, a))
    if (!truth(t, compare(t, Py_EQ, entry.first, in_b[at++].first))) return false;
  return true;
}

std::optional<bool> equal_dicts(Tracer& t, Value* a, Value* b) {
  if (!a->is(ValueKind::Dict) || !b->is(ValueKind::Dict)) return std::nullopt;
  if (length(t, a) != length(t, b)) return false;
  const auto ordered = [](Value* v) { return PyType_IsSubtype(v->cls, torch_names().ordered_dict); };
  if (ordered(a) && ordered(b) && !keys_in_one_order(t, a, b)) return false;
  for (auto [key, value] : dict_entries(t, a)) {
    Value* other = dict_get(t, b, key);
    if (!other || !same_or_equal(t, value, other)) return false;
  }
  return true;
}

// --- of a real one
void enter_dict(Tracer& t, Value* v) {
  for (Value* changed : t.effects.mutated)
    if (changed->is(ValueKind::Object) && known_own_dict(t, changed) == v)
      stop("unsupported_value", "the __dict__ of an object that was changed");
  become(v, ValueKind::Dict);
  v->dict().index = PyRef(PyDict_New());
  v->dict().complete = false;
}

// How many entries of a dict from before were there all the time: they keep their place in its table, by
// which iterators go. -1: it was emptied.
int32_t kept_entries(const Value* v) {
  const auto& entries = v->dict().entries;
  const auto before = static_cast<size_t>(v->obj ? PyDict_GET_SIZE(v->obj) : 0);
  if (before > 0 && !entries[0].first && !entries[0].second) return -1;
  return static_cast<int32_t>(std::count_if(entries.begin(), entries.begin() + static_cast<long>(before),
                                            [](const auto& entry) { return entry.first != nullptr; }));
}

void dict_effect(Tracer& t, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  Effect e;
  e.target = make.make(v);
  if (!PyType_IsSubtype(v->cls, &PyDict_Type))
    stop("custom_setter", with_article(describe(t, v)) + " is changed");
  e.kind = Effect::Kind::DictReplace;
  e.value.kind = Recipe::Kind::Dict;
  e.value.index = kept_entries(v);
  for (auto [key, value] : dict_entries(t, v)) {
    e.value.children.push_back(make.make(key));
    e.value.children.push_back(make.make(value));
  }
  out.push_back(std::move(e));
}

PyObject* dict_to_torch(Tracer& t, Value* v) {
  if (v->cls != &PyDict_Type)
    stop("unsupported_value", with_article(describe(t, v)) + " is given to PyTorch");
  PyRef dict(PyDict_New());
  for (auto [key, value] : dict_entries(t, v)) {
    PyRef k(to_python(t, key)), o(to_python(t, value));
    if (PyDict_SetItem(dict.get(), k.get(), o.get()) < 0) t.raise_python();
  }
  return dict.release();
}

// --- the way out
Recipe recipe_of_class(Tracer& t, RecipeMaker& make, Value* v) {
  PyObject* base = native_base(v->cls);
  PyRef maker(PyObject_GetAttrString(base, "__new__")), setter(PyObject_GetAttrString(base, "__setitem__"));
  return make.made_empty(v, maker.get(), [&](const Recipe& target) {
    for (auto [key, value] : dict_entries(t, v)) {
      Recipe set = make.call(setter.get(), {});
      set.children.push_back(copy_recipe(target));
      set.children.push_back(make.make(key));
      set.children.push_back(make.make(value));
      make.do_afterwards(std::move(set));
    }
    make.attributes(v, target);
  });
}

// The object's own, not one like it.
Recipe recipe_of_own_dict(RecipeMaker& make, Value* v) {
  static PyObject* getter =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__");
  static PyObject* name = PyUnicode_InternFromString("__dict__");
  Recipe r = make.call(getter, {});
  r.children.push_back(make.make(owner_of(v)));
  r.children.push_back(make.constant(name));
  return r;
}

Recipe recipe_of_dict(Tracer& t, RecipeMaker& make, Value* v) {
  if (owner_of(v)) return recipe_of_own_dict(make, v);
  for (auto [key, value] : dict_entries(t, v)) check_leaves_as_key(resolve(key));
  if (v->cls == &PyDict_Type) {
    Recipe r;
    r.kind = Recipe::Kind::Dict;
    for (auto [key, value] : dict_entries(t, v)) {
      r.children.push_back(make.make(key));
      r.children.push_back(make.make(value));
    }
    return r;
  }
  if (!PyType_IsSubtype(v->cls, &PyDict_Type))
    stop("unsupported_value", with_article(describe(t, v)) + " leaves the segment");
  return recipe_of_class(t, make, v);
}

// --- mappingproxy
void set_proxy_item(Tracer& t, Value*, Value*, Value*) {
  t.raise(PyExc_TypeError, "'mappingproxy' object does not support item assignment", true);
}

void del_proxy_item(Tracer& t, Value*, Value*) {
  t.raise(PyExc_TypeError, "'mappingproxy' object does not support item deletion");
}

std::string describe_dict(Tracer&, Value* v) {
  return v->cls->tp_name;
}

PyObject* constant_dict(Tracer& t, Value* v) {
  if (v->cls != &PyDict_Type) return nullptr;
  PyRef dict(PyDict_New());
  for (auto [key, value] : dict_entries(t, v)) {
    PyRef k(constant_tree(t, key)), o(constant_tree(t, value));
    if (!k || !o || PyDict_SetItem(dict.get(), k.get(), o.get()) < 0) return nullptr;
  }
  return dict.release();
}

}  // namespace

const TypeOps dict_type = container_ops({
    .name = "dict",
    .describe = describe_dict,
    .constant = constant_dict,
    .method = method_in<dict_methods>,
    .binary = dict_binary,
    .equal = equal_dicts,
    .length = length_of_dict,
    .contains = dict_contains,
    .get_item = get_dict_item,
    .set_item = set_dict_item,
    .del_item = del_dict_item,
    .iter = iter_keys,
    .enter = enter_dict,
    .to_torch = dict_to_torch,
    .effect = dict_effect,
    .recipe = recipe_of_dict,
});
const TypeOps mapping_proxy_type = container_ops({
    .name = "mappingproxy",
    .describe = describe_dict,
    .method = method_in<dict_methods>,
    .binary = dict_binary,
    .equal = equal_dicts,
    .length = length_of_dict,
    .contains = dict_contains,
    .get_item = get_dict_item,
    .set_item = set_proxy_item,
    .del_item = del_proxy_item,
    .iter = iter_keys,
    .to_torch = dict_to_torch,
    .effect = dict_effect,
    .recipe = recipe_of_dict,
});

}  // namespace vitrine::capture
