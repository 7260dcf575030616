// Looking at values: what is asked becomes known, and guarded.
#include "core/base/words.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/interpreter/signals.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

Value* Tracer::resolve(Value* v) {
  while (v->forward) v = v->forward;
  return v;
}

Value* Tracer::look(Value* v) {
  v = resolve(v);
  if (v->kind == Kind::Lazy) {
    materialise(v);
    v = resolve(v);
  }
  if (pure_since_ >= 0) check_pure_read(v);
  if (v->kind == Kind::Tuple && v->owner && v->version != v->owner->version) {
    // A view of a dict that has changed since.
    const auto entries = dict_entries(v->owner);
    v->items.clear();
    for (auto [key, value] : entries)
      v->items.push_back(v->cls == &PyDictKeys_Type     ? key
                         : v->cls == &PyDictValues_Type ? value
                                                        : tuple({key, value}));
    v->version = v->owner->version;
  }
  if (v->kind == Kind::Symbol) {
    const ir::SymPlace place(symbolic_->table, asked_at());
    (void)static_cast<int64_t>(v->sym);
    v->kind = Kind::Constant;
    v->identified = true;
  }
  if (v->kind == Kind::Float) specialise_float(v);
  if (v->open) specialise_list(v);
  if (v->kind == Kind::Text) stop("side_effect", kTensorInText);
  if (v->kind == Kind::Constant && !v->identified) {
    v->identified = true;
    if (v->source && !v->pinned) {
      const bool by_value = is_plain_constant(v->obj) || is_frozen_set_of_constants(v->obj);
      const std::string seen = by_value ? "== " + repr_of(v->obj) : "is " + repr_of(v->obj);
      guard(by_value ? GuardKind::ConstEquals : GuardKind::Identity, v->source, v->obj, 0, "", nullptr, seen);
    }
  }
  return v;
}

// Two ways led to one object, and the trace relies on it. A way that is not pinned by other guards may lead
// elsewhere at the next call.
void Tracer::same_object(Value* v, Value* first) {
  const bool loose = v->source && !v->pinned, first_loose = first->source && !first->pinned;
  if (loose && first->source) {
    if (v->source != first->source)
      guard(GuardKind::SameObject, v->source, nullptr, 0, "", first->source, "is " + first->source->text());
  } else if (loose) {
    guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  } else if (first_loose) {
    guard(GuardKind::Identity, first->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  }
}

void Tracer::materialise(Value* v) {
  PyObject* o = v->obj;
  if (is_constant_object(o)) {
    if (v->source && symbolic(v)) return;
    v->kind = Kind::Constant;
    return;
  }
  // One value an object: changes through one name are seen through the other.
  if (auto found = by_object_.find(o); found != by_object_.end() && found->second != v) {
    Value* first = resolve(found->second);
    same_object(v, first);
    v->forward = first;
    return;
  }
  by_object_[o] = v;
  if (torch_api::is_tensor(o)) {
    enter_tensor(v);
  } else if (PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) || PyAnySet_Check(o) ||
             PySlice_Check(o) || PyRange_Check(o) || Py_TYPE(o) == torch_names().deque) {
    materialise_container(v);
  } else if (Py_TYPE(o) == &PyDictProxy_Type && (v->pinned || (v->source && proxied_dict(o)))) {
    materialise_mapping_proxy(v);
  } else if (PyMethod_Check(o)) {
    v->kind = Kind::Method;
    guard_type(v);
    v->items = {
        lazy(PyMethod_GET_FUNCTION(o), sources_->make(SourceKind::BoundFunc, v->source, -1, ""), v->pinned),
        lazy(PyMethod_GET_SELF(o), sources_->make(SourceKind::BoundSelf, v->source, -1, ""), v->pinned)};
  } else if (PyCell_Check(o)) {
    v->kind = Kind::Cell;
  } else if (torch_names().is_iterator(Py_TYPE(o))) {
    materialise_iterator(v);
  } else if (!enter_array(v)) {
    v->kind = Kind::Object;
  }
}

// What is pinned hangs on an object that is as it was (a signature): a dict that is never written. Else it
// shows a dict that may be another one at the next call.
void Tracer::materialise_mapping_proxy(Value* v) {
  auto shown = std::make_unique<DictState>();
  shown->index = Owned(PyDict_New());
  const auto put = [&](PyObject* key, Value* k, Value* value) {
    Owned at(PyLong_FromSize_t(shown->entries.size()));
    PyDict_SetItem(shown->index.get(), key, at.get());
    shown->entries.emplace_back(k, value);
  };
  if (v->pinned) {
    Owned items(PyMapping_Items(v->obj));
    if (!items) raise_python();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* pair = PyList_GET_ITEM(items.get(), i);
      put(PyTuple_GET_ITEM(pair, 0), constant(PyTuple_GET_ITEM(pair, 0)), pinned(PyTuple_GET_ITEM(pair, 1)));
    }
  } else {
    guard_type(v);
    Value* behind = look(lazy(proxied_dict(v->obj), sources_->make(SourceKind::Proxied, v->source, -1, "")));
    for (auto& [key, value] : dict_entries(behind)) put(key->obj, key, value);
    behind->dict->shown = true;
  }
  v->kind = Kind::Dict;
  v->cls = &PyDictProxy_Type;
  v->dict = std::move(shown);
}

