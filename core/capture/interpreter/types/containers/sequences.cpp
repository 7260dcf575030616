#include "core/capture/interpreter/types/containers/sequences.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/enter.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/iterators/over_containers.h"
#include "core/capture/interpreter/value_questions.h"

#include <algorithm>

#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {

bool is_slice(const Value* key) {
  return key->is(ValueKind::Slice) || (key->is(ValueKind::Constant) && PySlice_Check(key->obj));
}

SliceRange slice_range(Tracer& t, Value* key, size_t size) {
  PyRef slice(constant_tree(t, key));
  if (!slice) {
    PyErr_Clear();
    stop("scalar_read", "a slice bound that is not a constant",
         "Use a mask of fixed size instead of the slice.");
  }
  SliceRange r{};
  if (PySlice_Unpack(slice.get(), &r.start, &r.stop, &r.step) < 0) t.raise_python();
  r.count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &r.start, &r.stop, r.step);
  return r;
}

int64_t length_of_items(Tracer& t, Value* v) {
  guard_length(t, v);
  return static_cast<int64_t>(v->items().size());
}

bool contains_item(Tracer& t, Value* v, Value* item) {
  guard_length(t, v);
  return std::any_of(v->items().begin(), v->items().end(),
                     [&](Value* candidate) { return same_or_equal(t, candidate, item); });
}

void enter_items(Tracer& t, Value* v) {
  v->items() = items_before(t, v);
  guard_length(t, v);
}

PyRef constant_items(Tracer& t, Value* v) {
  guard_length(t, v);
  PyRef list(PyList_New(0));
  for (Value* item : v->items()) {
    PyRef o(constant_tree(t, item));
    if (!o || PyList_Append(list.get(), o.get()) < 0) return {};
  }
  return list;
}

PyRef items_to_torch(Tracer& t, Value* v) {
  guard_length(t, v);
  PyRef list(PyList_New(0));
  for (Value* item : v->items()) {
    PyRef o(to_python(t, item));
    if (PyList_Append(list.get(), o.get()) < 0) t.raise_python();
  }
  return list;
}

Value* iter_items(Tracer& t, Value* v) {
  guard_length(t, v);
  return new_iterator(t, IteratorKind::Sequence, {v});
}

Value* get_slice(Tracer& t, Value* v, Value* key) {
  const SliceRange r = slice_range(t, key, v->items().size());
  if (is_plain_tuple(v) && r.step == 1 && r.count == std::ssize(v->items())) return v;
  Values items;
  for (Py_ssize_t i = 0; i < r.count; ++i)
    items.push_back(v->items()[static_cast<size_t>(r.start + i * r.step)]);
  return t.sequence(v->kind(), std::move(items), v->cls == torch_names().size ? v->cls : nullptr);
}

Value* get_at(Tracer& t, Value* v, Value* key, const char* out_of_range) {
  if (key->is(ValueKind::Constant) && !PyIndex_Check(key->obj))
    t.raise(PyExc_TypeError, "sequence indices must be integers or slices");
  int64_t i = int_of(t, key, "a sequence index");
  const auto n = static_cast<int64_t>(v->items().size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, out_of_range, true);
  return v->items()[static_cast<size_t>(i)];
}

namespace {

bool are_of_one_kind(const Value* a, const Value* b) {
  return (a->is(ValueKind::List) && b->is(ValueKind::List)) ||
         (a->is(ValueKind::Tuple) && b->is(ValueKind::Tuple));
}

// torch.Size has its own rule for the type of the sum.
PyTypeObject* type_of_sum(Tracer& t, Value* a, Value* b) {
  PyTypeObject* size = torch_names().size;
  if (a->cls != size && b->cls != size) return nullptr;
  PyRef left(hints_of(t, a)), right(hints_of(t, b)), sum;
  if (!left || !right) return nullptr;
  sum = PyRef(
      PyObject_CallFunctionObjArgs(torch_names().operator_function("add"), left.get(), right.get(), nullptr));
  if (!sum) t.raise_python();
  return Py_TYPE(sum.get()) == size ? size : nullptr;
}

Value* concatenate(Tracer& t, Value* a, Value* b) {
  guard_length(t, a);
  guard_length(t, b);
  PyTypeObject* type = type_of_sum(t, a, b);
  if (is_plain_tuple(a) && is_plain_tuple(b) && (a->items().empty() || b->items().empty()))
    return a->items().empty() ? b : a;
  Values items = a->items();
  items.insert(items.end(), b->items().begin(), b->items().end());
  return t.sequence(a->kind(), std::move(items), type);
}

Value* repeat(Tracer& t, Value* s, Value* n, bool in_place) {
  guard_length(t, s);
  if (is_plain_tuple(s) && int_of(t, n, "a repeat count") == 1) return s;
  Values items;
  const int64_t times = int_of(t, n, "a repeat count");
  if (times > 0 && s->items().size() > kEndless / static_cast<size_t>(times))
    stop("limit", "a sequence of very many elements is made",
         "Make a tensor of them, with torch.full() or repeat().");
  for (int64_t i = times; i > 0; --i) items.insert(items.end(), s->items().begin(), s->items().end());
  if (in_place && s->is(ValueKind::List)) {
    touch(t, s);
    s->items() = std::move(items);
    return s;
  }
  return t.sequence(s->kind(), std::move(items));
}

// Whether a comparison of the items may be noticed. CPython compares tuples of different lengths item by
// item.
bool any_is_asked(const Value& sequence) {
  return std::any_of(sequence.items().begin(), sequence.items().end(), [](const Value* item) {
    while (item->forward) item = item->forward;
    return item->is(ValueKind::Lazy) || item->is(ValueKind::Tensor) || may_have_methods(item);
  });
}

}  // namespace

