// torch.vmap. What it maps is interpreted once, for one sample: that guards all it reads, and shows that it
// changes nothing. Then PyTorch's own vmap runs it as one call of the recording, which sees the operators
// that it comes down to.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/trace_guards.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/containers/dict_entries.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

// One sample of a tensor. Where there is none, it is what a sum over no samples gives: of the same shape,
// dtype and need of gradients.
Value* one_of_tensor(Tracer& t, Value* v, Value* d) {
  if (truth(t, tensor_method(t, v, "size", nullptr, {{d}, {}})))
    return tensor_method(t, v, "select", nullptr, {{d, t.integer(0)}, {}});
  return tensor_method(t, v, "sum", nullptr, {{d}, {{"dtype", load_attr(t, v, "dtype")}}});
}

// v for one sample, where d says which dimension of its tensors goes through the samples.
Value* one_sample(Tracer& t, Value* v, Value* d) {
  v = t.look(v);
  if (is_none(t, d)) return v;
  d = t.look(d);
  const bool nested = d->is(ValueKind::Tuple) || d->is(ValueKind::List);
  if (v->is(ValueKind::Tensor) && d->is(ValueKind::Constant) && PyLong_CheckExact(d->obj))
    return one_of_tensor(t, v, d);
  if (v->is(ValueKind::Dict) && v->cls == &PyDict_Type && d->is(ValueKind::Constant)) {
    Value* sample = new_dict(t);
    for (auto [key, value] : dict_entries(t, v)) dict_set(t, sample, key, one_sample(t, value, d));
    return sample;
  }
  if ((!v->is(ValueKind::Tuple) || v->cls != &PyTuple_Type) &&
      (!v->is(ValueKind::List) || v->cls != &PyList_Type))
    stop("unsupported_builtin", "torch.vmap over a " + describe(t, v));
  guard_length(t, v);
  if (nested && d->items().size() != v->items().size())
    stop("exception", "torch.vmap with dimensions for other arguments");
  Values items;
  for (size_t i = 0; i < v->items().size(); ++i)
    items.push_back(one_sample(t, v->items()[i], nested ? d->items()[i] : d));
  return t.sequence(v->kind(), std::move(items));
}

}  // namespace

// PyTorch, which calls the function itself, would see these objects as they were when the segment began;
// cells are made anew.
void check_pure_read(Tracer& t, const Value* v) {
  if (std::any_of(t.pure.lent.begin(), t.pure.lent.end(),
                  [&](const PureCalls::Lent& lent) { return lent.dict == v; }))
    return;
  if (v->mutated && v->source && !v->is(ValueKind::Cell) && !v->is(ValueKind::Iterator))
    stop("unsupported_builtin",
         "what torch.vmap or torch.func is given reads an object that the program has changed");
}

void check_pure_global(Tracer& t, const std::string& key) {
  for (const GlobalWrite& write : t.effects.global_writes)
    if (write.key == key)
      stop("unsupported_builtin",
           "what torch.vmap or torch.func is given reads a global variable that the program has set");
}

// A function that is read through may change a dict that was there before, if it puts all back in the end, as
// torch.func.functional_call does with a module's parameters. false: v is nothing of the kind.
bool lend(Tracer& t, Value* v) {
  if (!t.pure.lends || !v->is(ValueKind::Dict) || owner_of(v) || !PyType_IsSubtype(v->cls, &PyDict_Type))
    return false;
  if (std::any_of(t.pure.lent.begin(), t.pure.lent.end(),
                  [&](const PureCalls::Lent& lent) { return lent.dict == v; }))
    return true;
  dict_complete(t, v);
  t.pure.lent.push_back({v, v->dict().entries, v->mutated});
  return true;
}

static void take_back(Tracer& t, size_t first) {
  const auto present = [](const std::vector<std::pair<Value*, Value*>>& entries) {
    std::vector<std::pair<PyObject*, Value*>> out;
    for (const auto& [key, value] : entries)
      if (key) out.emplace_back(key->obj, resolve(value));
    return out;
  };
  for (; t.pure.lent.size() > first; t.pure.lent.pop_back()) {
    const PureCalls::Lent& lent = t.pure.lent.back();
    if (present(lent.dict->dict().entries) != present(lent.entries))
      stop("unsupported_value", "a mapped function changes what it did not make");
    if (!lent.mutated) std::erase(t.effects.mutated, lent.dict);
    lent.dict->mutated = lent.mutated;
  }
}

// Its calls stay in the recording, where nothing reads what they give.
Value* run_once_without_effects(Tracer& t, Value* function, const Arguments& sample,
                                const std::string& what) {
  return call_without_effects(t, function, sample, what, false);
}

