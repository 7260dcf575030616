// What a program notices of when an object dies: it may not depend on the trace.
#include <algorithm>

#include "core/capture/trace/tracer.h"

namespace vitrine::capture {
namespace {

// Once torch.compile was used in the process, it notes every module that is made in weak dicts of its own,
// which nothing else reads.
bool is_note_of_dynamo(PyObject* callback) {
  if (!PyFunction_Check(callback)) return false;
  PyObject* module = reinterpret_cast<PyFunctionObject*>(callback)->func_module;
  return module && PyUnicode_Check(module) && text_of(module).starts_with("torch._dynamo.");
}

// A generator that has begun and not ended is closed: its `finally` runs.
bool waits(PyObject* generator) {
  Owned suspended(PyObject_GetAttrString(generator, "gi_suspended"));
  PyErr_Clear();
  return suspended.get() == Py_True;
}

bool has_last_words(PyObject* o, int depth = 0);

// What a container holds may die with it.
bool holds_last_words(PyObject* container, int depth) {
  constexpr int kDeep = 3;
  constexpr Py_ssize_t kLooked = 100;
  if (depth >= kDeep) return false;
  Owned items(PySequence_List(container));
  PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < std::min(PyList_GET_SIZE(items.get()), kLooked); ++i)
    if (has_last_words(PyList_GET_ITEM(items.get(), i), depth + 1)) return true;
  return false;
}

// Something runs when this object dies.
bool has_last_words(PyObject* o, int depth) {
  if (PyGen_CheckExact(o)) return waits(o);
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) return holds_last_words(o, depth);
  static PyObject* name = PyUnicode_InternFromString("__del__");
  PyTypeObject* type = Py_TYPE(o);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, name)) return true;
  if (!PyType_SUPPORTS_WEAKREFS(type) || PyType_Check(o)) return false;
  auto* reference = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(o));
  for (; reference; reference = reference->wr_next)
    if (reference->wr_callback && !is_note_of_dynamo(reference->wr_callback)) return true;
  return false;
}

}  // namespace

void Tracer::let_go(VirtualFrame& f, Value* v) {
  if (!v || &f != &root_) return;
  v = resolve(v);
  PyObject* o = v->real ? v->real : v->obj;
  if (!o || !v->source || v->kind == Kind::Constant || held_elsewhere(v->source)) return;
  if (has_last_words(o))
    stop("unsupported_value", "an object is let go whose end is noticed: " + describe(v));
  let_go_.insert(o);
}

// Who takes them from the stack holds them from now on; when that dies, the trace does not tell.
void Tracer::check_taken(const Values& items) {
  for (Value* v : items) {
    v = resolve(v);
    const bool alone = v->source && v->source->kind == SourceKind::Stack && v->obj && !v->real;
    if (alone && v->kind != Kind::Constant && has_last_words(v->obj))
      stop("unsupported_value", "an object whose end is noticed is put into a container: " + describe(v));
  }
}

// What it was read from holds it still: nothing on the way there was changed or let go.
bool Tracer::held_elsewhere(const Source* source) {
  if (!source->base && source->kind != SourceKind::Global) return false;
  for (const Source* at = source; at; at = at->base) {
    if (at->kind == SourceKind::IterRest || at->kind == SourceKind::WeakTarget) return false;
    for (const Value* changed : mutated_)
      if (changed->source == at) return false;
    if (at->base || (at->kind != SourceKind::Local && at->kind != SourceKind::Stack)) continue;
    const Values& held = at->kind == SourceKind::Local ? initial_locals_ : initial_stack_;
    Value* root = resolve(held[static_cast<size_t>(at->index)]);
    if (let_go_.count(root->real ? root->real : root->obj)) return false;
  }
  return global_writes_.empty();
}

Value* Tracer::weak_target(Value* reference) {
  PyObject* target = PyWeakref_GetObject(reference->obj);
  if (let_go_.count(target)) stop("unsupported_value", "a weak reference to an object that was let go");
  const Source* base = reference->source ? reference->source : constant_source(reference->obj);
  return lazy(target, sources_->make(SourceKind::WeakTarget, base, -1, ""));
}

}  // namespace vitrine::capture
