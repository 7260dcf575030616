// torch.autograd.Function. Where nothing is differentiated, apply() is its forward. Else forward and backward
// are interpreted once, which guards all they read and shows that they change nothing; then PyTorch itself
// applies the Function, as one call of the recording, and knows its backward as the program's own.
#include <algorithm>

#include "core/base/once.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/own_backward.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// nullptr: another builtin.
Value* apply_function(Tracer& t, PyObject* builtin, const Arguments& a) {
  PyObject* cls = PyCFunction_GET_SELF(builtin);
  static constinit Once<PyObject*> kept_function;
  PyObject* const function = kept_function.get([] { return find_object("torch.autograd.Function"); });
  if (!cls || !PyType_Check(cls) || !a.keyword.empty() ||
      std::string(reinterpret_cast<PyCFunctionObject*>(builtin)->m_ml->ml_name) != "apply" ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), reinterpret_cast<PyTypeObject*>(function)))
    return nullptr;
  Arguments all = a;
  all.positional.insert(all.positional.begin(), t.pinned(cls));
  const bool differentiated = std::any_of(a.positional.begin(), a.positional.end(), [&](Value* v) {
    v = t.look(v);
    return v->is(ValueKind::Tensor) && torch_api::requires_grad(v->obj);
  });
  if (!grad_mode(t) || !differentiated)
    return call(t, t.pinned(find_object("vitrine._polyfills.autograd_functions.apply_forward")),
                std::move(all));
  for (Value* v : a.positional)
    if (!has_tensor(t, v)) settle(t, v);
  // PyTorch reads real cells.
  if (std::any_of(t.effects.mutated.begin(), t.effects.mutated.end(),
                  [](const Value* v) { return v->is(ValueKind::Cell); }))
    stop("unsupported_builtin", "an autograd.Function is applied where the program has changed a closure");
  run_once_without_effects(t, t.pinned(find_object("vitrine._polyfills.autograd_functions.rehearse")), all,
                           "an autograd.Function");
  return torch_call(t, "torch.autograd.Function.apply",
                    find_object("vitrine._polyfills.autograd_functions.apply_for_real"), all);
}

}  // namespace vitrine::capture
