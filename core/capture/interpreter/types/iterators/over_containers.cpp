// Iterators over what holds its items: list, tuple, deque, set, dict, range, str. reversed() is one of them.
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

namespace {

int64_t live_entries(const Value* dict) {
  int64_t n = 0;
  for (const auto& entry : dict->dict().entries) n += entry.first != nullptr;
  return n;
}

// The deque behind an iterator; nullptr for every other iterator.
const Value* iterated_deque(const IteratorState& s) {
  const bool walks = s.kind == IteratorKind::Sequence || s.kind == IteratorKind::Reversed;
  const Value* over = walks && !s.children.empty() ? s.children[0] : nullptr;
  while (over && over->forward) over = over->forward;
  return over && over->cls == torch_names().deque ? over : nullptr;
}

}  // namespace

Value* iterated_dict(const IteratorState& s) {
  if (s.children.empty()) return nullptr;
  Value* over = s.children[0];
  while (over->forward) over = over->forward;
  if (s.kind == IteratorKind::Sequence && over->is(ValueKind::Tuple) && owner_of(over)) {
    over = owner_of(over);
    while (over->forward) over = over->forward;
  }
  return over->is(ValueKind::Dict) && (s.kind == IteratorKind::Keys || s.kind == IteratorKind::DictValues ||
                                       s.kind == IteratorKind::Entries || s.kind == IteratorKind::Sequence)
             ? over
             : nullptr;
}

Value* new_iterator(Tracer& t, IteratorKind kind, Values children) {
  Value* v = t.make(ValueKind::Iterator);
  v->iterator().kind = kind;
  v->iterator().children = std::move(children);
  if (Value* dict = iterated_dict(v->iterator())) {
    v->iterator().stop = live_entries(dict);
    v->iterator().walked = dict->dict().keys_changed;
  }
  if (const Value* deque = iterated_deque(v->iterator()))
    v->iterator().stop = static_cast<int64_t>(deque->version);
  return v;
}

Value* walk_set(Tracer& t, Value* set, Value* in_order) {
  Value* v = new_iterator(t, IteratorKind::Sequence, {in_order});
  v->iterator().set = set;
  v->iterator().walked = set->version;
  v->iterator().stop = static_cast<int64_t>(set->items().size());
  return v;
}

void check_unchanged(Tracer& t, const Value* v) {
  const IteratorState& s = v->iterator();
  if (const Value* dict = v->source ? nullptr : iterated_dict(s);
      dict && dict->dict().keys_changed != s.walked) {
    // Where an iterator over a dict of the same length goes on is up to the dict's table.
    if (dict->cls != &PyDict_Type || live_entries(dict) == s.stop)
      stop("unsupported_value", "the keys of a dict change under an iterator");
    t.raise(PyExc_RuntimeError, "dictionary changed size during iteration");
  }
  if (s.set && s.set->version != s.walked) {
    if (static_cast<int64_t>(s.set->items().size()) != s.stop)
      t.raise(PyExc_RuntimeError, "Set changed size during iteration", true);
    stop("unsupported_value", "a set changes under an iterator, and keeps its size");
  }
  if (const Value* deque = iterated_deque(s); deque && static_cast<int64_t>(deque->version) != s.stop)
    stop("exception", "a deque changes under an iterator");
}