void Tracer::materialise_container(Value* v) {
  PyObject* o = v->obj;
  guard_type(v);
  if (PySlice_Check(o)) {
    auto* slice = reinterpret_cast<PySliceObject*>(o);
    v->kind = Kind::Slice;
    v->sized = true;  // always three parts
    v->items = {lazy(slice->start, sources_->attr(v->source, "start")),
                lazy(slice->stop, sources_->attr(v->source, "stop")),
                lazy(slice->step, sources_->attr(v->source, "step"))};
    return;
  }
  if (PyRange_Check(o)) {
    v->kind = Kind::Constant;
    v->identified = true;
    for (const char* field : {"start", "stop", "step"}) {
      Owned part(PyObject_GetAttrString(o, field));
      look(lazy(part.get(), sources_->attr(v->source, field)));
    }
    return;
  }
  if (PyDict_Check(o)) {
    for (Value* changed : mutated_)
      if (changed->kind == Kind::Object && known_own_dict(changed) == v)
        stop("unsupported_value", "the __dict__ of an object that was changed");
    v->kind = Kind::Dict;
    v->dict = std::make_unique<DictState>();
    v->dict->index = Owned(PyDict_New());
    v->dict->complete = false;
    return;
  }
  if (PyAnySet_Check(o)) {
    const PyTypeObject* type = Py_TYPE(o);
    if (type->tp_iter != PySet_Type.tp_iter || type->tp_richcompare != PySet_Type.tp_richcompare)
      stop("unsupported_value", with_article(type->tp_name) + ", a set with its own order or equality");
    v->kind = Kind::Set;
    Owned copy(PyFrozenSet_New(o));
    Owned iterator(PyObject_GetIter(o));
    while (PyObject* item = PyIter_Next(iterator.get())) {
      keep(item);
      if (!is_plain_constant(item) && !is_identity_constant(item))
        stop("unsupported_value", "a set with elements that are not constants");
      v->items.push_back(constant(item));
    }
    if (v->source) guard(GuardKind::SetEquals, v->source, copy.get(), 0, "", nullptr, "== " + repr_of(o));
    v->sized = true;
    return;
  }
  const bool is_tuple = PyTuple_Check(o);
  v->kind = is_tuple ? Kind::Tuple : Kind::List;
  if (PyList_CheckExact(o) && v->source) {
    v->open = true;
    return;
  }
  if (!is_tuple && !PyList_Check(o)) {  // a deque, which tells how much it holds at most
    Owned most(PyObject_GetAttrString(o, "maxlen"));
    Value* limit = most ? lazy(most.get(), sources_->attr(v->source, "maxlen")) : nullptr;
    if (limit && !is_none(limit)) v->limit = int_of(limit, "a deque's length");
    if (limit && most.get() == Py_None) look(limit);
  }
  v->items = items_before(v);
  // A tuple that hangs on a guarded class cannot change; every other sequence may have another length next
  // time.
  if (is_tuple && v->pinned) {
    v->sized = true;
  } else {
    guard_length(v);
  }
}

// What stands in a tuple, list or deque from before this point.
Values Tracer::items_before(Value* v) {
  PyObject* o = v->obj;
  const bool is_tuple = PyTuple_Check(o);
  // Not by the class's own way to go through it.
  const Owned items(is_tuple          ? PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o))
                    : PyList_Check(o) ? PyList_GetSlice(o, 0, PyList_GET_SIZE(o))
                                      : PySequence_List(o));
  if (!items) raise_python();
  Values found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Owned key(PyLong_FromSsize_t(i));
    found.push_back(lazy(PySequence_Fast_GET_ITEM(items.get(), i),
                         sources_->make(SourceKind::Item, v->source, -1, std::to_string(i), key.get()),
                         is_tuple && v->pinned));
  }
  return found;
}

void Tracer::materialise_cell(Value* v) {
  if (!v->items.empty()) return;
  PyObject* contents = PyCell_GET(v->obj);
  v->items = {contents ? lazy(contents, sources_->make(SourceKind::Cell, v->source, -1, "")) : nullptr};
}

Value* Tracer::cell_get(Value* cell) {
  cell = look(cell);
  if (cell->kind != Kind::Cell) stop("unsupported_value", "a closure cell of another kind");
  materialise_cell(cell);
  if (cell->source) check_cached_read(PyCell_GET(cell->obj));
  if (cell->source && !cell->mutated)
    guard(GuardKind::Bound, sources_->make(SourceKind::Cell, cell->source, -1, ""), nullptr,
          cell->items[0] != nullptr, "", nullptr, cell->items[0] ? "has a value" : "has no value");
  return cell->items[0];
}

void Tracer::cell_set(Value* cell, Value* value) {
  cell = look(cell);
  if (cell->source) {
    // Whether a function of another call shares this cell: only of these very functions is that known.
    cells_written_ = true;
    for (Value* f : std::exchange(anew_, {})) look(f);
  }
  materialise_cell(cell);
  touch(cell);
  cell->items[0] = value;
}

}  // namespace vitrine::capture
