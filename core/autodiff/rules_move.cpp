// Gradients of copies and rearrangements.
#include <algorithm>
#include <optional>

#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

// y = x and its like, one behind another: each gets its part of g
void cat(Vjp& v) {
  const size_t ndim = v.node.type().sizes.size(), dim = ops::wrap_dim(v.integer(1), ndim);
  ir::Sym from = 0;
  for (size_t k = 0; k < v.count(0); ++k) {
    const Dims sizes = v.type(v.in(0, k)).sizes;
    const bool nothing = sizes.size() == 1 && sizes[0] == 0;
    const ir::Sym length = nothing ? ir::Sym(0) : sizes[dim];
    if (v.wants(0, k) && nothing) v.give(0, v.zeros(v.g(), {0}), k);
    if (v.wants(0, k) && !nothing)
      v.give(0,
             v.op("aten.slice.Tensor",
                  {v.g(), Arg(static_cast<int64_t>(dim)), Arg(from), Arg(from + length), Arg(1)}),
             k);
    from += length;
  }
}
void stack(Vjp& v) {
  for (size_t k = 0; k < v.count(0); ++k)
    if (v.wants(0, k)) v.give(0, v.op("aten.select.int", {v.g(), v.arg(1), Arg(static_cast<int64_t>(k))}), k);
}

// y = x tiled: the sum over the tiles
void repeat(Vjp& v) {
  const Dims times = v.dims(1), from = v.sizes(0);
  const size_t more = times.size() - from.size();
  Dims split, tiles;
  for (size_t i = 0; i < times.size(); ++i) {
    tiles.push_back(static_cast<int64_t>(split.size()));
    split.push_back(times[i]);
    if (i >= more) split.push_back(from[i - more]);
  }
  if (v.node.type().numel() == 0) refuse("nothing is repeated");
  if (tiles.empty()) return v.give(0, v.g());
  v.give(0, v.op("aten.sum.dim_IntList", {v.reshape(v.g(), split), Arg::ints(tiles)}));
}

// y = x in another order: that order undone
void flip(Vjp& v) {
  v.give(0, v.op("aten.flip.default", {v.g(), v.arg(1)}));
}
void roll(Vjp& v) {
  Dims back = v.dims(1);
  for (ir::Sym& shift : back) shift = -shift;
  v.give(0, v.op("aten.roll.default", {v.g(), Arg::ints(back), Arg::ints(v.dims(2))}));
}

// y = x with a border: g without it
void pad(Vjp& v) {
  Dims pads = v.dims(1);
  const size_t ndim = v.sizes(0).size();
  Ref g = v.g();
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0) refuse("a border is cut");
    const size_t dim = ndim - 1 - i;
    if (pads[2 * i] == 0 && pads[2 * i + 1] == 0) continue;
    g = v.op("aten.slice.Tensor", {g, Arg(static_cast<int64_t>(dim)), Arg(pads[2 * i]),
                                   Arg(pads[2 * i] + v.sizes(0)[dim]), Arg(1)});
  }
  v.give(0, v.op("aten.clone.default", {g}));
}

Ref slice_of(Vjp& v, Ref x, size_t dim, const ir::Sym& from, const ir::Sym& length) {
  return v.op("aten.slice.Tensor",
              {x, Arg(static_cast<int64_t>(dim)), Arg(from), Arg(from + length), Arg(1)});
}
// What a border along `dim` gives to the elements that it repeats: zeros but in places from `at` on.
Ref laid_back(Vjp& v, Ref part, size_t dim, const ir::Sym& at, const ir::Sym& size) {
  const TensorType& type = v.type(part);
  Dims pads(2 * (type.sizes.size() - dim), 0);
  pads[pads.size() - 2] = at;
  pads[pads.size() - 1] = size - at - type.sizes[dim];
  if (pads[pads.size() - 2] == 0 && pads[pads.size() - 1] == 0) return part;
  return v.op("aten.constant_pad_nd.default", {part, Arg::ints(pads), Arg(0)});
}
// The sum along `dim`; of a few, element by element, which joins the loop that reads it.
Ref sum_along(Vjp& v, Ref x, size_t dim) {
  constexpr int64_t kFew = 4;
  const ir::Sym size = v.type(x).sizes[dim];
  if (size.symbolic() || size.hint() > kFew)
    return v.op("aten.sum.dim_IntList", {x, Arg::ints({static_cast<int64_t>(dim)}), Arg(true)});
  const int64_t length = size;
  Ref sum = slice_of(v, x, dim, 0, 1);
  for (int64_t i = 1; i < length; ++i) sum = v.op("aten.add.Tensor", {sum, slice_of(v, x, dim, i, 1)});
  return sum;
}
// y = x with a border of its own elements: g without it, and that of the border where these lie
void border(Vjp& v, bool mirrored) {
  const TensorType x = v.type(v.in(0));
  const bool single = x.dtype == DType::f32 || x.dtype == DType::f64;
  if (!single || !x.is_contiguous()) refuse("another type or layout");
  const Dims pads = v.dims(1);
  const auto returned = [&](Ref part, size_t dim) {
    if (!mirrored) return sum_along(v, part, dim);
    return v.op("aten.flip.default", {part, Arg::ints({static_cast<int64_t>(dim)})});
  };
  Ref g = v.contiguous(v.g());
  bool any = false;
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const size_t dim = x.sizes.size() - 1 - i;
    const int64_t before = pads[2 * i], after = pads[2 * i + 1];
    const ir::Sym size = x.sizes[dim];
    if (before == 0 && after == 0) continue;
    any = true;
    Ref sum = slice_of(v, g, dim, before, size);
    const auto add = [&](const ir::Sym& from, int64_t length, const ir::Sym& at) {
      if (length == 0) return;
      const Ref part = returned(slice_of(v, g, dim, from, length), dim);
      sum = v.op("aten.add.Tensor", {sum, laid_back(v, part, dim, at, size)});
    };
    add(0, before, mirrored ? 1 : 0);
    add(before + size, after, mirrored ? size - 1 - after : size - 1);
    g = sum;
  }
  if (!any) refuse("there is no border");
  v.give(0, v.contiguous(g));
}
void reflection_pad(Vjp& v) {
  border(v, true);
}
void replication_pad(Vjp& v) {
  border(v, false);
}

