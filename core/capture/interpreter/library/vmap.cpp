// torch.vmap. What it maps is interpreted once, for one sample: that guards all it reads, and shows that it
// changes nothing. Then PyTorch's own vmap runs it as one call of the recording, which sees the operators
// that it comes down to.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// One sample of a tensor. Where there is none, it is what a sum over no samples gives: of the same shape,
// dtype and need of gradients.
Value* one_of_tensor(Tracer& t, Value* v, Value* d) {
  if (t.truth(t.tensor_method(v, "size", nullptr, {{d}, {}})))
    return t.tensor_method(v, "select", nullptr, {{d, t.integer(0)}, {}});
  return t.tensor_method(v, "sum", nullptr, {{d}, {{"dtype", t.load_attr(v, "dtype")}}});
}

// v for one sample, where d says which dimension of its tensors goes through the samples.
Value* one_sample(Tracer& t, Value* v, Value* d) {
  v = t.look(v);
  if (t.is_none(d)) return v;
  d = t.look(d);
  const bool nested = d->kind == Kind::Tuple || d->kind == Kind::List;
  if (v->kind == Kind::Tensor && d->kind == Kind::Constant && PyLong_CheckExact(d->obj))
    return one_of_tensor(t, v, d);
  if (v->kind == Kind::Dict && v->cls == &PyDict_Type && d->kind == Kind::Constant) {
    Value* sample = t.new_dict();
    for (auto [key, value] : t.dict_entries(v)) t.dict_set(sample, key, one_sample(t, value, d));
    return sample;
  }
  if ((v->kind != Kind::Tuple || v->cls != &PyTuple_Type) &&
      (v->kind != Kind::List || v->cls != &PyList_Type))
    stop("unsupported_builtin", "torch.vmap over a " + t.describe(v));
  t.guard_length(v);
  if (nested && d->items.size() != v->items.size())
    stop("exception", "torch.vmap with dimensions for other arguments");
  Values items;
  for (size_t i = 0; i < v->items.size(); ++i)
    items.push_back(one_sample(t, v->items[i], nested ? d->items[i] : d));
  return t.sequence(v->kind, std::move(items));
}

}  // namespace

// PyTorch, which calls the function itself, would see these objects as they were when the segment began;
// cells are made anew.
void Tracer::check_pure_read(const Value* v) {
  if (std::any_of(lent_.begin(), lent_.end(), [&](const Lent& lent) { return lent.dict == v; })) return;
  if (v->mutated && v->source && v->kind != Kind::Cell && v->kind != Kind::Iterator)
    stop("unsupported_builtin",
         "what torch.vmap or torch.func is given reads an object that the program has changed");
}

void Tracer::check_pure_global(const std::string& key) {
  for (const GlobalWrite& write : global_writes_)
    if (write.key == key)
      stop("unsupported_builtin",
           "what torch.vmap or torch.func is given reads a global variable that the program has set");
}

// A function that is read through may change a dict that was there before, if it puts all back in the end, as
// torch.func.functional_call does with a module's parameters. false: v is nothing of the kind.
bool Tracer::lend(Value* v) {
  if (!lends_ || v->kind != Kind::Dict || v->owner || !PyType_IsSubtype(v->cls, &PyDict_Type)) return false;
  if (std::any_of(lent_.begin(), lent_.end(), [&](const Lent& lent) { return lent.dict == v; })) return true;
  dict_complete(v);
  lent_.push_back({v, v->dict->entries, v->mutated});
  return true;
}

void Tracer::take_back(size_t first) {
  const auto present = [this](const std::vector<std::pair<Value*, Value*>>& entries) {
    std::vector<std::pair<PyObject*, Value*>> out;
    for (const auto& [key, value] : entries)
      if (key) out.emplace_back(key->obj, resolve(value));
    return out;
  };
  for (; lent_.size() > first; lent_.pop_back()) {
    const Lent& lent = lent_.back();
    if (present(lent.dict->dict->entries) != present(lent.entries))
      stop("unsupported_value", "a mapped function changes what it did not make");
    if (!lent.mutated) std::erase(mutated_, lent.dict);
    lent.dict->mutated = lent.mutated;
  }
}

// Its calls stay in the recording, where nothing reads what they give.
Value* Tracer::run_once_without_effects(Value* function, const Arguments& sample, const std::string& what) {
  return call_without_effects(function, sample, what, false);
}

