#include "core/ops/attention/whole_rows.h"

#include <cmath>

namespace vitrine::ops {

namespace {

using ir::TensorType;

// As core/ops/matmul.cpp has them.
enum : size_t { kQuery, kKey, kValue, kDropout, kCausal, kMask, kScale };

bool has_rows(const TensorType& t) {
  return t.dtype == ir::DType::f32 && t.sizes.size() == 4 && t.strides[3].same(1);
}

// One head of keys and values for each of the query's, or for several beside each other.
bool heads_fit(const TensorType& query, const TensorType& key, const TensorType& value) {
  const ir::Sym &heads = query.sizes[1], &groups = key.sizes[1];
  if (!value.sizes[1].same(groups) || !value.sizes[3].same(query.sizes[3])) return false;
  if (heads.same(groups)) return true;
  return !heads.symbolic() && !groups.symbolic() && groups.hint() > 0 && heads.hint() % groups.hint() == 0;
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
  if (!heads_fit(type_of(args[kQuery].as<ir::Ref>()), type_of(args[kKey].as<ir::Ref>()),
                 type_of(args[kValue].as<ir::Ref>())))
    return std::nullopt;
  WholeRows out{args[kQuery], args[kKey], args[kValue], {}, 1, args[kCausal].as<bool>()};
  const ir::Sym& width = type_of(args[kQuery].as<ir::Ref>()).sizes[3];
  if (width.symbolic() || width.hint() > most_width || !has_rows(node.type())) return std::nullopt;
  if (args[kMask].is<ir::Ref>()) {
    if (!is_mask(type_of(args[kMask].as<ir::Ref>()))) return std::nullopt;
    out.mask = args[kMask];
  }
  if (args[kScale].is<double>())
    out.scale = args[kScale].as<double>();
  else if (args[kScale].is_none())
    out.scale = 1 / std::sqrt(static_cast<double>(width.hint()));
  else
    return std::nullopt;
  return out;
}

}  // namespace vitrine::ops
