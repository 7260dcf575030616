// Gradients of what is gathered or written by index: what was gathered is added where it was.
#include <optional>

#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

// y = rows of a table: the rows of g added up by index
void embedding(Vjp& v) {
  if (v.flag(4)) refuse("a sparse gradient");
  v.give(0, v.op("aten.embedding_dense_backward.default",
                 {v.g(), v.in(1), Arg(v.sizes(0)[0]), v.arg(2), v.arg(3)}));
}

// y = x[.., i, ..] with one i for each of the other places: g there, 0 at the dimension's other indices.
// Forward found that i is in range. nullopt: several i, which may be the same one.
std::optional<Ref> placed(Vjp& v) {
  const Dims& sizes = v.sizes(0);
  const int64_t given = v.integer(1);
  const auto d = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(sizes.size()) : given);
  Dims one = sizes;
  if (d >= sizes.size() || sizes[d] > INT32_MAX) return std::nullopt;
  one[d] = 1;
  if (v.sizes(2) != one || sizes[d] == 1) return std::nullopt;
  Dims along(sizes.size(), 1);
  along[d] = sizes[d];
  const ir::Device device = v.type(v.g()).device;
  Kwargs options = {{"dtype", Arg(DType::i32)}};
  if (!device.is_cpu()) options.emplace_back("device", Arg(ir::Word{device.text()}));
  const Ref number = v.reshape(v.op("aten.arange.default", {Arg(sizes[d])}, std::move(options)), along);
  const Ref here = v.op("aten.eq.Tensor", {number, v.cast(v.in(2), DType::i32)});
  return v.op("aten.where.self", {here, v.g(), v.zeros(v.g(), Dims{})});
}

// y = x at an index along a dimension
void gather(Vjp& v) {
  if (v.flag(3)) refuse("a sparse gradient");
  const auto once = placed(v);
  v.give(0, once ? *once
                 : v.op("aten.scatter_add.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.in(2), v.g()}));
}
void index_select(Vjp& v) {
  v.give(0, v.op("aten.index_add.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.in(2), v.g()}));
}
void index(Vjp& v) {
  v.give(0, v.op("aten.index_put.default", {v.zeros(v.g(), v.sizes(0)), v.arg(1), v.g(), Arg(true)}));
}

// y = x with s written at an index: x gets g but there, s gets g from there
void scatter_source(Vjp& v) {
  if (v.wants(0)) v.give(0, v.op("aten.scatter.value", {v.g(), v.arg(1), v.in(2), Arg(0)}));
  if (v.wants(3)) v.give(3, v.op("aten.gather.default", {v.g(), v.arg(1), v.in(2)}));
}
void scatter_value(Vjp& v) {
  v.give(0, v.op("aten.scatter.value", {v.g(), v.arg(1), v.in(2), Arg(0)}));
}
// y = x with s added at an index: x gets g
void scatter_add(Vjp& v) {
  if (v.wants(0)) v.give(0, v.g());
  if (v.wants(3)) v.give(3, v.op("aten.gather.default", {v.g(), v.arg(1), v.in(2)}));
}
void index_add(Vjp& v) {
  v.let("factor", v.arg(4));
  if (v.wants(0)) v.give(0, v.g());
  if (!v.wants(3)) return;
  v.let("g", v.op("aten.index_select.default", {v.g(), v.arg(1), v.in(2)}));
  v.give(3, v.reshape(v.eval("g * factor"), v.sizes(3)));
}
// y = x with s written at an index of a dimension: x gets g but there, s gets g from there
void index_copy(Vjp& v) {
  if (v.wants(0))
    v.give(0, v.op("aten.index_copy.default", {v.g(), v.arg(1), v.in(2), v.zeros(v.g(), v.sizes(3))}));
  if (v.wants(3))
    v.give(3, v.reshape(v.op("aten.index_select.default", {v.g(), v.arg(1), v.in(2)}), v.sizes(3)));
}
// The mask of y = x with x[mask] = s, which lies over the first dimensions.
std::optional<Ref> leading_mask(Vjp& v) {
  const auto& indices = v.arg(1).as<std::vector<Arg>>();
  if (indices.empty() || !indices[0].is<Ref>()) return std::nullopt;
  for (size_t i = 1; i < indices.size(); ++i)
    if (!indices[i].is_none()) return std::nullopt;
  const TensorType& mask = v.type(indices[0].as<Ref>());
  const bool whole = mask.dtype == DType::b1 && !mask.sizes.empty() && mask.numel() > 0;
  return whole ? std::optional(indices[0].as<Ref>()) : std::nullopt;
}
// s has a row for each place where the mask holds, or one for all of them. Forward found that they fit, so
// that their number is known.
void masked_put(Vjp& v, Ref mask) {
  const Ref g = v.g(), nothing = v.zeros(g, Dims{});
  const Dims whole = v.sizes(0), over = v.type(mask).sizes, values = v.sizes(2);
  Dims wide = over;
  wide.resize(whole.size(), 1);
  const Ref here = v.reshape(mask, wide);
  if (v.wants(0)) v.give(0, v.flag(3) ? g : v.op("aten.where.self", {here, nothing, g}));
  if (!v.wants(2)) return;
  const size_t rest = whole.size() - over.size();
  if (values.size() <= rest || values[0] == 1) return v.give(2, v.op("aten.where.self", {here, g, nothing}));
  Dims rows = {v.type(mask).numel()};
  rows.insert(rows.end(), whole.begin() + static_cast<std::ptrdiff_t>(over.size()), whole.end());
  const Ref places =
      v.op("aten.nonzero_static.default", {v.reshape(mask, {rows[0]})}, {{"size", Arg(values[0])}});
  v.give(2, v.op("aten.index_select.default", {v.reshape(g, rows), Arg(0), v.reshape(places, {values[0]})}));
}
void index_put(Vjp& v) {
  if (const auto mask = leading_mask(v)) return masked_put(v, *mask);
  const Ref g = v.g();
  if (v.wants(0))
    v.give(0,
           v.flag(3) ? g : v.op("aten.index_put.default", {g, v.arg(1), v.zeros(g, v.sizes(2)), Arg(false)}));
  if (v.wants(2)) v.give(2, v.op("aten.index.Tensor", {g, v.arg(1)}));
}

}  // namespace

const std::vector<RuleRow> kIndexRules = {
    {"aten.embedding.default", embedding},       {"aten.gather.default", gather},
    {"aten.index_select.default", index_select}, {"aten.index.Tensor", index},
    {"aten.scatter.src", scatter_source},        {"aten.scatter.value", scatter_value},
    {"aten.scatter_add.default", scatter_add},   {"aten.index_put.default", index_put},
    {"aten.index_add.default", index_add},       {"aten.index_copy.default", index_copy},
};

}  // namespace vitrine::autodiff
