// nn.TransformerEncoder of padded sequences, whose forward asks what a mask holds: read as
// vitrine._polyfills.padded_sequences writes it.
#include <algorithm>

#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/builtins.h"
#include "core/capture/interpreter/library/known_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/types/attributes.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/python_names.h"

namespace vitrine::capture {
namespace {

using torch_api::kept;
using torch_api::Name;

// Layers of PyTorch's own, which are given a mask beside what is told of it. On a GPU the kernels drop out
// other elements by the one than by the other.
bool go_by_the_mask(Tracer& t, Value* stack, Value* mask) {
  Value* layers = attribute_if_any(t, stack, "layers");
  if (!layers || !python_method(t, type_of(t, layers), "__iter__")) return false;
  const bool on_cpu = torch_api::type_of(mask->obj).device.is_cpu();
  const Values all = unpack(t, layers);
  return std::all_of(all.begin(), all.end(), [&](Value* layer) {
    auto* type = reinterpret_cast<PyObject*>(type_of(t, layer));
    return (type == find_object("torch.nn.TransformerEncoderLayer") ||
            type == find_object("torch.nn.TransformerDecoderLayer")) &&
           (on_cpu || !truth(t, load_attr(t, layer, "training")));
  });
}

}  // namespace

Value* encoder_forward(Tracer& t, PyObject*, const Arguments& a) {
  Value* encoder = a.positional.empty() ? nullptr : t.look(a.positional[0]);
  PyObject* way = kept(Name::encoder_way);  // nullptr: the engine is used without its module
  if (!way || !encoder || !encoder->obj || !torch_names().is_module(type_of(t, encoder))) return nullptr;
  Value* chosen = call(t, t.pinned(way), a);
  const auto is = [&](Name name) { return const_object(t, chosen) == kept(name); };
  if (is(Name::encoder_everything)) return call(t, t.pinned(kept(Name::encoder_runs_everything)), a);
  if (!is(Name::encoder_nested_perhaps)) return nullptr;
  const PyRef said(PyObject_CallNoArgs(kept(Name::encoder_warns)));
  if (!said) t.raise_python();
  return call(t, t.pinned(kept(Name::encoder_runs_perhaps_nested)), a);
}

// _detect_is_causal_mask(mask, is_causal, size). Where nothing but the mask's data say it, the answer is no:
// what is computed by the mask is the same.
Value* detected_as_causal(Tracer& t, PyObject*, const Arguments& a) {
  Value* mask = t.look(need(t, a, 0, "mask", t.none()));
  Value* size = need(t, a, 2, "size", t.none());
  const VirtualFrame& f = t.frame();
  PyObject* causal_mask = find_object("torch.nn.modules.transformer._generate_square_subsequent_mask");
  if (!causal_mask || !mask->is(ValueKind::Tensor) || torch_api::requires_grad(mask->obj) ||
      !is_none(t, need(t, a, 1, "is_causal", t.none())) || is_none(t, size) || f.locals.empty() ||
      !f.locals[0] || !go_by_the_mask(t, f.locals[0], mask))
    return nullptr;
  Arguments like{{size}, {}};
  for (const char* name : {"device", "dtype"}) like.keyword.emplace_back(name, load_attr(t, mask, name));
  Value* causal = t.look(call(t, t.pinned(causal_mask), like));
  if (!truth(t, compare(t, Py_EQ, load_attr(t, mask, "shape"), load_attr(t, causal, "shape"))))
    return t.boolean(false);
  Value* all = t.look(tensor_method(t, t.look(compare(t, Py_EQ, mask, causal)), "all", nullptr, {}));
  Value* known = known_number(t, all, "__bool__");
  return known ? known : t.boolean(false);
}

}  // namespace vitrine::capture
