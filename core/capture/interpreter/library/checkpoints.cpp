// torch.utils.checkpoint. The function is interpreted as any other is; its calls are marked, so that the
// joint graph's partition keeps nothing of them. Eager runs the function once more in the backward pass: one
// that changes anything is a break, for that would be done twice.
#include <algorithm>
#include <unordered_set>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

static Value* call_checkpointed(Tracer& t, Value* function, const Arguments& arguments, bool reentrant,
                                bool keeps_random);

namespace {

constexpr const char* kCheckpoint = "torch.utils.checkpoint";

bool wants_gradient(Tracer& t, Value* v) {
  v = t.look(v);
  return v->is(ValueKind::Tensor) && torch_api::requires_grad(v->obj);
}

// checkpoint(function, *args, use_reentrant, preserve_rng_state, ..., **kwargs) of whatever else than what is
// known here is a function like any other.
struct Asked {
  Value* function = nullptr;
  Arguments arguments;
  bool reentrant = false, keeps_random = true;
};

bool read(Tracer& t, const Arguments& a, Asked& asked) {
  const auto flag = [&](Value* v, bool& to) {
    PyObject* o = const_object(t, v);
    to = o == Py_True;
    return o && PyBool_Check(o);
  };
  if (a.positional.empty()) return false;
  asked.function = a.positional.front();
  asked.arguments.positional.assign(a.positional.begin() + 1, a.positional.end());
  bool said = false;
  for (const auto& [key, value] : a.keyword) {
    if (key == "context_fn" || key == "debug") return false;
    if (key == "determinism_check" || key == "early_stop") continue;  // of what is computed again
    bool ok = true;
    if (key == "use_reentrant")
      ok = said = flag(value, asked.reentrant);
    else if (key == "preserve_rng_state")
      ok = flag(value, asked.keeps_random);
    else
      asked.arguments.keyword.emplace_back(key, value);
    if (!ok) return false;
  }
  if (!asked.reentrant) return said;
  // Eager refuses keywords, and warns where no argument has a gradient.
  const Values& given = asked.arguments.positional;
  return asked.arguments.keyword.empty() &&
         std::any_of(given.begin(), given.end(), [&](Value* v) { return wants_gradient(t, v); });
}

}  // namespace

// nullptr: a function like any other.
Value* checkpoint_function(Tracer& t, PyObject*, const Arguments& a) {
  Asked asked;
  if (!read(t, a, asked)) return nullptr;
  if (!grad_mode(t)) return call(t, asked.function, std::move(asked.arguments));
  return call_checkpointed(t, asked.function, asked.arguments, asked.reentrant, asked.keeps_random);
}

// One inside of another is a part of that.
Value* call_checkpointed(Tracer& t, Value* function, const Arguments& a, bool reentrant, bool keeps_random) {
  if (const std::string& why = t.options.checkpoints_for_real; !why.empty())
    stop("unsupported_builtin",
         std::string(kCheckpoint) + " is called for real: in one graph " + why.substr(0, why.find(" Hint: ")),
         "Write to nothing that it gives, but to a copy: then all of it is one graph.");
  struct Inside {
    ir::Checkpoint &now, before = now;
    ~Inside() { now = before; }
  } inside{t.graph.checkpoint};
  if (t.graph.checkpoint.number < 0) t.graph.checkpoint = {t.graph.checkpoints++, reentrant};
  if (reentrant && inside.before.number >= 0 && !inside.before.reentrant)
    stop("unsupported_builtin", std::string(kCheckpoint) + " with use_reentrant=True inside of one without");
  std::unordered_set<const void*> memory;
  if (reentrant)
    for (const auto& [traced, value] : t.values.by_tensor)
      memory.insert(torch_api::storage_id(torch_api::handle_of(traced)));
  Value* result = t.look(
      call_without_effects(t, function, a, std::string("what ") + kCheckpoint + " is given", keeps_random));
  if (!reentrant) return result;
  // Results of an autograd.Function: all that is floating requires a gradient, what was there gets a new
  // name.
  Values results{result};
  if (result->is(ValueKind::Tuple)) results = unpack(t, result);
  for (Value* v : results) {
    v = t.look(v);
    if (!v->is(ValueKind::Tensor) || memory.contains(torch_api::storage_id(torch_api::handle_of(v->obj))) ||
        (ir::is_float(torch_api::type_of(v->obj).dtype) && !torch_api::requires_grad(v->obj)))
      stop("unsupported_builtin",
           std::string(kCheckpoint) + " with use_reentrant=True gives what is no new tensor with a gradient");
  }
  return result;
}

}  // namespace vitrine::capture