// y = x with a part replaced by that of another: zeros there, and g there
void slice_scatter(Vjp& v) {
  if (v.wants(0))
    v.give(0, v.op("aten.slice_scatter.default",
                   {v.g(), v.zeros(v.g(), v.sizes(1)), v.arg(2), v.arg(3), v.arg(4), v.arg(5)}));
  if (v.wants(1)) v.give(1, v.op("aten.slice.Tensor", {v.g(), v.arg(2), v.arg(3), v.arg(4), v.arg(5)}));
}
void select_scatter(Vjp& v) {
  if (v.wants(0))
    v.give(0, v.op("aten.select_scatter.default", {v.g(), v.zeros(v.g(), v.sizes(1)), v.arg(2), v.arg(3)}));
  if (v.wants(1)) v.give(1, v.op("aten.select.int", {v.g(), v.arg(2), v.arg(3)}));
}

// How often a size is in another one; of sizes that are expressions where these tell.
ir::Sym times(const ir::Sym& to, const ir::Sym& from) {
  if (!to.symbolic() && !from.symbolic()) return to.hint() % from.hint() == 0 ? to.hint() / from.hint() : 0;
  for (const int64_t n : {1, 2, 4})
    if ((from * n).same(to)) return n;
  return 0;
}
// y = x with each place in two or four rows and columns: the sum of these, in eager's order. By other
// factors eager rounds where a place comes from.
void upsample_nearest(Vjp& v) {
  const Dims from = v.sizes(0), to = v.node.type().sizes;
  const TensorType g = v.type(v.g());
  const bool single = g.dtype == DType::f32 || g.dtype == DType::f64;
  const bool still = std::all_of(g.strides.begin(), g.strides.end(), [](const ir::Sym& s) { return s == 0; });
  if (!g.device.is_cpu() || !single || !(g.is_contiguous() || still)) refuse("another kernel of PyTorch's");
  Dims by;
  for (size_t d : {2, 3}) {  // dims, and arguments with what the program said
    by.push_back(times(to[d], from[d]));
    const bool even = by.back() == 1 || by.back() == 2 || by.back() == 4;
    if (!even || (!v.none(d) && v.number(d) != static_cast<double>(by.back())))
      refuse("places are repeated unevenly");
  }
  if (by == Dims{1, 1}) refuse("nothing is repeated");
  const Ref whole = v.contiguous(v.g());
  std::optional<Ref> sum;
  for (int64_t i = 0; i < by[0]; ++i)
    for (int64_t j = 0; j < by[1]; ++j) {
      const Ref row = v.op("aten.slice.Tensor", {whole, Arg(2), Arg(i), Arg(to[2]), Arg(by[0])});
      const Ref part = v.op("aten.slice.Tensor", {row, Arg(3), Arg(j), Arg(to[3]), Arg(by[1])});
      sum = sum ? v.op("aten.add.Tensor", {*sum, part}) : part;
    }
  v.give(0, *sum);
}

// y = x within a triangle
void tril(Vjp& v) {
  v.give(0, v.op("aten.tril.default", {v.g(), v.arg(1)}));
}
void triu(Vjp& v) {
  v.give(0, v.op("aten.triu.default", {v.g(), v.arg(1)}));
}

// y = x (mask) / (1 - p)
void dropout(Vjp& v) {
  const bool train = v.none(2) || v.flag(2);
  if (!train) return v.give(0, v.g());
  const double p = v.number(1);
  v.give(0, v.op("aten.native_dropout_backward.default", {v.g(), v.out(1), Arg(p == 1 ? 0.0 : 1 / (1 - p))}));
}

}  // namespace

const std::vector<RuleRow> kMoveRules = {
    {"aten.clone.default", same},
    {"aten._to_copy.default", same},
    {"aten.cat.default", cat},
    {"aten.stack.default", stack},
    {"aten.repeat.default", repeat},
    {"aten.flip.default", flip},
    {"aten.roll.default", roll},
    {"aten.constant_pad_nd.default", pad},
    {"aten.reflection_pad1d.default", reflection_pad},
    {"aten.reflection_pad2d.default", reflection_pad},
    {"aten.reflection_pad3d.default", reflection_pad},
    {"aten.replication_pad1d.default", replication_pad},
    {"aten.replication_pad2d.default", replication_pad},
    {"aten.replication_pad3d.default", replication_pad},
    {"aten.upsample_nearest2d.default", upsample_nearest},
    {"aten.tril.default", tril},
    {"aten.triu.default", triu},
    {"aten.native_dropout.default", dropout},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
};

}  // namespace vitrine::autodiff
