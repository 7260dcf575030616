// Iterators that existed before the segment. What they have left is read through their __reduce__, which does
// not move them; the segment advances them when it is done.
#include "core/capture/iterator_state.h"
#include "core/capture/trace/tracer.h"

namespace vitrine::capture {
namespace {

struct Wrapper {
  PyTypeObject* type;
  IteratorKind kind;
};
const Wrapper* wrapper_of(PyTypeObject* type) {
  static const Wrapper kWrappers[] = {{&PyEnum_Type, IteratorKind::Enumerate},
                                      {&PyZip_Type, IteratorKind::Zip},
                                      {&PyMap_Type, IteratorKind::Map},
                                      {&PyFilter_Type, IteratorKind::Filter}};
  for (const Wrapper& row : kWrappers)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace

void Tracer::realise_iterator(Value* v) {
  guard_type(v);
  v->kind = Kind::Iterator;
  v->iterator = std::make_unique<IteratorState>();
  if (wrapper_of(Py_TYPE(v->obj)))
    realise_wrapper(v);
  else
    realise_rest(v);
}

void Tracer::realise_wrapper(Value* v) {
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
    default:
      s.function = items[0];
      items.erase(items.begin());
  }
  s.children = std::move(items);
}

void Tracer::realise_rest(Value* v) {
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
