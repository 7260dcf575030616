// set. The order of one that the program makes depends on how it came about: a real set goes the same way
// beside it.
#include <algorithm>
#include <unordered_set>

#include "core/base/words.h"
#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/containers/keys.h"
#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/types/containers/set.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/interpreter/types/methods.h"
#include "core/capture/interpreter/types/objects/objects.h"
#include "core/capture/interpreter/types/operators.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

static void note_set_change(Tracer& t, Value* set, uint64_t before, const char* method, PyObject* argument);
static PyObject* copy_of_set(Tracer& t, Value* set);
static PyObject* how_set_was_made(Tracer& t, Value* set);

namespace {

// The real set beside it, or a new one for a set that is still empty; nullptr: it is not known how it came
// about.
PyObject* twin_of(Value* set) {
  if (set->as<SetValue>().twin && set->as<SetValue>().twin_version == set->version)
    return set->as<SetValue>().twin.get();
  if (set->as<SetValue>().twin || set->obj || set->source || !set->items().empty() || set->version != 0 ||
      set->cls != &PySet_Type)
    return nullptr;
  set->as<SetValue>().twin = PyRef(PySet_New(nullptr));
  return set->as<SetValue>().twin.get();
}

// A set that existed before and is as it was.
bool is_as_found(const Value* set) {
  return set->is(ValueKind::Set) && set->source && !set->mutated && set->obj && PyAnySet_CheckExact(set->obj);
}

}  // namespace

bool is_made_here(const Value* key) {
  return (key->is(ValueKind::Tensor) && !real_of(key)) || (key->is(ValueKind::Object) && !key->obj);
}

void set_insert(Tracer& t, Value* set, Value* item) {
  PyObject* key = key_object(t, item);
  if (contains(t, set, item)) return;
  PyObject* twin = twin_of(set);
  const uint64_t before = set->version;
  touch(t, set);
  set->items().push_back(t.look(item));
  if (is_made_here(t.look(item)))
    set->as<SetValue>().changes_version = ~uint64_t{0};  // nobody can add it again: it is not there yet
  else
    note_set_change(t, set, before, "add", key);
  if (!twin) return;
  if (PySet_Add(twin, key) < 0) t.raise_python();
  set->as<SetValue>().twin_version = set->version;
}

// The item that it held; nullptr: none is equal
static Value* take_from_set(Tracer& t, Value* set, PyObject* key) {
  const auto found = std::find_if(set->items().begin(), set->items().end(),
                                  [&](Value* each) { return same_key(t, key_object(t, each), key); });
  if (found == set->items().end()) return nullptr;
  Value* item = *found;
  PyObject* twin = twin_of(set);
  const uint64_t before = set->version;
  touch(t, set);
  set->items().erase(found);
  note_set_change(t, set, before, "discard", key);
  if (!twin) return item;
  if (PySet_Discard(twin, key) < 0) t.raise_python();
  set->as<SetValue>().twin_version = set->version;
  return item;
}

static void set_clear(Tracer& t, Value* set) {
  if (set->items().empty()) return;
  const uint64_t before = set->version;
  touch(t, set);
  set->items().clear();
  // It leaves as empty a table, and has an argument as other changes have.
  const PyRef nothing(PyTuple_New(0));
  note_set_change(t, set, before, "intersection_update", nothing.get());
  if (set->cls != &PySet_Type) return;
  set->as<SetValue>().twin = PyRef(PySet_New(nullptr));
  set->as<SetValue>().twin_version = set->version;
}

// What is done to a set that existed before is done to it again: its order depends on that.
void note_set_change(Tracer& t, Value* set, uint64_t before, const char* method, PyObject* argument) {
  if (set->as<SetValue>().changes_version != before) return;
  set->as<SetValue>().changes.emplace_back(method, t.keep(Py_NewRef(argument)));
  set->as<SetValue>().changes_version = set->version;
}

