#include "core/passes/decompose/decompose_extrema.h"

#include <limits>

namespace vitrine::passes {

namespace {

struct Extremum {
  const char* op;
};
constexpr Extremum kLargest = {"aten.amax.default"}, kSmallest = {"aten.amin.default"};

// The places of x, counted over `dims` (all, or one) in order, as a tensor that broadcasts against x.
Ref numbered(NodeWriter& w, Ref x, const Dims& dims, const ir::Sym& count) {
  const TensorType& type = w.type(x);
  Dims shape(type.sizes.size(), 1);
  const std::vector<bool> mask = ops::dim_mask(dims, shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (mask[d]) shape[d] = type.sizes[d];
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  Kwargs how = {{"dtype", Arg(count < kMost ? DType::i32 : DType::i64)},
                {"device", Arg(ir::Word{type.device.text()})}};
  const Ref number = w.op("aten.arange.default", {Arg(count)}, std::move(how));
  return shape.size() == 1 ? number : w.op("aten.view.default", {number, Arg::ints(shape)});
}

// A NaN is beyond all others: where one is, the extremum is NaN too, and equals nothing.
struct FoundExtremum {
  Ref extremum, number, place;
};
std::optional<FoundExtremum> found(NodeWriter& w, const Extremum& which, const Dims& dims) {
  const Ref x = w.value(0);
  const TensorType type = w.type(x);
  const ir::Sym count = w.count(x, dims);
  // On a CPU rows are read again for each of these reductions, which PyTorch's own kernel does not.
  if (!type.device.is_cuda() || type.numel() == 0 || count < 2 || type.dtype == DType::b1)
    return std::nullopt;
  const Arg over = Arg::ints(dims);
  const Ref extremum = w.op(which.op, {x, over, Arg(true)});
  Ref other = w.op("aten.ne.Tensor", {x, extremum});
  if (ir::is_float(type.dtype))
    other = w.op("aten.bitwise_and.Tensor", {other, w.op("aten.eq.Tensor", {x, x})});
  const Ref number = numbered(w, x, dims, count);
  const Ref candidates = w.op("aten.masked_fill.Scalar", {number, other, Arg(count)});
  return FoundExtremum{extremum, number, w.op("aten.amin.default", {candidates, over, Arg(true)})};
}

// The value itself, of which there may be several that are equal: 0 and -0.
Ref value_at(NodeWriter& w, const FoundExtremum& f, const Dims& dims) {
  const Ref x = w.value(0);
  if (!ir::is_float(w.type(x).dtype)) return f.extremum;
  const Ref place = w.op("aten._to_copy.default", {f.place}, {{"dtype", Arg(DType::i64)}});
  return w.op("aten.gather.default", {x, Arg(dims.front()), place});
}

OutputValues along(NodeWriter& w, const Extremum& which) {
  const Dims dims = w.dims(1);
  if (w.type(w.value(0)).sizes.empty()) return std::nullopt;
  const auto f = found(w, which, dims);
  if (!f) return std::nullopt;
  auto value = w.output(0, w.used(0) ? value_at(w, *f, dims) : f->extremum), place = w.output(1, f->place);
  return value && place ? OutputValues({*value, *place}) : std::nullopt;
}

OutputValues place(NodeWriter& w, const Extremum& which) {
  const auto f = found(w, which, w.dims(1));
  return f ? w.one(f->place) : std::nullopt;
}

}  // namespace

OutputValues largest_along(NodeWriter& w) {
  return along(w, kLargest);
}
OutputValues smallest_along(NodeWriter& w) {
  return along(w, kSmallest);
}
OutputValues largest_place(NodeWriter& w) {
  return place(w, kLargest);
}
OutputValues smallest_place(NodeWriter& w) {
  return place(w, kSmallest);
}

}  // namespace vitrine::passes
