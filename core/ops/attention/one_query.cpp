#include "core/ops/attention/one_query.h"

#include <algorithm>

#include "core/ops/attention/arguments.h"

namespace vitrine::ops {

namespace {

using ir::Arg;
using ir::DType;
using ir::Ref;
using ir::TensorType;

constexpr int64_t kRunBytes = 16, kMostLanes = 32, kMostHeads = 8;

bool is_float_of_gpu(const TensorType& t) {
  return t.device.is_cuda() && (t.dtype == DType::f16 || t.dtype == DType::bf16 || t.dtype == DType::f32);
}

// scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *,
//                              scale=None, enable_gqa=False). The node's arguments by name; None: left out.
Arg argument(const ir::Node& node, size_t position, std::string_view name) {
  if (position < node.args.size()) return node.args[position];
  for (const auto& [key, arg] : node.kwargs)
    if (key == name) return arg;
  return Arg(ir::None{});
}
constexpr size_t kByName = 1 << 10;  // of a keyword-only argument

bool is_off(const Arg& a) {
  return a.is_none() || a == Arg(false) || a == Arg(0.0) || a == Arg(int64_t{0});
}

// Whether every step between elements that are read together is a whole number of runs.
bool in_runs(const TensorType& t, int64_t run) {
  if (!t.strides.back().same(1) || !ir::divides(run, t.offset)) return false;
  for (size_t d = 0; d + 1 < t.strides.size(); ++d)
    if (!t.sizes[d].same(1) && !ir::divides(run, t.strides[d])) return false;
  return true;
}

}  // namespace

std::optional<OneQuery> one_query(const ir::Node& node, const TypeOf& type_of) {
  if (node.op != "aten.scaled_dot_product_attention.default" || node.outputs.size() != 1) return {};
  for (size_t i = 0; i < 3; ++i)
    if (i >= node.args.size() || !node.args[i].is<Ref>() || type_of(node.args[i].as<Ref>()).sizes.size() != 4)
      return {};
  OneQuery a{node.args[0].as<Ref>(), node.args[1].as<Ref>(), node.args[2].as<Ref>(), {}, 1, 0, 0, 0, 0, 0};
  const TensorType &q = type_of(a.query), &k = type_of(a.key), &v = type_of(a.value), &out = node.type();
  const bool typed = is_float_of_gpu(q) && k.dtype == q.dtype && v.dtype == q.dtype && out.dtype == q.dtype;
  if (!typed || !q.sizes[2].same(1) || out.numel() == 0) return {};
  a.batch = q.sizes[0], a.heads = q.sizes[1], a.groups = k.sizes[1], a.places = k.sizes[2],
  a.width = q.sizes[3];
  const bool fits = k.sizes[0].same(a.batch) && v.sizes[0].same(a.batch) && v.sizes[1].same(a.groups) &&
                    v.sizes[2].same(a.places) && k.sizes[3].same(a.width) && heads_fit(a.groups, a.heads) &&
                    !a.places.same(0);
  if (!fits) return {};
  const Arg mask = argument(node, 3, "attn_mask"), scale = argument(node, kByName, "scale");
  if (!is_off(argument(node, 4, "dropout_p")) || !is_off(argument(node, 5, "is_causal"))) return {};
  if (mask.is<Ref>()) {
    const TensorType& m = type_of(mask.as<Ref>());
    if ((m.dtype != DType::b1 && m.dtype != q.dtype) || m.sizes.size() > 4) return {};
    a.mask = mask.as<Ref>();
  } else if (!mask.is_none()) {
    return {};
  }
  const auto factor = scale_of_scores(scale, a.width);
  if (!factor) return {};
  a.scale = *factor;
  return a;
}

bool has_kernel(const OneQuery& a, const TypeOf& type_of) {
  const TensorType &q = type_of(a.query), &k = type_of(a.key), &v = type_of(a.value);
  if (a.batch.symbolic() || a.heads.symbolic() || a.groups.symbolic() || a.width.symbolic()) return false;
  const int64_t run = kRunBytes / ir::dtype_bytes(q.dtype), width = a.width.hint();
  return v.sizes[3].same(a.width) && width % run == 0 && width / run <= kMostLanes &&
         a.heads.hint() / a.groups.hint() <= kMostHeads && in_runs(q, run) && in_runs(k, run) &&
         in_runs(v, run);
}

}  // namespace vitrine::ops
