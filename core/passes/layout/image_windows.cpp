#include "core/passes/layout/image_windows.h"

#include <algorithm>

#include "core/ops/layout.h"
#include "core/passes/rewrite/window_means.h"

namespace vitrine::passes {

namespace {

bool is_image(const TensorType& t) {
  const bool rounds = t.dtype == DType::f16 || t.dtype == DType::bf16;
  return t.device.is_cuda() && t.sizes.size() == 4 && t.numel().hint() > 0 &&
         (rounds || t.dtype == DType::f32) && (t.is_contiguous() || ops::is_channels_last(t));
}

OutputValues average_pool(NodeWriter& w) {
  const Ref x = w.value(0);
  if (!is_image(w.type(x)) || w.flag(4) || !w.none(6)) return std::nullopt;
  const Dims window = both_sides(w, 1), by = w.dims(2).empty() ? window : both_sides(w, 2);
  const Dims pad = w.dims(3);
  if (std::ranges::any_of(pad, [](const ir::Sym& n) { return !n.same(0); })) return std::nullopt;
  if (window[0].symbolic() || window[1].symbolic()) return std::nullopt;
  return mean_of_windows(w, x, window, by);
}

// How often each row, or column, stands in the result; 0: it is not told. By a power of two eager's division
// is exact.
int64_t times(const NodeWriter& w, const TensorType& from, size_t dim) {
  for (int64_t k : {1, 2, 4, 8})
    if (w.node.type().sizes[dim].same(from.sizes[dim] * k))
      return w.none(dim) || w.number(dim) == static_cast<double>(k) ? k : 0;
  return 0;
}

OutputValues repeated_neighbours(NodeWriter& w) {
  const TensorType from = w.type(w.value(0)), &to = w.node.type();
  if (!is_image(from) || to.sizes.size() != 4) return std::nullopt;
  const int64_t down = times(w, from, 2), right = times(w, from, 3);
  if (down * right <= 1) return std::nullopt;
  const bool innermost = !from.is_contiguous();
  const Dims& n = from.sizes;
  Ref x = w.value(0);
  if (innermost) x = w.op("aten.permute.default", {x, Arg::ints({0, 2, 3, 1})});
  x = w.op("aten.unsqueeze.default", {x, Arg(innermost ? 2 : 3)});
  x = w.op("aten.unsqueeze.default", {x, Arg(innermost ? 4 : 5)});
  const Dims wide =
      innermost ? Dims{n[0], n[2], down, n[3], right, n[1]} : Dims{n[0], n[1], n[2], down, n[3], right};
  x = w.op("aten.expand.default", {x, Arg::ints(wide)});
  x = w.op("aten.clone.default", {x}, {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}});
  if (!innermost) return w.one(x);
  x = w.op("aten.view.default", {x, Arg::ints({n[0], to.sizes[2], to.sizes[3], n[1]})});
  return w.one(w.op("aten.permute.default", {x, Arg::ints({0, 3, 1, 2})}));
}

struct WindowRow {
  std::string_view op;
  OutputValues (*write)(NodeWriter& w);
};
constexpr WindowRow kRows[] = {
    {"aten.avg_pool2d.default", average_pool},
    {"aten.upsample_nearest2d.default", repeated_neighbours},
};

}  // namespace

GraphPtr image_windows(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "image_windows", true);
  const std::set<Ref> used;
  for (const Node& node : graph->nodes()) {
    const auto* row = std::ranges::find(kRows, std::string_view(node.op), &WindowRow::op);
    if (row != std::end(kRows))
      write_or_keep(out, node, used, row->write);
    else
      out.keep(node);
  }
  return out.finish();
}

}  // namespace vitrine::passes