namespace {

// --- of a list, a tuple, a deque, a view of a dict; of a set in its order
Value* next_in_sequence(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  Value* over = walked_by(t, v);
  if (s.index >= static_cast<int64_t>(over->items().size())) {
    if (v->source) {
      count_step(t, v);
      t.guard(GuardKind::Length, over->source, nullptr, s.index, "", nullptr, "nothing left");
    }
    return exhaust(v);
  }
  Value* item = over->items()[static_cast<size_t>(s.index++)];
  if (v->source) {
    count_step(t, v);
    t.guard(GuardKind::LengthAtLeast, over->source, nullptr, s.index, "", nullptr,
            "at least " + std::to_string(s.index) + " left");
  }
  return item;
}

// Made here, and filled only once all objects are made: one of another class, or the __dict__ of an object.
bool is_filled_late(const Value* dict) {
  return !dict->source && (owner_of(dict) || dict->cls != &PyDict_Type);
}

// What is walked over is not empty until then, nor does it grow: it is filled before.
Recipe filled_dict(Tracer& t, RecipeMaker& make, Value* dict) {
  Recipe r = make.made_by("vitrine._polyfills.library.filled", {dict});
  Recipe held;
  held.kind = Recipe::Kind::Dict;
  for (auto [key, value] : dict_entries(t, dict)) {
    held.children.push_back(make.make(key));
    held.children.push_back(make.make(value));
  }
  r.children.push_back(std::move(held));
  return r;
}

Recipe walk_of_view(Tracer& t, RecipeMaker& make, Value* dict, const char* view, int64_t taken) {
  PyRef method(PyObject_GetAttrString(native_base(dict->cls), view));
  Recipe c = make.call(method.get(), {});
  c.children.push_back(is_filled_late(dict) ? filled_dict(t, make, dict) : make.make(dict));
  return advanced(std::move(c), taken);
}

const char* name_of_view(const Value* view) {
  if (view->cls == &PyDictKeys_Type) return "keys";
  return view->cls == &PyDictValues_Type ? "values" : "items";
}

Recipe recipe_in_sequence(Tracer& t, RecipeMaker& make, Value* v) {
  const IteratorState& s = v->iterator();
  if (Value* dict = iterated_dict(s); dict && is_filled_late(dict))
    return walk_of_view(t, make, dict, name_of_view(walked_by(t, v)), s.index);
  if (s.set && s.set->version != s.walked)
    stop("unsupported_value", "an iterator over a set that changed leaves the segment");
  return advanced(make.make(s.set ? s.set : s.children[0]), s.index);
}

Value* next_reversed(Tracer& t, Value* v, Value**) {
  IteratorState& s = v->iterator();
  const Value* over = walked_by(t, v);
  if (s.index <= 0 || s.index > static_cast<int64_t>(over->items().size())) return exhaust(v);
  return over->items()[static_cast<size_t>(--s.index)];
}

Recipe recipe_reversed(Tracer& t, RecipeMaker& make, Value* v) {
  const Value* over = walked_by(t, v);
  if (over->is(ValueKind::Tuple) && owner_of(over) && is_filled_late(resolve(owner_of(over))))
    stop("unsupported_value", "an iterator backwards over a dict that is made here leaves the segment");
  const auto n = static_cast<int64_t>(over->items().size());
  return advanced(make.made_by("builtins.reversed", {v->iterator().children[0]}), n - v->iterator().index);
}

bool walks_a_list(Tracer& t, const Value* v) {
  const Value* over = walked_by(t, v);
  return over && over->is(ValueKind::List);
}

Recipe exhausted_reversed(Tracer& t, RecipeMaker& make, Value* v) {
  if (!walks_a_list(t, v)) return of_nothing(make, "builtins.reversed");
  return make.call(find_object("builtins.reversed"), {make.sequence(Recipe::Kind::List, {})});
}

// --- of a dict
// The next entry at or after `index`; -1 = none.
int64_t next_place(const Value* dict, int64_t index) {
  const auto& entries = dict->dict().entries;
  for (auto i = static_cast<size_t>(index); i < entries.size(); ++i)
    if (entries[i].first) return static_cast<int64_t>(i);
  return -1;
}

using Entry = std::pair<Value*, Value*>;

const Entry* next_entry(Tracer& t, Value* v) {
  const Value* dict = walked_by(t, v);
  const int64_t at = next_place(dict, v->iterator().index);
  if (at < 0) {
    exhaust(v);
    return nullptr;
  }
  v->iterator().index = at + 1;
  return &dict->dict().entries[static_cast<size_t>(at)];
}

Value* next_key(Tracer& t, Value* v, Value**) {
  const Entry* entry = next_entry(t, v);
  return entry ? entry->first : nullptr;
}
Value* next_value(Tracer& t, Value* v, Value**) {
  const Entry* entry = next_entry(t, v);
  return entry ? entry->second : nullptr;
}
Value* next_pair(Tracer& t, Value* v, Value**) {
  const Entry* entry = next_entry(t, v);
  return entry ? t.tuple({entry->first, entry->second}) : nullptr;
}

Recipe of_view(Tracer& t, RecipeMaker& make, Value* v, const char* view) {
  int64_t taken = 0;
  Value* dict = walked_by(t, v);
  for (int64_t i = 0; i < v->iterator().index; ++i)
    taken += dict->dict().entries[static_cast<size_t>(i)].first != nullptr;
  return walk_of_view(t, make, dict, view, taken);
}

Recipe of_empty_view(RecipeMaker& make, const char* view) {
  PyRef method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), view));
  Recipe c = make.call(method.get(), {});
  c.children.push_back(make.call(reinterpret_cast<PyObject*>(&PyDict_Type), {}));
  return advanced(std::move(c), 0);
}

