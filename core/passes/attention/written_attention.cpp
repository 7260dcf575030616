#include "core/passes/attention/written_attention.h"

#include <algorithm>
#include <string_view>

#include "core/ops/node.h"
#include "core/ops/promote.h"

namespace vitrine::passes {

namespace {

using ir::Arg;
using ir::DType;
using ir::Node;
using ir::Ref;
using ir::TensorType;

constexpr int kDeepest = 40;  // operators between the two products

std::string_view functional(const Node& node) {
  const ops::OpRow* row = ops::functional_of(node.op);
  return row ? row->name : std::string_view(node.op);
}

// The node's arguments in schema order; empty: the operator is not known.
std::vector<Arg> arguments(const Node& node) {
  const ops::OpRow* row = ops::find(functional(node));
  Node call = node;
  call.op = functional(node);
  auto bound = row ? ops::bind(*row, call) : Error{};
  return bound.ok() ? bound.take() : std::vector<Arg>{};
}

std::optional<double> number(const Arg& a) {
  if (a.is<double>()) return a.as<double>();
  if (a.is<int64_t>() && !a.as<ir::Sym>().symbolic()) return static_cast<double>(a.as<int64_t>());
  return std::nullopt;
}

constexpr std::string_view kMoves[] = {
    "aten.view.default",  "aten._unsafe_view.default", "aten.expand.default",   "aten.clone.default",
    "aten.alias.default", "aten.unsqueeze.default",    "aten.squeeze.default",  "aten.squeeze.dim",
    "aten.squeeze.dims",  "aten.permute.default",      "aten._to_copy.default",
};

// A permutation that only moves dimensions of one place, as einsum's do.
bool moves_ones(const Node& permute, const TensorType& from) {
  if (!permute.args.at(1).is<std::vector<Arg>>()) return false;
  int64_t before = -1;
  for (const Arg& a : permute.args[1].as<std::vector<Arg>>()) {
    int64_t dim = a.as<int64_t>();
    if (dim < 0) dim += static_cast<int64_t>(from.sizes.size());
    if (from.sizes.at(static_cast<size_t>(dim)).same(1)) continue;
    if (dim < before) return false;
    before = dim;
  }
  return true;
}

}  // namespace

// From a value down to the first product.
struct AttentionFinder::Walk {
  const AttentionFinder& finder;
  DType factors;
  WrittenAttention found = {};
  int depth = 0;

  const TensorType& type(Ref r) const {
    return finder.graph_.node(r.node).outputs.at(static_cast<size_t>(r.output));
  }

  // What gives the value, if nobody else reads it; its name joins those between.
  const Node* alone(const Arg& value) {
    if (!value.is<Ref>() || ++depth > kDeepest) return nullptr;
    const Node& node = finder.graph_.node(value.as<Ref>().node);
    if (node.kind != ir::NodeKind::op || node.outputs.size() != 1 || !finder.read_alone(node)) return nullptr;
    const DType dtype = node.type().dtype;
    if (dtype != factors && dtype != ops::opmath(factors)) return nullptr;
    found.between.push_back(node.id);
    return &node;
  }

  // Through a node that gives the same numbers in the same order, or widens them: where it reads.
  const Arg* moved(const Node& node) const {
    if (std::find(std::begin(kMoves), std::end(kMoves), node.op) == std::end(kMoves)) return nullptr;
    if (!node.args[0].is<Ref>()) return nullptr;
    const TensorType& from = type(node.args[0].as<Ref>());
    if (from.device != node.type().device || !from.numel().same(node.type().numel())) return nullptr;
    return node.op != "aten.permute.default" || moves_ones(node, from) ? &node.args[0] : nullptr;
  }
  bool has_matrices(const TensorType& t) const {
    const size_t rank = t.sizes.size();
    return rank >= 2 && rank <= 4 && t.sizes[rank - 1].same(found.places) &&
           t.sizes[rank - 2].same(found.length);
  }
  // What the matrices are many of.
  void note_batch(const TensorType& scores) {
    if (has_matrices(scores) && scores.sizes.size() > found.batch.size() + 2)
      found.batch.assign(scores.sizes.begin(), scores.sizes.end() - 2);
  }

  const Node* softmax(Arg value) {
    while (const Node* node = alone(value)) {
      note_batch(node->type());
      if (const Arg* from = moved(*node)) {
        value = *from;
        continue;
      }
      if (node->op != "aten._softmax.default") return nullptr;
      const auto dim = number(node->args.at(1));
      const auto last = static_cast<double>(node->type().sizes.size()) - 1;
      return (dim == -1.0 || dim == last) && node->type().sizes.back().same(found.places) ? node : nullptr;
    }
    return nullptr;
  }

  bool mask(Ref tensor, const TensorType& scores, std::optional<double> fills, bool shows, bool scaled) {
    if (scaled || !has_matrices(scores) || type(tensor).sizes.size() > scores.sizes.size()) return false;
    if (type(tensor).device != scores.device) return false;
    found.masks.push_back({tensor, scores.sizes.size(), fills, shows});
    return true;
  }

  // One of two terms is the scores, the other a mask.
  bool sum(const Node& node, const std::vector<Arg>& args, bool scaled) {
    if (args.size() < 3 || !ops::is_one(args[2]) || !args[0].is<Ref>() || !args[1].is<Ref>()) return false;
    const bool in_place = node.op != "aten.add.Tensor";
    const WrittenAttention before = found;
    for (const auto& [scores, added] : {std::pair(args[0], args[1]), std::pair(args[1], args[0])}) {
      if (type(scores.as<Ref>()).sizes.size() == node.type().sizes.size() &&
          ir::same(type(scores.as<Ref>()).sizes, node.type().sizes) &&
          mask(added.as<Ref>(), node.type(), {}, false, scaled) && down(scores, scaled))
        return true;
      if (in_place) return false;
      found = before;
    }
    return false;
  }

