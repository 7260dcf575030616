#include "core/passes/decompose/uniform_bags.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

constexpr std::string_view kBags[] = {"aten._embedding_bag.default",
                                      "aten._embedding_bag_forward_only.default"};
// (weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
//  include_last_offset=False, padding_idx=-1)
enum : size_t { kWeight, kIndices, kOffsets, kScaled, kMode, kSparse, kWeights, kLastOffset, kPadding };

bool is_bag(const Node& node) {
  return node.kind == ir::NodeKind::op && std::ranges::find(kBags, node.op) != std::end(kBags) &&
         node.type().device.is_cuda();
}

class UniformBags {
 public:
  UniformBags(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, int64_t most)
      : graph_(graph), out_(graph, ids, "uniform_bags", true), most_(most) {}

  GraphPtr run() {
    find_read_further();
    for (const Node& node : graph_->nodes()) {
      const std::optional<int64_t> each = is_bag(node) ? indices_of_each(node) : std::nullopt;
      if (each && !read_further_.contains(node.id) && out_.may_rewrite(node))
        out_.replace(node, {Arg(written_out(node, *each)), Arg(), Arg(), Arg()});
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  static bool is_off(const Node& node, size_t at) {
    return node.args.size() <= at || node.args[at].is_none() || node.args[at] == Arg(false);
  }
  static int64_t mode_of(const Node& node) {
    return node.args.size() > kMode && node.args[kMode].is<int64_t>() ? node.args[kMode].as<int64_t>() : 0;
  }

  // Offsets that are 0, n, 2 n, ... of indices that end with the last bag.
  std::optional<int64_t> indices_of_each(const Node& node) const {
    constexpr int64_t kSum = 0, kMean = 1;
    const int64_t mode = mode_of(node);
    if (!node.kwargs.empty() || node.args.size() <= kOffsets || (mode != kSum && mode != kMean)) return {};
    for (const size_t off : {size_t{kScaled}, size_t{kSparse}, size_t{kWeights}, size_t{kLastOffset}})
      if (!is_off(node, off)) return {};
    if (node.args.size() > kPadding && !(node.args[kPadding] == Arg(int64_t{-1}))) return {};
    for (const size_t at : {size_t{kWeight}, size_t{kIndices}, size_t{kOffsets}})
      if (!node.args[at].is<Ref>()) return {};
    const Node& offsets = graph_->node(node.args[kOffsets].as<Ref>().node);
    if (offsets.op != "aten.arange.start_step" || offsets.args.size() != 3) return {};
    for (const Arg& arg : offsets.args)
      if (!arg.is<int64_t>()) return {};
    const int64_t first = offsets.args[0].as<int64_t>(), end = offsets.args[1].as<int64_t>(),
                  step = offsets.args[2].as<int64_t>();
    const TensorType& indices = out_.old_type(node.args[kIndices].as<Ref>());
    const bool all = first == 0 && step > 0 && end > 0 && end % step == 0 && indices.sizes.size() == 1 &&
                     indices.sizes[0].same(end) && indices.strides[0].same(1) && end <= most_;
    const TensorType& bags = out_.old_type({node.id, 0});
    return all && bags.sizes.size() == 2 && bags.sizes[0].same(end / step) ? std::optional(step)
                                                                           : std::nullopt;
  }
  // Nodes of which somebody reads more than the first output.
  void find_read_further() {
    const auto look = [&](Ref r) {
      if (r.output > 0) read_further_.insert(r.node);
    };
    for (const Node& n : graph_->nodes()) ir::each_ref(n, look);
    for (const Arg& result : graph_->results()) ir::each_ref(result, look);
  }

  Ref written_out(const Node& node, int64_t each) {
    const TensorType& bags = out_.old_type({node.id, 0});
    const Arg shape = Arg::ints({bags.sizes[0].hint(), each});
    const Ref indices = out_.emit(node, "aten.view.default", {out_.mapped(node.args[kIndices]), shape});
    const Ref rows =
        out_.emit(node, "aten.embedding.default", {out_.mapped(node.args[kWeight]), Arg(indices)});
    const bool mean = mode_of(node) == 1;
    return out_.emit(node, mean ? "aten.mean.dim" : "aten.sum.dim_IntList", {Arg(rows), Arg::ints({1})});
  }

  const GraphPtr& graph_;
  Rewriter out_;
  const int64_t most_;  // indices
  std::unordered_set<NodeId> read_further_;
};

}  // namespace

GraphPtr uniform_bags(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  constexpr int64_t kAny = int64_t{1} << 40;
  return has_bags(graph->nodes()) ? UniformBags(graph, ids, kAny).run() : graph;
}

GraphPtr uniform_bags_to_derive(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  constexpr int64_t kMostSorted = int64_t{1} << 15;
  return UniformBags(graph, ids, kMostSorted).run();
}

bool has_bags(const std::vector<Node>& nodes) {
  return std::ranges::any_of(nodes, is_bag);
}

}  // namespace vitrine::passes