constexpr const char *kKeys = "keys", *kValues = "values", *kItems = "items";
template <const char* const& View>
Recipe recipe_of_view(Tracer& t, RecipeMaker& make, Value* v) {
  return of_view(t, make, v, View);
}
template <const char* const& View>
Recipe exhausted_view(Tracer&, RecipeMaker& make, Value*) {
  return of_empty_view(make, View);
}

// --- of a constant: a range, a str, bytes, a tuple
Value* next_in_constant(Tracer& t, Value* v, Value**) {
  const Value* over = walked_by(t, v);
  if (v->iterator().index >= PyObject_Size(over->obj)) return exhaust(v);
  PyRef at(PyLong_FromLongLong(v->iterator().index++));
  return t.fold(PyObject_GetItem(over->obj, at.get()));
}

Recipe recipe_in_constant(Tracer&, RecipeMaker& make, Value* v) {
  return advanced(make.make(v->iterator().children[0]), v->iterator().index);
}

Recipe exhausted_constant(Tracer& t, RecipeMaker& make, Value* v) {
  const Value* over = walked_by(t, v);
  const PyRef zero(PyLong_FromLong(0));
  if (PyRange_Check(over->obj))
    return advanced(make.call(reinterpret_cast<PyObject*>(&PyRange_Type), {make.constant(zero.get())}), 0);
  return advanced(make.call(reinterpret_cast<PyObject*>(Py_TYPE(over->obj)), {}), 0);
}

}  // namespace

// What it walked over may get more elements, and it will not see them.
Recipe exhausted_sequence(Tracer& t, RecipeMaker& make, Value* v) {
  const Value* over = walked_by(t, v);
  if (v->iterator().set) return advanced(make.sequence(Recipe::Kind::Set, {}), 0);
  if (over && over->cls == &PyDictValues_Type) return of_empty_view(make, kValues);
  if (over && over->cls == &PyDictItems_Type) return of_empty_view(make, kItems);
  return advanced(make.sequence(walks_a_list(t, v) ? Recipe::Kind::List : Recipe::Kind::Tuple, {}), 0);
}

Recipe of_nothing(RecipeMaker& make, const char* path, std::initializer_list<Recipe> before) {
  Recipe c = make.call(find_object(path), before);
  c.children.push_back(make.sequence(Recipe::Kind::Tuple, {}));
  return c;
}

const TypeOps sequence_iterator_type = iterator_ops({
    .name = "an iterator over a sequence",
    .next = next_in_sequence,
    .recipe = recipe_in_sequence,
    .exhausted = exhausted_sequence,
    .repeatable = true,
});
const TypeOps reversed_type = iterator_ops({
    .name = "reversed",
    .next = next_reversed,
    .recipe = recipe_reversed,
    .exhausted = exhausted_reversed,
    .repeatable = true,
});
const TypeOps keys_iterator_type = iterator_ops({
    .name = "dict_keyiterator",
    .next = next_key,
    .recipe = recipe_of_view<kKeys>,
    .exhausted = exhausted_view<kKeys>,
    .repeatable = true,
});
const TypeOps values_iterator_type = iterator_ops({
    .name = "dict_valueiterator",
    .next = next_value,
    .recipe = recipe_of_view<kValues>,
    .exhausted = exhausted_view<kValues>,
    .repeatable = true,
});
const TypeOps entries_iterator_type = iterator_ops({
    .name = "dict_itemiterator",
    .next = next_pair,
    .recipe = recipe_of_view<kItems>,
    .exhausted = exhausted_view<kItems>,
    .repeatable = true,
});
const TypeOps constant_iterator_type = iterator_ops({
    .name = "range_iterator",
    .next = next_in_constant,
    .recipe = recipe_in_constant,
    .exhausted = exhausted_constant,
    .repeatable = true,
});

}  // namespace vitrine::capture