void set_insert_all(Tracer& t, Value* set, Value* more) {
  more = t.look(more);
  if (more->is(ValueKind::Iterator) || more->is(ValueKind::Generator) || more->is(ValueKind::Object)) {
    for_rest_of(t, iter(t, more), [&](Value* item) { set_insert(t, set, item); });
    return;
  }
  Values items;
  PyRef at_once;  // Python goes through the table of another set, or of a dict, and makes room before
  if (PyObject* o = const_object(t, more); o && PyFrozenSet_Check(o)) {
    PyRef iterator(PyObject_GetIter(o));
    while (PyObject* item = iterator ? PyIter_Next(iterator.get()) : nullptr) items.push_back(t.fold(item));
    at_once = PyRef(Py_NewRef(o));
  } else if (more->is(ValueKind::Set)) {
    items = more->items();
    if (is_as_found(more))
      at_once = PyRef(copy_of_set(t, more));
    else if (PyRef changes = PyRef(how_set_was_made(t, more)); changes && twin_of(more))
      at_once = PyRef(PyObject_CallOneArg(find_object("vitrine._polyfills.library.set_of"), changes.get()));
  } else {
    items = unpack(t, more);
    if (more->is(ValueKind::Dict)) {
      at_once = PyRef(PyDict_New());
      for (Value* item : items) PyDict_SetItem(at_once.get(), key_object(t, item), Py_None);
    }
  }
  const bool one_by_one = !at_once && !more->is(ValueKind::Set) && !more->is(ValueKind::Dict);
  PyRef twin(Py_XNewRef(twin_of(set)));
  if (!one_by_one) {  // it does not grow with each item
    set->as<SetValue>().twin = PyRef(PySet_New(nullptr));
    set->as<SetValue>().twin_version = ~uint64_t{0};
  }
  const uint64_t before = set->version;
  const size_t changes = set->as<SetValue>().changes.size();
  for (Value* item : items) set_insert(t, set, item);
  if (!one_by_one && set->version != before && set->as<SetValue>().changes_version == set->version) {
    set->as<SetValue>().changes.resize(changes);
    set->as<SetValue>().changes_version = at_once ? before : ~uint64_t{0};
    if (at_once) note_set_change(t, set, before, "update", at_once.get());
  }
  if (!twin || !at_once) return;
  PyRef done(PyObject_CallMethod(twin.get(), "update", "O", at_once.get()));
  if (!done) t.raise_python();
  set->as<SetValue>().twin = std::move(twin);
  set->as<SetValue>().twin_version = set->version;
}

// A copy of one that existed before, whose order is guarded. CPython copies the table: the items one by one
// may come to lie otherwise. A copy of a copy lies as the copy does; of what has grown, or shrunk, it need
// not.
PyObject* copy_of_set(Tracer& t, Value* set) {
  if (set->items().size() > 1) set_in_order(t, set);
  PyRef copy(PySet_New(set->obj));
  const PyRef before(PySequence_List(set->obj)), after(copy ? PySequence_List(copy.get()) : nullptr);
  if (!before || !after) t.raise_python();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(before.get()); ++i)
    if (PyList_GET_ITEM(before.get(), i) != PyList_GET_ITEM(after.get(), i)) t.effects.sets_in_order = false;
  return copy.release();
}

// What was made of real sets, and shows their order.
void check_order_known(const Tracer& t) {
  if (!t.effects.sets_in_order) stop("unsupported_value", "the order of a set is shown, and it is not known");
}

// A real set that equals it. What is computed from one whose order is not known has no known order either.
PyObject* real_set(Tracer& t, Value* set, PyObject* items) {
  if (PyObject* twin = twin_of(set)) return Py_NewRef(twin);
  if (is_as_found(set)) return copy_of_set(t, set);
  if (set->items().size() > 1) t.effects.sets_in_order = false;
  return PySet_New(items);
}

// A list of the methods that make it of an empty set, each with its argument; nullptr: it is not known.
PyObject* how_set_was_made(Tracer& t, Value* set) {
  if (set->source || set->obj || set->as<SetValue>().changes_version != set->version) return nullptr;
  PyRef list(PyList_New(0));
  for (const auto& [method, argument] : set->as<SetValue>().changes) {
    PyRef pair(Py_BuildValue("(sO)", method, argument));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) t.raise_python();
  }
  return list.release();
}

// Its items in their order; nullptr: it is not known
static Value* set_made_here(Tracer& t, Value* set) {
  PyObject* twin = twin_of(set);
  if (!twin) return nullptr;
  PyRef keys(PySequence_List(twin));
  Values in_order;
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i)
    for (Value* item : set->items())
      if (same_key(t, key_object(t, item), PyList_GET_ITEM(keys.get(), i))) in_order.push_back(item);
  return in_order.size() == set->items().size() ? t.tuple(std::move(in_order)) : nullptr;
}

