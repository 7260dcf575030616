#include "core/ops/attention/whole_rows.h"

#include <cmath>

#include "core/ops/attention/arguments.h"

namespace vitrine::ops {

namespace {

using ir::TensorType;

// As core/ops/matmul.cpp has them.
enum : size_t { kQuery, kKey, kValue, kDropout, kCausal, kMask, kScale };

bool has_rows(const TensorType& t) {
  return t.dtype == ir::DType::f32 && t.sizes.size() == 4 && t.strides[3].same(1);
}

bool is_mask(const TensorType& t) {
  return t.dtype == ir::DType::f32 && (t.sizes.size() == 2 || t.sizes.size() == 4) &&
         (t.sizes.back().same(1) || t.strides.back().same(1));
}

}  // namespace

std::optional<WholeRows> whole_rows(const ir::Node& node, const TypeOf& type_of, int64_t most_width) {
  const OpRow* row = find(node.op);
  if (node.op != "aten._scaled_dot_product_flash_attention_for_cpu.default" || !row) return std::nullopt;
  const auto bound = bind(*row, node);
  if (!bound.ok()) return std::nullopt;
  const std::vector<ir::Arg>& args = bound.value();
  if (args[kDropout] != ir::Arg(0.0) || !args[kCausal].is<bool>()) return std::nullopt;
  for (size_t i : {kQuery, kKey, kValue})
    if (!args[i].is<ir::Ref>() || !has_rows(type_of(args[i].as<ir::Ref>()))) return std::nullopt;
  const TensorType &q = type_of(args[kQuery].as<ir::Ref>()), &k = type_of(args[kKey].as<ir::Ref>()),
                   &v = type_of(args[kValue].as<ir::Ref>());
  if (!k.sizes[1].same(v.sizes[1]) || !heads_fit(k.sizes[1], q.sizes[1])) return std::nullopt;
  const ir::Sym& width = q.sizes[3];
  if (!v.sizes[3].same(width) || width.symbolic() || width.hint() > most_width || !has_rows(node.type()))
    return std::nullopt;
  const auto scale = scale_of_scores(args[kScale], width);
  if (!scale || !std::isfinite(*scale)) return std::nullopt;
  WholeRows out{args[kQuery], args[kKey], args[kValue], {}, *scale, args[kCausal].as<bool>()};
  if (args[kMask].is<ir::Ref>()) {
    if (!is_mask(type_of(args[kMask].as<ir::Ref>()))) return std::nullopt;
    out.mask = args[kMask];
  }
  return out;
}

}  // namespace vitrine::ops