  // The scores less a mask.
  bool difference(const Node& node, const std::vector<Arg>& args, bool scaled) {
    if (args.size() < 3 || !ops::is_one(args[2]) || !args[0].is<Ref>() || !args[1].is<Ref>()) return false;
    if (!ir::same(type(args[0].as<Ref>()).sizes, node.type().sizes)) return false;
    if (!mask(args[1].as<Ref>(), node.type(), {}, false, scaled)) return false;
    found.masks.back().subtracted = true;
    return down(args[0], scaled);
  }

  bool scaled_by(double factor, const Arg& rest) {
    found.scale *= factor;
    return down(rest, true);
  }

  // A tensor that holds one number, made in the graph.
  std::optional<double> made_number(const Arg& value) const {
    if (!value.is<Ref>()) return number(value);
    const Node& node = finder.graph_.node(value.as<Ref>().node);
    if (node.op == "aten.scalar_tensor.default") return number(node.args.at(0));
    if (node.op == "aten.full.default") return number(node.args.at(1));
    return std::nullopt;
  }

  bool filled(const Node& node, const std::vector<Arg>& args, bool scaled) {
    const bool where = functional(node) == "aten.where.self";
    if (args.size() < 3 || !args[where ? 0 : 1].is<Ref>()) return false;
    const Ref mask_of = args[where ? 0 : 1].as<Ref>();
    if (type(mask_of).dtype != DType::b1) return false;
    const auto first = made_number(args[1]), second = made_number(args[2]);
    if (!where) return second && mask(mask_of, node.type(), second, false, scaled) && down(args[0], scaled);
    if (second) return mask(mask_of, node.type(), second, true, scaled) && down(args[1], scaled);
    return first && mask(mask_of, node.type(), first, false, scaled) && down(args[2], scaled);
  }

  // first: which argument is the query.
  bool product(const Node& node, const std::vector<Arg>& args, size_t first) {
    if (args.size() < first + 2 || !args[first].is<Ref>() || !args[first + 1].is<Ref>()) return false;
    found.query = args[first].as<Ref>(), found.key = args[first + 1].as<Ref>();
    return has_matrices(node.type()) && type(found.query).dtype == factors &&
           type(found.key).dtype == factors;
  }

  // From scores to the product that they are.
  bool down(const Arg& value, bool scaled) {
    const Node* node = alone(value);
    if (!node) return false;
    note_batch(node->type());
    if (const Arg* from = moved(*node)) return down(*from, scaled);
    const std::string_view op = functional(*node);
    const std::vector<Arg> args = arguments(*node);
    if (op == "aten.bmm.default" || op == "aten.mm.default") return product(*node, args, 0);
    if (op == "aten.baddbmm.default") {
      const auto alpha = args.size() == 5 && ops::is_one(args[3]) ? number(args[4]) : std::nullopt;
      if (!alpha || !args[0].is<Ref>() || !mask(args[0].as<Ref>(), node->type(), {}, false, scaled))
        return false;
      found.scale *= *alpha;
      return product(*node, args, 1);
    }
    if (op == "aten.add.Tensor") return sum(*node, args, scaled);
    if (op == "aten.sub.Tensor") return difference(*node, args, scaled);
    if (op == "aten.masked_fill.Scalar" || op == "aten.where.self") return filled(*node, args, scaled);
    const auto factor = args.size() >= 2 ? number(args[1]) : std::nullopt;
    if (factor && (op == "aten.mul.Tensor" || op == "aten.mul.Scalar")) return scaled_by(*factor, args[0]);
    if (factor && *factor != 0 && (op == "aten.div.Tensor" || op == "aten.div.Scalar"))
      return scaled_by(1 / *factor, args[0]);
    return false;
  }
};

AttentionFinder::AttentionFinder(const ir::Graph& graph)
    : graph_(graph), uses_(graph.nodes().size()), is_result_(graph.nodes().size()) {
  for (const Arg& result : graph.results())
    ir::each_ref(result, [&](Ref r) { is_result_[graph.position(r.node)] = true; });
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (!is_unused(node)) ir::each_ref(node, [&](Ref r) { ++uses_[graph.position(r.node)]; });
  }
}

bool AttentionFinder::is_unused(const Node& node) const {
  const size_t at = graph_.position(node.id);
  return node.kind == ir::NodeKind::op && uses_[at] == 0 && !is_result_[at] && !ops::writes(node) &&
         !ops::is_random(node);
}

bool AttentionFinder::read_alone(const Node& node) const {
  const size_t at = graph_.position(node.id);
  return uses_[at] == 1 && !is_result_[at];
}

std::optional<WrittenAttention> AttentionFinder::ended_by(const Node& product) const {
  if (product.op != "aten.bmm.default" && product.op != "aten.mm.default") return std::nullopt;
  const DType factors = product.type().dtype;
  if (!ir::is_float(factors) || !product.args[0].is<Ref>() || !product.args[1].is<Ref>()) return std::nullopt;
  Walk walk{*this, factors};
  const TensorType& weights = walk.type(product.args[0].as<Ref>());
  walk.found.places = weights.sizes.back(), walk.found.length = weights.sizes[weights.sizes.size() - 2];
  const Node* softmax = walk.softmax(product.args[0]);
  if (!softmax || !walk.down(softmax->args[0], false)) return std::nullopt;
  walk.found.value = product.args[1].as<Ref>();
  if (walk.type(walk.found.value).dtype != factors) return std::nullopt;
  return std::move(walk.found);
}

}  // namespace vitrine::passes