namespace {

Value* set_add(Tracer& t, Value* self, const Arguments& a) {
  set_insert(t, self, argument(t, a, 0));
  return t.none();
}

Value* set_update(Tracer& t, Value* self, const Arguments& a) {
  for (Value* more : a.positional) set_insert_all(t, self, more);
  return t.none();
}

Value* union_of_sets(Tracer& t, Value* self, const Values& others) {
  Value* made = t.sequence(ValueKind::Set, {});
  set_insert_all(t, made, self);
  for (Value* each : others) set_insert_all(t, made, each);
  return made;
}

Value* set_discard(Tracer& t, Value* self, const Arguments& a) {
  take_from_set(t, self, key_object(t, argument(t, a, 0)));
  return t.none();
}

// What x.difference_update(y, ...) and its like do is what x -= set(y) does. Of an intersection with what is
// no set the order is another one.
constexpr const char *kSub = "isub", *kAnd = "iand", *kXor = "ixor";
template <const char* const& Operator>
Value* set_changed(Tracer& t, Value* self, const Arguments& a) {
  if (self->cls != &PySet_Type) stop("unsupported_builtin", "a set's class of its own is changed by others");
  for (Value* other : a.positional) {
    other = t.look(other);
    if (!other->is(ValueKind::Set)) {
      if (Operator == kAnd) stop("unsupported_value", "the intersection of a set and of what is none");
      other = call(t, t.pinned(reinterpret_cast<PyObject*>(&PySet_Type)), {{other}, {}});
    }
    binary(t, Operator, self, other);
  }
  return t.none();
}

Value* set_remove(Tracer& t, Value* self, const Arguments& a) {
  if (!take_from_set(t, self, key_object(t, argument(t, a, 0))))
    stop("exception", "a set does not hold what is removed");
  return t.none();
}

// Which of several is the first is not known.
Value* set_pop(Tracer& t, Value* self, const Arguments& a) {
  if (!a.positional.empty() || self->items().size() != 1)
    stop("unsupported_builtin", "pop() of a set of several");
  return take_from_set(t, self, key_object(t, self->items()[0]));
}

const MethodTable& set_methods() {
  static const MethodTable table = {
      {"add", set_add},
      {"update", set_update},
      {"discard", set_discard},
      {"remove", set_remove},
      {"pop", set_pop},
      {"clear",
       [](Tracer& t, Value* s, const Arguments&) {
         set_clear(t, s);
         return t.none();
       }},
      {"difference_update", set_changed<kSub>},
      {"intersection_update", set_changed<kAnd>},
      {"symmetric_difference_update", set_changed<kXor>},
      {"__init__",
       [](Tracer&, Value*, const Arguments&) -> Value* {
         stop("unsupported_builtin", "__init__() of a set that exists already");
       }},
      {"__contains__",
       [](Tracer& t, Value* s, const Arguments& a) { return t.boolean(contains(t, s, argument(t, a, 0))); }},
      {"__len__", len_method},
  };
  return table;
}

// --- operations
bool only_reads_set(const std::string& method) {
  static const std::unordered_set<std::string> methods = {
      "union",    "intersection", "difference", "symmetric_difference",
      "issubset", "issuperset",   "isdisjoint", "copy"};
  return methods.contains(method);
}

Value* union_of_values(Tracer& t, Value* self, const std::string& name, const Arguments& a) {
  const bool is_union = name == "union" && self->cls == &PySet_Type && a.keyword.empty();
  return is_union ? union_of_sets(t, self, a.positional) : nullptr;
}

// a |= b and its like. Everything else is computed for real, where all elements are constants.
Value* set_binary(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  if (!op.in_place || !a->is(ValueKind::Set) || !b->is(ValueKind::Set) || a->cls != &PySet_Type)
    return nullptr;
  PyRef left(constant_tree(t, a)), right(constant_tree(t, b));
  PyErr_Clear();
  if (!left || !right) return nullptr;
  const Value* result = t.fold(PyObject_CallFunctionObjArgs(torch_names().operator_function(op.row.name),
                                                            left.get(), right.get(), nullptr));
  const uint64_t before = a->version;
  touch(t, a);
  a->items() = result->items();
  const std::string method = op.row.method;  // "__or__"
  const char* in_place_method = method == "__or__"    ? "__ior__"
                                : method == "__and__" ? "__iand__"
                                : method == "__sub__" ? "__isub__"
                                                      : "__ixor__";
  note_set_change(t, a, before, in_place_method, right.get());
  return a;
}

bool set_contains(Tracer& t, Value* v, Value* item) {
  PyObject* key = key_object(t, item);
  check_own_keys(t, v->obj != nullptr, v->items(), item);
  return std::any_of(v->items().begin(), v->items().end(),
                     [&](Value* candidate) { return same_key(t, key_object(t, candidate), key); });
}

// With a frozenset: what they hold, whatever their classes are.
std::optional<bool> equals_frozen_set(Tracer& t, Value* a, Value* b) {
  if (!a->is(ValueKind::Set)) std::swap(a, b);
  if (!a->is(ValueKind::Set) || !b->is(ValueKind::Constant) || !PyAnySet_Check(b->obj)) return std::nullopt;
  if (length(t, a) != PySet_GET_SIZE(b->obj)) return false;
  return std::all_of(a->items().begin(), a->items().end(),
                     [&](Value* item) { return ops_of(b).contains(t, b, item); });
}

int64_t length_of_set(Tracer& t, Value* v) {
  guard_length(t, v);
  return static_cast<int64_t>(v->items().size());
}

// The order of a set depends on its history, not only on its contents: of one that existed before, what it
// gives is looked at item by item.
Value* iter_set(Tracer& t, Value* v) {
  if (v->items().size() <= 1) return walk_set(t, v, t.tuple(v->items()));
  if (v->source && !v->mutated && PyAnySet_CheckExact(v->obj)) return walk_set(t, v, set_in_order(t, v));
  Value* in_order = v->source ? nullptr : set_made_here(t, v);
  if (!in_order) stop("unsupported_value", "iteration over a set: its order is not fixed");
  return walk_set(t, v, in_order);
}

// --- of a real one
void enter_set(Tracer& t, Value* v) {
  PyObject* o = v->obj;
  const PyTypeObject* type = Py_TYPE(o);
  if (type->tp_iter != PySet_Type.tp_iter || type->tp_richcompare != PySet_Type.tp_richcompare)
    stop("unsupported_value", with_article(type->tp_name) + ", a set with its own order or equality");
  become(v, ValueKind::Set);
  PyRef copy(PyFrozenSet_New(o));
  PyRef iterator(PyObject_GetIter(o));
  while (PyObject* item = PyIter_Next(iterator.get())) {
    t.keep(item);
    if (!is_plain_constant(item) && !is_identity_constant(item))
      stop("unsupported_value", "a set with elements that are not constants");
    v->items().push_back(t.constant(item));
  }
  if (v->source) t.guard(GuardKind::SetEquals, v->source, copy.get(), 0, "", nullptr, "== " + repr_of(o));
  v->sized = true;
}

// The same changes are made to it again.
void repeat_changes(RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  for (const auto& [name, argument] : v->as<SetValue>().changes) {
    PyRef method(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), name));
    Effect e;
    e.kind = Effect::Kind::Call;
    e.value = make.call(method.get(), {});
    e.value.children.push_back(make.make(v));
    e.value.children.push_back(make.constant(argument));
    out.push_back(std::move(e));
  }
}