// may_draw: random numbers of PyTorch's are no effect.
Value* call_without_effects(Tracer& t, Value* function, const Arguments& sample, const std::string& what,
                            bool may_draw) {
  std::unordered_map<PyObject*, int64_t> written;
  for (const auto& [traced, value] : t.values.by_tensor) written[traced] = t.lowering().times_written(traced);
  const int64_t drawn = t.lowering().effects().draws;
  const size_t globals = t.effects.global_writes.size(), draws = t.effects.draws.size();
  const int64_t before = t.pure.since;
  if (t.pure.since < 0) t.pure.since = t.values.count();
  const bool lent_before = std::exchange(t.pure.lends, true);
  const size_t lent = t.pure.lent.size();
  Value* result = nullptr;
  try {
    result = call(t, function, sample);
  } catch (const RaiseSignal&) {
    stop("exception", what + " raises");
  }
  take_back(t, lent);
  t.pure.lends = lent_before;
  t.pure.since = before;
  bool changed = t.effects.global_writes.size() != globals || t.effects.draws.size() != draws ||
                 (!may_draw && t.lowering().effects().draws != drawn);
  for (const auto& [traced, value] : t.values.by_tensor)
    if (written.contains(traced) || real_of(value))  // what it has met first is there since before, too
      changed = changed || t.lowering().times_written(traced) != written[traced];
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
static Value* itself(Tracer& t, Value* v) {
  v = peek(t, v);
  if (!v->is(ValueKind::Object) || !v->obj || !v->source) return t.tuple({t.text("value"), v});
  const bool weak = PyType_SUPPORTS_WEAKREFS(Py_TYPE(v->obj));
  if (!v->pinned) guard_weakly(t, v->source, v->obj, "is " + describe(t, v));
  if (!weak) return t.tuple({t.text("value"), t.constant(v->obj)});
  PyRef reference(PyWeakref_NewRef(v->obj, nullptr));
  if (!reference) t.raise_python();
  return t.tuple({t.text("weak"), t.constant(reference.get())});
}

// A function as vitrine._polyfills.transforms.function_of builds it again: tensors that it closes over are
// told apart from it.
Value* function_in_parts(Tracer& t, Value* f) {
  f = t.look(f);
  if (f->is(ValueKind::Object) && f->cls == torch_names().partial) {
    Value* keywords = load_attr(t, f, "keywords");
    return t.tuple({t.text("partial"), function_in_parts(t, load_attr(t, f, "func")), load_attr(t, f, "args"),
                    keywords});
  }
  if (f->is(ValueKind::Constant) && !PyFunction_Check(f->obj)) return t.tuple({t.text("value"), f});
  if (f->is(ValueKind::Method))
    return t.tuple({t.text("method"), function_in_parts(t, f->items()[0]), itself(t, f->items()[1])});
  if (f->is(ValueKind::Object) && python_method(t, f->cls, "__call__")) return itself(t, f);
  if (!f->is(ValueKind::Function) && !f->is(ValueKind::Constant))
    stop("unsupported_builtin", "torch.vmap or torch.func of a " + describe(t, f));
  const FunctionState state = function_state(t, f);
  Values closure;
  for (Value* cell : state.closure) {
    Value* held = cell_get(t, cell);
    if (!held) stop("unsupported_builtin", "torch.vmap or torch.func of a function with an empty cell");
    held = peek(t, held);
    const bool callable = held->is(ValueKind::Function) || held->is(ValueKind::Method) ||
                          (held->is(ValueKind::Constant) && PyFunction_Check(held->obj)) ||
                          (held->is(ValueKind::Object) && held->cls == torch_names().partial);
    closure.push_back(callable      ? function_in_parts(t, held)
                      : stays(held) ? itself(t, held)
                                    : t.tuple({t.text("value"), held}));
  }
  PyRef bare(PyFunction_New(reinterpret_cast<PyObject*>(state.code), state.globals));
  if (!bare) t.raise_python();
  Value* defaults = state.defaults ? state.defaults : t.none();
  Value* kwdefaults = state.kwdefaults ? state.kwdefaults : t.none();
  return t.tuple(
      {t.text("function"), t.constant(bare.get()), defaults, kwdefaults, t.tuple(std::move(closure))});
}

Value* vmap(Tracer& t, const Arguments& a) {
  constexpr size_t kFirst = 5;  // func, in_dims, out_dims, randomness, chunk_size, and what it is called with
  if (a.positional.size() < kFirst) stop("unsupported_builtin", "a call of torch.vmap of another kind");
  const Values& p = a.positional;
  PyObject* randomness = const_object(t, p[3]);
  if (!randomness || text_of(randomness) != "error" || !is_none(t, p[4]))
    stop("unsupported_builtin", "torch.vmap that draws random numbers, or in chunks");
  Value* arguments = t.tuple(Values(p.begin() + kFirst, p.end()));
  Value* sample = one_sample(t, arguments, p[1]);
  if (t.look(p[1])->is(ValueKind::Constant) && is_none(t, p[1])) stop("exception", "torch.vmap over nothing");
  run_once_without_effects(t, p[0], {t.look(sample)->items(), a.keyword}, "what torch.vmap maps");
  Value* keywords = new_dict(t);
  for (const auto& [key, value] : a.keyword) dict_set(t, keywords, t.text(key), value);
  Arguments all;
  all.positional = {function_in_parts(t, p[0]), p[1], p[2], arguments, keywords};
  return torch_call(t, "torch.vmap", find_object("vitrine._polyfills.transforms.run_vmap"), all);
}

}  // namespace vitrine::capture
