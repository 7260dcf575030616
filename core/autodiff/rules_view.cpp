// Gradients of views: the view undone.
#include <algorithm>
#include <numeric>

#include "core/autodiff/rules.h"
#include "core/ops/call.h"

namespace vitrine::autodiff {

namespace {

// y = x of other sizes: g of x's sizes
void reshaped(Vjp& v) {
  v.give(0, v.reshape(v.g(), v.sizes(0)));
}

// y = x repeated: g summed over the repeats
void expand(Vjp& v) {
  v.give(0, v.g());
}

// y = permute(x, p): permute(g, inverse of p)
void permute(Vjp& v) {
  const Dims dims = v.dims(1);
  Dims inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    inverse[ops::wrap_dim(dims[i], dims.size())] = static_cast<int64_t>(i);
  v.give(0, v.op("aten.permute.default", {v.g(), Arg::ints(inverse)}));
}

// y = x with two dimensions swapped: they are swapped again
void transpose(Vjp& v) {
  v.give(0, v.op("aten.transpose.int", {v.g(), v.arg(1), v.arg(2)}));
}
void t(Vjp& v) {
  v.give(0, v.op("aten.t.default", {v.g()}));
}

// y = x without some dimensions of size 1: g with them
void squeezed(Vjp& v, const Dims* dims) {
  const Dims from = v.sizes(0);
  std::vector<bool> dropped(from.size(), !dims);
  if (dims && !from.empty())
    for (int64_t d : *dims) dropped[ops::wrap_dim(d, from.size())] = true;
  Ref out = v.g();
  for (size_t i = 0; i < from.size(); ++i)
    if (dropped[i] && from[i] == 1) out = v.op("aten.unsqueeze.default", {out, Arg(static_cast<int64_t>(i))});
  v.give(0, out);
}
void squeeze(Vjp& v) {
  squeezed(v, nullptr);
}
void squeeze_dims(Vjp& v) {
  const Dims dims = v.dims(1);
  squeezed(v, &dims);
}
void unsqueeze(Vjp& v) {
  v.give(0, v.op("aten.squeeze.dim", {v.g(), v.arg(1)}));
}

// y = a part of x: zeros of x's sizes with g there
void slice(Vjp& v) {
  v.give(0, v.op("aten.slice_backward.default",
                 {v.g(), Arg::ints(v.sizes(0)), v.arg(1), v.none(2) ? Arg(0) : v.arg(2),
                  v.none(3) ? Arg(int64_t{INT64_MAX}) : v.arg(3), v.arg(4)}));
}
void select(Vjp& v) {
  v.give(0, v.op("aten.select_backward.default", {v.g(), Arg::ints(v.sizes(0)), v.arg(1), v.arg(2)}));
}
void diagonal(Vjp& v) {
  v.give(0, v.op("aten.diagonal_backward.default",
                 {v.g(), Arg::ints(v.sizes(0)), v.arg(1), v.arg(2), v.arg(3)}));
}
// y = windows of x: each element of x gets the sum of its places in g
void unfold(Vjp& v) {
  v.give(0,
         v.op("aten.unfold_backward.default", {v.g(), Arg::ints(v.sizes(0)), v.arg(1), v.arg(2), v.arg(3)}));
}

// Windows of x's last dimension, as torch.stft takes them; other memory than x's own, or other parts of it,
// PyTorch's backward knows.
void as_strided(Vjp& v) {
  const TensorType x = v.type(v.in(0));
  const Dims sizes = v.dims(1), strides = v.dims(2);
  const size_t last = x.sizes.size() - 1;
  if (x.sizes.empty() || sizes.size() != last + 2 || !(v.none(3) || x.offset == v.integer(3)))
    refuse("it takes no windows");
  for (size_t d = 0; d < last; ++d)
    if (sizes[d] != x.sizes[d] || strides[d] != x.strides[d]) refuse("it takes no windows");
  const ir::Sym &step = strides[last], &size = sizes[last + 1];
  if (x.strides[last] != 1 || strides[last + 1] != 1 || step < 1 || size > x.sizes[last] ||
      sizes[last] != ir::floordiv(x.sizes[last] - size, step) + 1)
    refuse("it takes no windows");
  v.give(0, v.op("aten.unfold_backward.default",
                 {v.g(), Arg::ints(x.sizes), Arg(static_cast<int64_t>(last)), Arg(size), Arg(step)}));
}

// y, y1, ... = pieces of x: joined again, zeros for pieces without a gradient
void joined(Vjp& v, const char* join, const Arg& dim) {
  std::vector<Arg> pieces;
  size_t some = 0;
  while (!v.has(some)) ++some;
  const Ref like = v.g(some);
  for (size_t k = 0; k < v.node.outputs.size(); ++k)
    pieces.emplace_back(v.has(k) ? v.g(k) : v.zeros(like, v.node.outputs[k].sizes));
  v.give(0, v.op(join, {Arg(std::move(pieces)), dim}));
}
void unbind(Vjp& v) {
  joined(v, "aten.stack.default", v.arg(1));
}
void split(Vjp& v) {
  joined(v, "aten.cat.default", v.arg(2));
}

}  // namespace

const std::vector<RuleRow> kViewRules = {
    {"aten.view.default", reshaped},
    {"aten._unsafe_view.default", reshaped},
    {"aten._reshape_alias.default", reshaped},
    {"aten.permute.default", permute},
    {"aten.transpose.int", transpose},
    {"aten.t.default", t},
    {"aten.expand.default", expand},
    {"aten.squeeze.default", squeeze},
    {"aten.squeeze.dim", squeeze_dims},
    {"aten.squeeze.dims", squeeze_dims},
    {"aten.unsqueeze.default", unsqueeze},
    {"aten.slice.Tensor", slice},
    {"aten.select.int", select},
    {"aten.unbind.int", unbind},
    {"aten.split.Tensor", split},
    {"aten.split_with_sizes.default", split},
    {"aten.diagonal.default", diagonal},
    {"aten.unfold.default", unfold},
    {"aten.as_strided.default", as_strided},
    {"aten.alias.default", same},
    {"aten.lift_fresh.default", same},
};

}  // namespace vitrine::autodiff
