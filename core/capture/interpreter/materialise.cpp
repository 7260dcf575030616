// Looking at values: what is asked becomes known, and guarded.
#include "core/base/words.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/interpreter/signals.h"
#include "core/capture/interpreter/type_ops.h"
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
    v->items = items_of_view(*this, v->owner, v->cls);
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