// may_draw: random numbers of PyTorch's are no effect.
Value* Tracer::call_without_effects(Value* function, const Arguments& sample, const std::string& what,
                                    bool may_draw) {
  std::unordered_map<PyObject*, int64_t> written;
  for (const auto& [traced, value] : by_tensor_) written[traced] = lowering_->times_written(traced);
  const int64_t drawn = lowering_->effects().draws;
  const size_t globals = global_writes_.size(), draws = draws_.size();
  const int64_t before = pure_since_;
  if (pure_since_ < 0) pure_since_ = static_cast<int64_t>(values_.size());
  const bool lent_before = std::exchange(lends_, true);
  const size_t lent = lent_.size();
  Value* result = nullptr;
  try {
    result = call(function, sample);
  } catch (const RaiseSignal&) {
    stop("exception", what + " raises");
  }
  take_back(lent);
  lends_ = lent_before;
  pure_since_ = before;
  bool changed = global_writes_.size() != globals || draws_.size() != draws ||
                 (!may_draw && lowering_->effects().draws != drawn);
  for (const auto& [traced, value] : by_tensor_)
    if (written.contains(traced) || value->real)  // what it has met first is there since before, too
      changed = changed || lowering_->times_written(traced) != written[traced];
  if (changed) stop("unsupported_builtin", what + " writes to a tensor, or draws random numbers");
  return result;
}

namespace {

// Likely the same object in the next call: a module, or what does not come with the call.
bool stays(const Value* v) {
  const Source* root = v->source;
  if (!root) return false;
  while (root->base) root = root->base;
  return (v->cls && torch_names().is_module(v->cls)) ||
         (root->kind != SourceKind::Local && root->kind != SourceKind::Stack);
}

}  // namespace

// An object from before the segment, which PyTorch is given as it is, though a graph does not keep it alive;
// anything else stays what it is. A part, see function_in_parts().
Value* Tracer::itself(Value* v) {
  v = peek(v);
  if (v->kind != Kind::Object || !v->obj || !v->source) return tuple({text("value"), v});
  const bool weak = PyType_SUPPORTS_WEAKREFS(Py_TYPE(v->obj));
  if (!v->pinned) guard_weakly(v->source, v->obj, "is " + describe(v));
  if (!weak) return tuple({text("value"), constant(v->obj)});
  Owned reference(PyWeakref_NewRef(v->obj, nullptr));
  if (!reference) raise_python();
  return tuple({text("weak"), constant(reference.get())});
}

// A function as vitrine._polyfills.transforms.function_of builds it again: tensors that it closes over are
// told apart from it.
Value* Tracer::function_in_parts(Value* f) {
  f = look(f);
  if (f->kind == Kind::Object && f->cls == torch_names().partial) {
    Value* keywords = load_attr(f, "keywords");
    return tuple({text("partial"), function_in_parts(load_attr(f, "func")), load_attr(f, "args"), keywords});
  }
  if (f->kind == Kind::Constant && !PyFunction_Check(f->obj)) return tuple({text("value"), f});
  if (f->kind == Kind::Method)
    return tuple({text("method"), function_in_parts(f->items[0]), itself(f->items[1])});
  if (f->kind == Kind::Object && python_method(f->cls, "__call__")) return itself(f);
  if (f->kind != Kind::Function && f->kind != Kind::Constant)
    stop("unsupported_builtin", "torch.vmap or torch.func of a " + describe(f));
  const FunctionState state = function_state(f);
  Values closure;
  for (Value* cell : state.closure) {
    Value* held = cell_get(cell);
    if (!held) stop("unsupported_builtin", "torch.vmap or torch.func of a function with an empty cell");
    held = peek(held);
    const bool callable = held->kind == Kind::Function || held->kind == Kind::Method ||
                          (held->kind == Kind::Constant && PyFunction_Check(held->obj)) ||
                          (held->kind == Kind::Object && held->cls == torch_names().partial);
    closure.push_back(callable      ? function_in_parts(held)
                      : stays(held) ? itself(held)
                                    : tuple({text("value"), held}));
  }
  Owned bare(PyFunction_New(reinterpret_cast<PyObject*>(state.code), state.globals));
  if (!bare) raise_python();
  Value* defaults = state.defaults ? state.defaults : none();
  Value* kwdefaults = state.kwdefaults ? state.kwdefaults : none();
  return tuple({text("function"), constant(bare.get()), defaults, kwdefaults, tuple(std::move(closure))});
}

Value* Tracer::vmap(const Arguments& a) {
  constexpr size_t kFirst = 5;  // func, in_dims, out_dims, randomness, chunk_size, and what it is called with
  if (a.positional.size() < kFirst) stop("unsupported_builtin", "a call of torch.vmap of another kind");
  const Values& p = a.positional;
  PyObject* randomness = const_object(p[3]);
  if (!randomness || text_of(randomness) != "error" || !is_none(p[4]))
    stop("unsupported_builtin", "torch.vmap that draws random numbers, or in chunks");
  Value* arguments = tuple(Values(p.begin() + kFirst, p.end()));
  Value* sample = one_sample(*this, arguments, p[1]);
  if (look(p[1])->kind == Kind::Constant && is_none(p[1])) stop("exception", "torch.vmap over nothing");
  run_once_without_effects(p[0], {look(sample)->items, a.keyword}, "what torch.vmap maps");
  Value* keywords = new_dict();
  for (const auto& [key, value] : a.keyword) dict_set(keywords, text(key), value);
  Arguments all;
  all.positional = {function_in_parts(p[0]), p[1], p[2], arguments, keywords};
  return torch_call("torch.vmap", find_object("vitrine._polyfills.transforms.run_vmap"), all);
}

}  // namespace vitrine::capture
