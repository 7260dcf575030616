// What a program notices of when an object dies, and of what a cache kept: neither may depend on the trace.
#include <algorithm>

#include "core/capture/trace/tracer.h"

namespace vitrine::capture {
namespace {

// Something runs when this object dies.
bool has_last_words(PyObject* o) {
  static PyObject* name = PyUnicode_InternFromString("__del__");
  PyTypeObject* type = Py_TYPE(o);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, name)) return true;
  if (!PyType_SUPPORTS_WEAKREFS(type) || PyType_Check(o)) return false;
  auto* reference = reinterpret_cast<PyWeakReference*>(*PyObject_GET_WEAKREFS_LISTPTR(o));
  for (; reference; reference = reference->wr_next)
    if (reference->wr_callback) return true;
  return false;
}

// Told apart by identity, and what it does is guarded where it is called.
bool is_code(PyObject* o) {
  return PyModule_Check(o) || PyType_Check(o) || PyCallable_Check(o);
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

// The cache only saves time when the function depends on nothing but its arguments, changes nothing and gives
// a constant; anything else shows what the cache has kept.
Value* Tracer::call_cached(Value* function, Arguments a) {
  for (Value* v : a.positional) Owned(constant_tree(look(v)));
  for (auto& [key, v] : a.keyword) Owned(constant_tree(look(v)));
  PyErr_Clear();
  struct Since {
    int64_t& at;
    int64_t before;
    ~Since() { at = before; }
  } since{cached_since_, cached_since_};
  if (cached_since_ < 0) cached_since_ = static_cast<int64_t>(values_.size());
  Value* result = look(call(load_attr(function, "__wrapped__"), std::move(a)));
  if (result->kind != Kind::Constant) stop("unsupported_value", "a cached function that returns an object");
  return result;
}

void Tracer::check_cached_read(PyObject* o) {
  if (cached_since_ >= 0 && o && !is_code(o))
    stop("unsupported_value", "a cached function that reads what may change");
}

void Tracer::check_cached_write(Value* v) {
  if (cached_since_ < 0) return;
  const auto mine = std::find_if(values_.begin() + cached_since_, values_.end(),
                                 [&](const std::unique_ptr<Value>& each) { return each.get() == v; });
  if (!v || v->source || mine == values_.end())
    stop("unsupported_value", "a cached function that changes what it did not make");
}

}  // namespace vitrine::capture
