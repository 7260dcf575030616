#include "core/passes/decompose/sums_of_one.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

namespace {

// The operator, where its dims are (none: it reduces all), and whether it adds.
struct OneElementRow {
  std::string_view op;
  std::optional<size_t> dims;
  bool adds;
};
constexpr OneElementRow kReductions[] = {
    {"aten.sum.default", {}, true},  {"aten.sum.dim_IntList", 1, true}, {"aten.amax.default", 1, false},
    {"aten.amin.default", 1, false}, {"aten.prod.default", {}, false},  {"aten.prod.dim_int", 1, false},
};

const OneElementRow* reduction(const Node& node) {
  const auto* row = std::ranges::find(kReductions, node.op, &OneElementRow::op);
  return row == std::end(kReductions) ? nullptr : row;
}

constexpr size_t kMostDims = 64;  // that PyTorch reduces; more are its error

OutputValues of_one(NodeWriter& w, const OneElementRow& row) {
  Ref x = w.value(0);
  if (w.type(x).sizes.size() > kMostDims) return std::nullopt;
  const ir::Sym count = w.count(x, row.dims ? w.dims(*row.dims) : Dims{});
  if (ir::is_complex(w.type(x).dtype) || count.symbolic() || count.hint() != 1) return std::nullopt;
  if (w.type(x).dtype != w.node.type().dtype) x = w.cast(x, w.node.type().dtype);
  return w.one(row.adds ? w.add(x, Arg(int64_t{0})) : w.unary("aten.clone.default", x));
}

}  // namespace

GraphPtr sums_of_one(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "sums_of_one", true);
  const std::set<Ref> used;
  for (const Node& node : graph->nodes()) {
    if (const OneElementRow* row = reduction(node))
      write_or_keep(out, node, used, [&](NodeWriter& w) { return of_one(w, *row); });
    else
      out.keep(node);
  }
  return out.finish();
}

}  // namespace vitrine::passes
