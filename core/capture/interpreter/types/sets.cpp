// Sets that the program makes. Their order depends on how they came about: a real set goes the same way
// beside them.
#include <algorithm>

#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// The real set beside it, or a new one for a set that is still empty; nullptr: it is not known how it came
// about.
PyObject* twin_of(Value* set) {
  if (set->twin && set->twin_version == set->version) return set->twin.get();
  if (set->twin || set->obj || set->source || !set->items.empty() || set->version != 0 ||
      set->cls != &PySet_Type)
    return nullptr;
  set->twin = Owned(PySet_New(nullptr));
  return set->twin.get();
}

// A set that existed before and is as it was.
bool is_as_found(const Value* set) {
  return set->kind == Kind::Set && set->source && !set->mutated && set->obj && PyAnySet_CheckExact(set->obj);
}

}  // namespace

bool is_made_here(const Value* key) {
  return (key->kind == Kind::Tensor && !key->real) || (key->kind == Kind::Object && !key->obj);
}

void Tracer::set_insert(Value* set, Value* item) {
  PyObject* key = key_object(item);
  if (contains(set, item)) return;
  PyObject* twin = twin_of(set);
  const uint64_t before = set->version;
  touch(set);
  set->items.push_back(look(item));
  if (is_made_here(look(item)))
    set->changes_version = ~uint64_t{0};  // nobody can add it again: it is not there yet
  else
    note_set_change(set, before, "add", key);
  if (!twin) return;
  if (PySet_Add(twin, key) < 0) raise_python();
  set->twin_version = set->version;
}

Value* Tracer::take_from_set(Value* set, PyObject* key) {
  const auto found = std::find_if(set->items.begin(), set->items.end(),
                                  [&](Value* each) { return same_key(key_object(each), key); });
  if (found == set->items.end()) return nullptr;
  Value* item = *found;
  PyObject* twin = twin_of(set);
  const uint64_t before = set->version;
  touch(set);
  set->items.erase(found);
  note_set_change(set, before, "discard", key);
  if (!twin) return item;
  if (PySet_Discard(twin, key) < 0) raise_python();
  set->twin_version = set->version;
  return item;
}

void Tracer::set_clear(Value* set) {
  if (set->items.empty()) return;
  const uint64_t before = set->version;
  touch(set);
  set->items.clear();
  // It leaves as empty a table, and has an argument as other changes have.
  const Owned nothing(PyTuple_New(0));
  note_set_change(set, before, "intersection_update", nothing.get());
  if (set->cls != &PySet_Type) return;
  set->twin = Owned(PySet_New(nullptr));
  set->twin_version = set->version;
}

// What is done to a set that existed before is done to it again: its order depends on that.
void Tracer::note_set_change(Value* set, uint64_t before, const char* method, PyObject* argument) {
  if (set->changes_version != before) return;
  set->changes.emplace_back(method, keep(Py_NewRef(argument)));
  set->changes_version = set->version;
}

void Tracer::set_insert_all(Value* set, Value* more) {
  more = look(more);
  if (more->kind == Kind::Iterator || more->kind == Kind::Generator || more->kind == Kind::Object) {
    for_rest_of(iter(more), [&](Value* item) { set_insert(set, item); });
    return;
  }
  Values items;
  Owned at_once;  // Python goes through the table of another set, or of a dict, and makes room before
  if (PyObject* o = const_object(more); o && PyFrozenSet_Check(o)) {
    Owned iterator(PyObject_GetIter(o));
    while (PyObject* item = iterator ? PyIter_Next(iterator.get()) : nullptr) items.push_back(fold(item));
    at_once = Owned(Py_NewRef(o));
  } else if (more->kind == Kind::Set) {
    items = more->items;
    if (is_as_found(more))
      at_once = Owned(copy_of_set(more));
    else if (Owned changes = Owned(how_set_was_made(more)); changes && twin_of(more))
      at_once = Owned(PyObject_CallOneArg(find_object("vitrine._polyfills.library.set_of"), changes.get()));
  } else {
    items = unpack(more);
    if (more->kind == Kind::Dict) {
      at_once = Owned(PyDict_New());
      for (Value* item : items) PyDict_SetItem(at_once.get(), key_object(item), Py_None);
    }
  }
  const bool one_by_one = !at_once && more->kind != Kind::Set && more->kind != Kind::Dict;
  Owned twin(Py_XNewRef(twin_of(set)));
  if (!one_by_one) {  // it does not grow with each item
    set->twin = Owned(PySet_New(nullptr));
    set->twin_version = ~uint64_t{0};
  }
  const uint64_t before = set->version;
  const size_t changes = set->changes.size();
  for (Value* item : items) set_insert(set, item);
  if (!one_by_one && set->version != before && set->changes_version == set->version) {
    set->changes.resize(changes);
    set->changes_version = at_once ? before : ~uint64_t{0};
    if (at_once) note_set_change(set, before, "update", at_once.get());
  }
  if (!twin || !at_once) return;
  Owned done(PyObject_CallMethod(twin.get(), "update", "O", at_once.get()));
  if (!done) raise_python();
  set->twin = std::move(twin);
  set->twin_version = set->version;
}

// A copy of one that existed before, whose order is guarded. CPython copies the table: the items one by one
// may come to lie otherwise. A copy of a copy lies as the copy does; of what has grown, or shrunk, it need
// not.
PyObject* Tracer::copy_of_set(Value* set) {
  if (set->items.size() > 1) set_in_order(set);
  Owned copy(PySet_New(set->obj));
  const Owned before(PySequence_List(set->obj)), after(copy ? PySequence_List(copy.get()) : nullptr);
  if (!before || !after) raise_python();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(before.get()); ++i)
    if (PyList_GET_ITEM(before.get(), i) != PyList_GET_ITEM(after.get(), i)) sets_in_order_ = false;
  return copy.release();
}

// What was made of real sets, and shows their order.
void Tracer::check_order_known() const {
  if (!sets_in_order_) stop("unsupported_value", "the order of a set is shown, and it is not known");
}

// A real set that equals it. What is computed from one whose order is not known has no known order either.
PyObject* Tracer::real_set(Value* set, PyObject* items) {
  if (PyObject* twin = twin_of(set)) return Py_NewRef(twin);
  if (is_as_found(set)) return copy_of_set(set);
  if (set->items.size() > 1) sets_in_order_ = false;
  return PySet_New(items);
}

// A list of the methods that make it of an empty set, each with its argument; nullptr: it is not known.
PyObject* Tracer::how_set_was_made(Value* set) {
  if (set->source || set->obj || set->changes_version != set->version) return nullptr;
  Owned list(PyList_New(0));
  for (const auto& [method, argument] : set->changes) {
    Owned pair(Py_BuildValue("(sO)", method, argument));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) raise_python();
  }
  return list.release();
}

Value* Tracer::set_made_here(Value* set) {
  PyObject* twin = twin_of(set);
  if (!twin) return nullptr;
  Owned keys(PySequence_List(twin));
  Values in_order;
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i)
    for (Value* item : set->items)
      if (same_key(key_object(item), PyList_GET_ITEM(keys.get(), i))) in_order.push_back(item);
  return in_order.size() == set->items.size() ? tuple(std::move(in_order)) : nullptr;
}

}  // namespace vitrine::capture