void set_effect(Tracer&, RecipeMaker& make, Value* v, std::vector<Effect>& out) {
  if (v->as<SetValue>().changes_version == v->version && v->cls == &PySet_Type)
    return repeat_changes(make, v, out);
  if (v->items().size() > 1 && v->cls == &PySet_Type)
    stop("unsupported_value", "a set changes, and its order with it");
  Effect e;
  e.target = make.make(v);
  e.kind = Effect::Kind::SetReplace;
  e.value = make.sequence(Recipe::Kind::Set, v->items());
  out.push_back(std::move(e));
}

Recipe recipe_of_set(Tracer& t, RecipeMaker& make, Value* v) {
  for (Value* item : v->items()) check_leaves_as_key(resolve(item));
  Recipe r = make.sequence(Recipe::Kind::Set, v->items());
  if (v->items().size() < 2 || v->cls != &PySet_Type) return r;
  if (std::any_of(v->items().begin(), v->items().end(), is_made_here)) return r;
  PyRef changes(how_set_was_made(t, v));
  if (!changes) stop("unsupported_value", "a set whose order is not known leaves the segment");
  r = make.call(find_object("vitrine._polyfills.library.set_of"), {});
  r.children.push_back(make.constant(changes.get()));
  return r;
}

std::string describe_set(Tracer&, Value* v) {
  return "set of " + std::to_string(v->items().size());
}

PyObject* constant_set(Tracer& t, Value* v) {
  const PyRef list = v->cls == &PySet_Type ? constant_items(t, v) : PyRef();
  return list ? real_set(t, v, list.get()) : nullptr;
}

}  // namespace

const TypeOps set_type = {
    .name = "set",
    .describe = describe_set,
    .constant = constant_set,
    .attr = object_attr,
    .method = method_in<set_methods>,
    .method_of_values = union_of_values,
    .only_reads = only_reads_set,
    .call = call_object,
    .binary = set_binary,
    .equal = equals_frozen_set,
    .truth = truth_of_container,
    .length = length_of_set,
    .contains = set_contains,
    .iter = iter_set,
    .enter = enter_set,
    .effect = set_effect,
    .recipe = recipe_of_set,
};

}  // namespace vitrine::capture