Value* binary_of_sequences(Tracer& t, const BinaryOperation& op, Value* a, Value* b) {
  const bool views = a->is(ValueKind::Tuple) && (owner_of(a) || owner_of(b));  // of dicts: they have no order
  if (op.is("add") && are_of_one_kind(a, b) && !views) return concatenate(t, a, b);
  if (!op.is("mul")) return nullptr;
  Value* s = a->is(ValueKind::List) || a->is(ValueKind::Tuple) ? a : b;
  Value* n = s == a ? b : a;
  return !owner_of(s) && n->is(ValueKind::Constant) ? repeat(t, s, n, op.in_place && s == a) : nullptr;
}

Value* compare_sequences(Tracer& t, int op, Value* a, Value* b) {
  const bool one_deque = (a->cls == torch_names().deque) != (b->cls == torch_names().deque);
  if (a->kind() != b->kind() || owner_of(a) || owner_of(b) || one_deque) return nullptr;
  guard_length(t, a);
  guard_length(t, b);
  const size_t shorter = std::min(a->items().size(), b->items().size());
  for (size_t i = 0; i < shorter; ++i)  // the first two that differ decide
    if (t.look(a->items()[i]) != t.look(b->items()[i]) && !equal(t, a->items()[i], b->items()[i]))
      return compare(t, op, a->items()[i], b->items()[i]);
  return compare(t, op, t.integer(static_cast<int64_t>(a->items().size())),
                 t.integer(static_cast<int64_t>(b->items().size())));
}

std::optional<bool> equal_sequences(Tracer& t, Value* a, Value* b) {
  if (!are_of_one_kind(a, b)) return std::nullopt;
  if ((a->cls == torch_names().deque) != (b->cls == torch_names().deque)) return false;
  const bool longer = length(t, a) != length(t, b);
  if (longer && (a->is(ValueKind::List) || !(any_is_asked(*a) || any_is_asked(*b)))) return false;
  for (size_t i = 0; i < std::min(a->items().size(), b->items().size()); ++i)
    if (!same_or_equal(t, a->items()[i], b->items()[i])) return false;
  return !longer;
}

size_t place_of(Tracer& t, Value* self, Value* item) {
  guard_length(t, self);
  for (size_t i = 0; i < self->items().size(); ++i)
    if (same_or_equal(t, self->items()[i], item)) return i;
  return self->items().size();
}

Value* index_method(Tracer& t, Value* self, const Arguments& a) {
  Value* item = argument(t, a, 0);
  guard_length(t, self);
  const auto n = static_cast<int64_t>(self->items().size());
  const auto bound = [&](size_t i, int64_t otherwise) {
    if (i >= a.positional.size()) return otherwise;
    const int64_t given = int_of(t, a.positional[i], "a list index");
    return std::clamp<int64_t>(given < 0 ? given + n : given, 0, n);
  };
  for (int64_t i = bound(1, 0), end = bound(2, n); i < end; ++i)
    if (same_or_equal(t, self->items()[static_cast<size_t>(i)], item)) return t.integer(i);
  t.raise(PyExc_ValueError, self->is(ValueKind::Tuple) ? "tuple.index(x): x not in tuple"
                                                       : describe(t, item) + " is not in list");
}

Value* count_method(Tracer& t, Value* self, const Arguments& a) {
  int64_t n = 0;
  guard_length(t, self);
  for (Value* item : self->items()) n += same_or_equal(t, item, argument(t, a, 0));
  return t.integer(n);
}

Value* iter_method(Tracer& t, Value* self, const Arguments&) {
  return iter_items(t, self);
}

}  // namespace vitrine::capture
