// Looking at values: what is asked becomes known, and guarded.
#include "core/capture/interpreter/materialise.h"
#include "core/base/words.h"
#include "core/capture/guards/source_reader.h"
#include "core/capture/interpreter/library/cached_calls.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/state/signals.h"
#include "core/capture/interpreter/symbolic/floats.h"
#include "core/capture/interpreter/symbolic/symbolic_lists.h"
#include "core/capture/interpreter/symbolic/symbolic_text.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/type_ops.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/enter.h"
#include "core/capture/interpreter/types/iterators/real_iterators.h"
#include "core/capture/interpreter/types/tensors/arrays.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static void materialise_mapping_proxy(Tracer& t, Value* v);

Value* resolve(Value* v) {
  while (v->forward) v = v->forward;
  return v;
}

Value* Tracer::look(Value* v) {
  v = resolve(v);
  if (v->is(ValueKind::Lazy)) {
    materialise(*this, v);
    v = resolve(v);
  }
  if (pure.since >= 0) check_pure_read(*this, v);
  if (v->is(ValueKind::Tuple) && owner_of(v) && v->version != owner_of(v)->version) {
    // A view of a dict that has changed since.
    v->items() = items_of_view(*this, owner_of(v), v->cls);
    v->version = owner_of(v)->version;
  }
  if (v->is(ValueKind::Symbol)) {
    const ir::SymPlace place(sizes.symbolic->table, asked_at(*this));
    (void)static_cast<int64_t>(v->as<SymbolValue>().sym);
    become(v, ValueKind::Constant);
    v->identified = true;
  }
  if (v->is(ValueKind::Float)) specialise_float(*this, v);
  if (is_open(v)) specialise_list(*this, v);
  if (v->is(ValueKind::Text)) stop("side_effect", kTensorInText);
  if (v->is(ValueKind::Constant) && !v->identified) {
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
static void same_object(Tracer& t, Value* v, Value* first) {
  const bool loose = v->source && !v->pinned, first_loose = first->source && !first->pinned;
  if (loose && first->source) {
    if (v->source != first->source)
      t.guard(GuardKind::SameObject, v->source, nullptr, 0, "", first->source, "is " + first->source->text());
  } else if (loose) {
    t.guard(GuardKind::Identity, v->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  } else if (first_loose) {
    t.guard(GuardKind::Identity, first->source, v->obj, 0, "", nullptr, "is " + repr_of(v->obj));
  }
}

void materialise(Tracer& t, Value* v) {
  PyObject* o = v->obj;
  if (is_constant_object(o)) {
    if (v->source && symbolic(t, v)) return;
    become(v, ValueKind::Constant);
    return;
  }
  // One value an object: changes through one name are seen through the other.
  if (auto found = t.values.by_object.find(o); found != t.values.by_object.end() && found->second != v) {
    Value* first = resolve(found->second);
    same_object(t, v, first);
    name_by_module(t, first, v->source);
    v->forward = first;
    return;
  }
  t.values.by_object[o] = v;
  if (torch_api::is_tensor(o)) {
    enter_tensor(t, v);
  } else if (PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) || PyAnySet_Check(o) ||
             PySlice_Check(o) || PyRange_Check(o) || Py_TYPE(o) == torch_names().deque) {
    materialise_container(t, v);
  } else if (Py_TYPE(o) == &PyDictProxy_Type && (v->pinned || (v->source && proxied_dict(o)))) {
    materialise_mapping_proxy(t, v);
  } else if (PyMethod_Check(o)) {
    become(v, ValueKind::Method);
    guard_type(t, v);
    v->items() = {
        t.lazy(PyMethod_GET_FUNCTION(o), t.sources().make(SourceKind::BoundFunc, v->source, -1, ""),
               v->pinned),
        t.lazy(PyMethod_GET_SELF(o), t.sources().make(SourceKind::BoundSelf, v->source, -1, ""), v->pinned)};
  } else if (PyCell_Check(o)) {
    become(v, ValueKind::Cell);
  } else if (torch_names().is_iterator(Py_TYPE(o))) {
    materialise_iterator(t, v);
  } else if (!enter_array(t, v)) {
    become(v, ValueKind::Object);
  }
}

// What is pinned hangs on an object that is as it was (a signature): a dict that is never written. Else it
// shows a dict that may be another one at the next call.
void materialise_mapping_proxy(Tracer& t, Value* v) {
  DictState shown;
  shown.index = PyRef(PyDict_New());
  const auto put = [&](PyObject* key, Value* k, Value* value) {
    PyRef at(PyLong_FromSize_t(shown.entries.size()));
    PyDict_SetItem(shown.index.get(), key, at.get());
    shown.entries.emplace_back(k, value);
  };
  if (v->pinned) {
    PyRef items(PyMapping_Items(v->obj));
    if (!items) t.raise_python();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* pair = PyList_GET_ITEM(items.get(), i);
      put(PyTuple_GET_ITEM(pair, 0), t.constant(PyTuple_GET_ITEM(pair, 0)),
          t.pinned(PyTuple_GET_ITEM(pair, 1)));
    }
  } else {
    guard_type(t, v);
    Value* behind =
        t.look(t.lazy(proxied_dict(v->obj), t.sources().make(SourceKind::Proxied, v->source, -1, "")));
    for (auto& [key, value] : dict_entries(t, behind)) put(key->obj, key, value);
    behind->dict().shown = true;
  }
  become(v, ValueKind::Dict);
  v->cls = &PyDictProxy_Type;
  v->dict() = std::move(shown);
}

static void materialise_cell(Tracer& t, Value* v) {
  if (!v->items().empty()) return;
  PyObject* contents = PyCell_GET(v->obj);
  v->items() = {contents ? t.lazy(contents, t.sources().make(SourceKind::Cell, v->source, -1, "")) : nullptr};
}

Value* cell_get(Tracer& t, Value* cell) {
  cell = t.look(cell);
  if (!cell->is(ValueKind::Cell)) stop("unsupported_value", "a closure cell of another kind");
  materialise_cell(t, cell);
  if (cell->source) check_cached_read(t, PyCell_GET(cell->obj));
  if (cell->source && !cell->mutated)
    t.guard(GuardKind::Bound, t.sources().make(SourceKind::Cell, cell->source, -1, ""), nullptr,
            cell->items()[0] != nullptr, "", nullptr, cell->items()[0] ? "has a value" : "has no value");
  return cell->items()[0];
}

void cell_set(Tracer& t, Value* cell, Value* value) {
  cell = t.look(cell);
  if (cell->source) {
    // Whether a function of another call shares this cell: only of these very functions is that known.
    t.effects.cells_written = true;
    for (Value* f : std::exchange(t.effects.anew, {})) t.look(f);
  }
  materialise_cell(t, cell);
  touch(t, cell);
  cell->items()[0] = value;
}

}  // namespace vitrine::capture
