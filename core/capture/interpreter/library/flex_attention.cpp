// flex_attention's operator, on which a compiler's way through PyTorch's Python code ends. The program's
// functions of scores and places are read through once, each for one place; then the call is what eager
// computes: the scores, the functions mapped over them, softmax, the product.
#include "core/capture/interpreter/library/flex_attention.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/inference_mode.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/library/vmap.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {
namespace {

constexpr const char* kFlexAttention = "torch.nn.attention.flex_attention";
constexpr size_t kMostIndices = 8;

bool is_place(Tracer& t, Value* v) {
  v = t.look(v);
  if (!v->is(ValueKind::Tensor)) return false;
  const ir::TensorType type = torch_api::type_of(v->obj);
  return type.sizes.empty() && type.dtype == ir::DType::i64;
}

}  // namespace

// In these functions a tensor indexed by places is read there; elsewhere in eager, each place is asked for
// its value. nullptr: other indices.
Value* get_item_at_places(Tracer& t, Value* tensor, Value* key) {
  key = t.look(key);
  const Values places = key->is(ValueKind::Tuple) ? unpack(t, key) : Values{key};
  if (places.empty() || places.size() > kMostIndices) return nullptr;
  for (Value* place : places)
    if (!is_place(t, place)) return nullptr;
  return call(t, t.pinned(find_object("vitrine._polyfills.transforms.item_at")),
              {{tensor, t.tuple(places)}, {}});
}

// operator(query, key, value, score_mod, block_mask, scale, kernel_options)
Value* flex_attention(Tracer& t, const Arguments& a) {
  constexpr size_t kArguments = 7;
  if (a.positional.size() != kArguments || !a.keyword.empty())
    stop("unsupported_builtin", std::string(kFlexAttention) + " with other buffers");
  const Values& p = a.positional;
  for (size_t i = 0; i < 3; ++i) {
    const Value* v = t.look(p[i]);
    if (!v->is(ValueKind::Tensor) || (grad_mode(t) && torch_api::requires_grad(v->obj)))
      stop("unsupported_operator", std::string(kFlexAttention) + " of tensors that require a gradient");
  }
  const Values mask = unpack(t, p[4]);
  if (mask.empty()) stop("unsupported_builtin", std::string(kFlexAttention) + " with another mask");
  Value* sample =
      t.look(call(t, t.pinned(find_object("vitrine._polyfills.transforms.score_and_place")), {{p[0]}, {}}));
  const Values given = unpack(t, sample);
  struct Reading {
    bool &now, before = now;
    ~Reading() { now = before; }
  } reading{t.pure.at_places};
  t.pure.at_places = true;
  const std::string what = std::string("what ") + kFlexAttention + " is given";
  run_once_without_effects(t, p[3], {given, {}}, what);
  run_once_without_effects(t, mask.back(), {{given.begin() + 1, given.end()}, {}}, what);
  return torch_call(
      t, kFlexAttention, find_object("vitrine._polyfills.transforms.run_flex_attention"),
      {{p[0], p[1], p[2], function_in_parts(t, p[3]), function_in_parts(t, mask.back()), p[5]}, {}});
}

}  // namespace vitrine::capture
