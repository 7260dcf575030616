// Iterators that existed before the segment. What they have left is read through their __reduce__, which does
// not move them; the segment advances them when it is done.
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/iterator_state.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

struct Wrapper {
  PyTypeObject* type;
  IteratorKind kind;
};
const Wrapper* wrapper_of(PyTypeObject* type) {
  static const Wrapper kWrappers[] = {
      {&PyEnum_Type, IteratorKind::Enumerate},    {&PyZip_Type, IteratorKind::Zip},
      {&PyMap_Type, IteratorKind::Map},           {&PyFilter_Type, IteratorKind::Filter},
      {torch_names().count, IteratorKind::Count}, {torch_names().repeat, IteratorKind::Repeat},
      {torch_names().chain, IteratorKind::Chain}, {torch_names().islice, IteratorKind::Islice}};
  for (const Wrapper& row : kWrappers)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace

void Tracer::materialise_iterator(Value* v) {
  guard_type(v);
  v->kind = Kind::Iterator;
  v->iterator = std::make_unique<IteratorState>();
  if (wrapper_of(Py_TYPE(v->obj)))
    materialise_wrapper(v);
  else
    materialise_rest(v);
}

void Tracer::materialise_wrapper(Value* v) {
  IteratorState& s = *v->iterator;
  s.kind = wrapper_of(Py_TYPE(v->obj))->kind;
  Owned reduced(PyObject_CallMethod(v->obj, "__reduce__", nullptr));
  if (!reduced) raise_python();
  Value* parts =
      look(lazy(PyTuple_GET_ITEM(reduced.get(), 1), sources_->make(SourceKind::IterState, v->source, 1, "")));
  Values items = parts->items;
  switch (s.kind) {
    case IteratorKind::Enumerate:
      s.index = int_of(items[1], "the position of an enumerate()");
      items.resize(1);
      break;
    case IteratorKind::Zip: {
      PyObject* state = PyTuple_GET_SIZE(reduced.get()) > 2 ? PyTuple_GET_ITEM(reduced.get(), 2) : Py_None;
      s.strict = truth(lazy(state, sources_->make(SourceKind::IterState, v->source, 2, "")));
      break;
    }
    case IteratorKind::Count:  // (now,) or (now, step)
      if (items.size() == 1) items.push_back(integer(1));
      break;
    case IteratorKind::Repeat:  // (object,) or (object, how often)
      s.index = items.size() > 1 ? int_of(items[1], "what a repeat() has left") : -1;
      items.resize(1);
      break;
    case IteratorKind::Chain:  // (iterables that follow, the one that is at its turn)
      items = state_of(v, reduced.get());
      if (items.empty())
        s.done = true;
      else if (items.size() > 1)
        s.inner = iter(items[1]);
      break;
    case IteratorKind::Islice: {  // (iterator, next, stop, step), how many it has taken
      if (items.size() != 4) {
        s.done = true;
        break;
      }
      s.index = int_of(items[1], "the position of an islice()");
      s.stop = is_none(items[2]) ? -1 : int_of(items[2], "the end of an islice()");
      s.step = int_of(items[3], "the step of an islice()");
      const Values taken = state_of(v, reduced.get());
      s.passed = int_of(taken.at(0), "the position of an islice()");
      items.resize(1);
      break;
    }
    default:
      s.function = items[0];
      items.erase(items.begin());
  }
  s.children = std::move(items);
}

// The parts of the state behind its arguments in an iterator's __reduce__.
Values Tracer::state_of(Value* v, PyObject* reduced) {
  PyObject* state = PyTuple_GET_SIZE(reduced) > 2 ? PyTuple_GET_ITEM(reduced, 2) : Py_None;
  Value* found = look(lazy(state, sources_->make(SourceKind::IterState, v->source, 2, "")));
  if (is_none(found)) return {};
  return found->kind == Kind::Tuple ? found->items : Values{found};
}

// What is left is listed, here and by each check of the segment: a range with very many left is advanced for
// real.
constexpr Py_ssize_t kMostListed = 1000;

void Tracer::materialise_rest(Value* v) {
  if (Py_TYPE(v->obj) == &PyRangeIter_Type && PyObject_LengthHint(v->obj, 0) > kMostListed)
    stop("limit", "a range with more than " + std::to_string(kMostListed) + " numbers left",
         "Nothing need be done: the loop's head runs in Python, its body is compiled.");
  const Source* rest = sources_->make(SourceKind::IterRest, v->source, -1, "");
  Owned owned(iterator_rest(v->obj));
  PyObject* left = owned.get();
  if (!left) stop("unsupported_value", std::string("iteration over a ") + Py_TYPE(v->obj)->tp_name);
  v->iterator->over = iterated_container(v->obj);
  Value* items = make(Kind::Tuple);
  items->cls = &PyTuple_Type;
  items->source = rest;
  items->typed = true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(left); ++i) {
    Owned key(PyLong_FromSsize_t(i));
    items->items.push_back(lazy(PyList_GET_ITEM(left, i),
                                sources_->make(SourceKind::Item, rest, -1, std::to_string(i), key.get())));
  }
  v->iterator->children = {items};
}

// The elements of a set that existed before, in its own order.
Value* Tracer::set_in_order(Value* set) {
  const Source* rest = sources_->make(SourceKind::IterRest, set->source, -1, "");
  Owned left(iterator_rest(set->obj));
  if (!left) raise_python();
  Values items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(left.get()); ++i) {
    Owned key(PyLong_FromSsize_t(i));
    items.push_back(look(lazy(PyList_GET_ITEM(left.get(), i),
                              sources_->make(SourceKind::Item, rest, -1, std::to_string(i), key.get()))));
  }
  return tuple(std::move(items));
}

// A real iterator is asked for one more.
void Tracer::count_step(Value* v) {
  IteratorState& s = *v->iterator;
  if (auto found = by_object_.find(s.over); s.over && found != by_object_.end())
    if (resolve(found->second)->mutated)
      stop("unsupported_value", "iteration over a container that was changed");
  if (s.taken++ == 0) mutated_.push_back(v);
  v->mutated = true;
  if (covered_ > 0) ++s.covered;
}

}  // namespace vitrine::capture
