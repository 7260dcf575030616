// Iterators that existed before the segment. What they have left is read through their __reduce__, which does
// not move them; the segment advances them when it is done.
#include <unordered_map>

#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/iterators/iterators.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/iterator_state.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Which iterator of ours an object of this class is; Sequence: one that is read to its end.
IteratorKind wrapper_kind(PyTypeObject* type) {
  const TorchNames& torch = torch_names();
  static const std::unordered_map<PyTypeObject*, IteratorKind> kinds = {
      {&PyEnum_Type, IteratorKind::Enumerate}, {&PyZip_Type, IteratorKind::Zip},
      {&PyMap_Type, IteratorKind::Map},        {&PyFilter_Type, IteratorKind::Filter},
      {torch.count, IteratorKind::Count},      {torch.repeat, IteratorKind::Repeat},
      {torch.chain, IteratorKind::Chain},      {torch.islice, IteratorKind::Islice}};
  const auto found = kinds.find(type);
  return found == kinds.end() ? IteratorKind::Sequence : found->second;
}

void enter_wrapper(Tracer& t, Value* v) {
  PyRef reduced(PyObject_CallMethod(v->obj, "__reduce__", nullptr));
  if (!reduced) t.raise_python();
  PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
  Value* parts = t.look(t.lazy(arguments, t.sources().make(SourceKind::IterState, v->source, 1, "")));
  ops_of(v).restore(t, v, reduced.get(), parts->items());
}

// What is left is listed, here and by each check of the segment: a range with very many left is advanced for
// real.
constexpr Py_ssize_t kMostListed = 1000;

void enter_rest(Tracer& t, Value* v) {
  if (Py_TYPE(v->obj) == &PyRangeIter_Type && PyObject_LengthHint(v->obj, 0) > kMostListed)
    stop("limit", "a range with more than " + std::to_string(kMostListed) + " numbers left",
         "Nothing need be done: the loop's head runs in Python, its body is compiled.");
  const Source* rest = t.sources().make(SourceKind::IterRest, v->source, -1, "");
  PyRef owned(iterator_rest(v->obj));
  PyObject* left = owned.get();
  if (!left) stop("unsupported_value", std::string("iteration over a ") + Py_TYPE(v->obj)->tp_name);
  v->iterator().over = iterated_container(v->obj);
  Value* items = t.make(ValueKind::Tuple);
  items->cls = &PyTuple_Type;
  items->source = rest;
  items->typed = true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(left); ++i) {
    PyRef key(PyLong_FromSsize_t(i));
    items->items().push_back(
        t.lazy(PyList_GET_ITEM(left, i),
               t.sources().make(SourceKind::Item, rest, -1, std::to_string(i), key.get())));
  }
  v->iterator().children = {items};
}

}  // namespace

void materialise_iterator(Tracer& t, Value* v) {
  guard_type(t, v);
  become(v, ValueKind::Iterator);
  v->iterator().kind = wrapper_kind(Py_TYPE(v->obj));
  if (v->iterator().kind == IteratorKind::Sequence)
    enter_rest(t, v);
  else
    enter_wrapper(t, v);
}

Values state_of(Tracer& t, Value* v, PyObject* reduced) {
  PyObject* state = PyTuple_GET_SIZE(reduced) > 2 ? PyTuple_GET_ITEM(reduced, 2) : Py_None;
  Value* found = t.look(t.lazy(state, t.sources().make(SourceKind::IterState, v->source, 2, "")));
  if (is_none(t, found)) return {};
  return found->is(ValueKind::Tuple) ? found->items() : Values{found};
}

// The elements of a set that existed before, in its own order.
Value* set_in_order(Tracer& t, Value* set) {
  const Source* rest = t.sources().make(SourceKind::IterRest, set->source, -1, "");
  PyRef left(iterator_rest(set->obj));
  if (!left) t.raise_python();
  Values items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(left.get()); ++i) {
    PyRef key(PyLong_FromSsize_t(i));
    items.push_back(
        t.look(t.lazy(PyList_GET_ITEM(left.get(), i),
                      t.sources().make(SourceKind::Item, rest, -1, std::to_string(i), key.get()))));
  }
  return t.tuple(std::move(items));
}

// A real iterator is asked for one more.
void count_step(Tracer& t, Value* v) {
  IteratorState& s = v->iterator();
  if (auto found = t.values.by_object.find(s.over); s.over && found != t.values.by_object.end())
    if (resolve(found->second)->mutated)
      stop("unsupported_value", "iteration over a container that was changed");
  if (s.taken++ == 0) t.effects.mutated.push_back(v);
  v->mutated = true;
  if (t.effects.covered > 0) ++s.covered;
}

}  // namespace vitrine::capture
