// What a program notices of when an object dies: it may not depend on the trace.
#include <algorithm>
#include <unordered_set>

#include "core/capture/guards/finalizers.h"
#include "core/capture/interpreter/commit/lifetimes.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/interpreter/values.h"

namespace vitrine::capture {
void let_go(Tracer& t, VirtualFrame& f, Value* v) {
  if (!v || &f != &t.frames.root) return;
  v = resolve(v);
  PyObject* o = real_of(v) ? real_of(v) : v->obj;
  if (!o || !v->source || v->is(ValueKind::Constant) || held_elsewhere(t, v->source)) return;
  if (has_finalizer(o))
    stop("unsupported_value", "an object is let go whose end is noticed: " + describe(t, v));
  t.effects.let_go.insert(o);
}

// Who takes them from the stack holds them from now on; when that dies, the trace does not tell.
void check_taken(Tracer& t, const Values& items) {
  for (Value* v : items) {
    v = resolve(v);
    const bool alone = v->source && v->source->kind == SourceKind::Stack && v->obj && !real_of(v);
    if (alone && !v->is(ValueKind::Constant) && has_finalizer(v->obj))
      stop("unsupported_value", "an object whose end is noticed is put into a container: " + describe(t, v));
  }
}

// What it was read from holds it still: nothing on the way there was changed or let go.
bool held_elsewhere(Tracer& t, const Source* source) {
  if (!source->base && source->kind != SourceKind::Global) return false;
  for (const Source* at = source; at; at = at->base) {
    if (at->kind == SourceKind::IterRest || at->kind == SourceKind::WeakTarget) return false;
    for (const Value* changed : t.effects.mutated)
      if (changed->source == at) return false;
    if (at->base || (at->kind != SourceKind::Local && at->kind != SourceKind::Stack)) continue;
    const Values& held = at->kind == SourceKind::Local ? t.frames.initial_locals : t.frames.initial_stack;
    Value* root = resolve(held[static_cast<size_t>(at->index)]);
    if (t.effects.let_go.count(real_of(root) ? real_of(root) : root->obj)) return false;
  }
  return t.effects.global_writes.empty();
}

namespace {

// Whether a container that existed before holds less than it did.
bool lets_go(Tracer& t, Value* v) {
  std::unordered_set<PyObject*> kept;
  const auto keep = [&](Value* item) {
    item = resolve(item);
    kept.insert(real_of(item) ? real_of(item) : item->obj);
  };
  for (Value* item : v->items_if_any())
    if (item) keep(item);
  if (v->is(ValueKind::Dict))
    for (const auto& [key, value] : v->dict().entries)
      if (key) keep(key), keep(value);
  if (v->is(ValueKind::Cell)) return !kept.contains(PyCell_GET(v->obj));
  const auto lacks = [&](PyObject* o) { return !kept.contains(o); };
  if (PyList_Check(v->obj)) {
    PyObject** items = reinterpret_cast<PyListObject*>(v->obj)->ob_item;
    return std::any_of(items, items + PyList_GET_SIZE(v->obj), lacks);
  }
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Check(v->obj) && PyDict_Next(v->obj, &at, &key, &value);)
    if (lacks(value)) return true;
  return !PyDict_Check(v->obj);
}

bool is_container(const Value* v) {
  return v->is(ValueKind::List) || v->is(ValueKind::Set) || v->is(ValueKind::Dict) || v->is(ValueKind::Cell);
}

}  // namespace

// Changes are replayed behind the graph, each object's at once. Code that runs in between, since something
// dies of them, would come too late, and its own changes would be written over.
void note_change(Tracer& t, Value* v) {
  if (v->obj && v->source && is_container(v) && has_finalizer_inside(v->obj))
    t.effects.noticed.emplace(v, t.frames.executed);
}

void check_overwritten(Tracer& t, Value* v, const std::string& name) {
  PyObject* object = real_of(v) ? real_of(v) : v->obj;
  if (!object || !v->source || name == "grad") return;
  PyRef key(PyUnicode_InternFromString(name.c_str()));
  if (has_finalizer_under(object, key.get()))
    stop("unsupported_value", "an object whose end is noticed is replaced: ." + name);
  t.guard(GuardKind::NoFinalizer, v->source, nullptr, 0, name, nullptr, "." + name + " ends unnoticed");
}

void check_replaced(Tracer& t, PyObject* before, const Source* source, const std::string& name) {
  if (has_finalizer(before))
    stop("unsupported_value", "an object whose end is noticed is replaced: global " + name);
  t.guard(GuardKind::NoFinalizer, source, nullptr, 1, "", nullptr, name + " ends unnoticed");
}

void check_let_go(Tracer& t, Value* v) {
  // A symbolic list has only grown.
  if (!v->obj || !v->source || v->source->kind == SourceKind::Constant || !is_container(v) || is_open(v) ||
      !lets_go(t, v))
    return;
  if (const auto found = t.effects.noticed.find(v); found != t.effects.noticed.end()) {
    t.frames.ends_by = found->second;
    stop("unsupported_value", "an object whose end is noticed leaves a container: " + describe(t, v));
  }
  t.guard(GuardKind::NoFinalizer, v->source, nullptr, 0, "", nullptr, "nothing in it notices its end");
}

// What only the stack held when the segment began may be taken from there by a local.
void check_alone(Tracer& t) {
  for (Value* v : t.effects.alone) {
    const auto is = [&](Value* held) { return held && resolve(held) == resolve(v); };
    if (std::none_of(t.frames.root.stack.begin(), t.frames.root.stack.end(), is) &&
        std::none_of(t.frames.root.locals.begin(), t.frames.root.locals.end(), is))
      stop("unsupported_value", "an object whose end is noticed is taken from the stack: " + describe(t, v));
  }
}

Value* weak_target(Tracer& t, Value* reference) {
  PyObject* target = PyWeakref_GET_OBJECT(reference->obj);
  if (t.effects.let_go.count(target))
    stop("unsupported_value", "a weak reference to an object that was let go");
  const Source* base = reference->source ? reference->source : constant_source(t, reference->obj);
  return t.lazy(target, t.sources().make(SourceKind::WeakTarget, base, -1, ""));
}

}  // namespace vitrine::capture
