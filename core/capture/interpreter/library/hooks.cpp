// Hooks on gradients of tensors that the program computes. A hook is read through once, which guards what it
// reads and shows that it changes nothing; then PyTorch registers it on the fake tensor, and its backward
// pass over the fake tensors runs it where eager's would. One that changes anything is registered for real.
#include <algorithm>

#include "core/capture/interpreter/library/hooks.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/tracer.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

// tensor.register_hook(hook). What it gives may be dropped, and nothing else.
Value* register_hook(Tracer& t, Value* tensor, const Arguments& a) {
  if (a.positional.size() != 1 || !a.keyword.empty() || real_of(tensor) || !grad_mode(t) ||
      !torch_api::requires_grad(tensor->obj) || t.lowering().is_made_leaf(tensor->obj))
    stop("unsupported_operator", "Tensor.register_hook: hooks are registered for real");
  Value* hook = a.positional[0];
  Value* gradient = torch_call(t, "torch.zeros_like", find_object("torch.zeros_like"),
                               {{tensor}, {{"requires_grad", t.boolean(false)}}});
  Value* given = t.look(run_once_without_effects(t, hook, {{gradient}, {}}, "a hook on a tensor"));
  if (!given->is(ValueKind::Tensor) && !is_none(t, given))
    stop("exception", "a hook on a tensor gives a " + describe(t, given));
  torch_call(t, "Tensor.register_hook", find_object("vitrine._polyfills.library.register_hook"),
             {{tensor, function_in_parts(t, hook)}, {}});
  Value* handle = t.make(ValueKind::Object);
  handle->cls = torch_names().removable_handle;
  return handle;
}

}  // namespace vitrine::capture
