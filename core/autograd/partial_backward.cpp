#include "core/autograd/partial_backward.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/autodiff/undefined_tangents.h"
#include "core/ops/node.h"

namespace vitrine::torch_api {

namespace {

using Nodes = std::unordered_set<ir::NodeId>;

// By position: what these results need, what is written to it included.
std::vector<bool> needed(const ir::Graph& graph, const std::vector<bool>& wanted, size_t first_result) {
  Nodes values;
  const auto use = [&](ir::Ref r) { values.insert(r.node); };
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) ir::each_ref(graph.results().at(first_result + i), use);
  std::vector<bool> out(graph.nodes().size());
  for (size_t i = out.size(); i-- > 0;) {
    const ir::Node& n = graph.nodes()[i];
    const std::vector<ir::Ref> written = ops::written(n);
    out[i] = values.contains(n.id) ||
             std::any_of(written.begin(), written.end(), [&](ir::Ref r) { return values.contains(r.node); });
    if (out[i]) ir::each_ref(n, use);
  }
  return out;
}

bool any_of_both(const std::set<int>& numbers, const std::vector<bool>& flags) {
  return std::any_of(numbers.begin(), numbers.end(), [&](int i) { return flags.at(static_cast<size_t>(i)); });
}

class PartialWalk {
 public:
  PartialWalk(const Joint& joint, const ir::Graph& backward, const Failure& failure)
      : joint_(joint), graph_(*joint.joint), backward_(backward), failure_(failure) {
    for (const ir::Node* n : joint.halves.backward->inputs()) inputs_.push_back(n->id);
    const size_t handed_over = joint.halves.handed_over();
    tangents_.assign(inputs_.begin() + static_cast<std::ptrdiff_t>(handed_over), inputs_.end());
    for (size_t i = 0; i < handed_over; ++i)
      if (failure.changed.at(i)) changed_.insert(joint.halves.crossings[i].value.node);
    for (size_t i = 0; i < joint.derivative_begins; ++i)
      for (ir::Ref r : ops::aliased(graph_.nodes()[i]))
        if (changed_.contains(r.node)) changed_.insert(graph_.nodes()[i].id);
  }

  std::vector<bool> run() {
    const size_t first_result = joint_.results.size();
    std::vector<bool> reached;
    for (const Joint::Gradient& g : joint_.gradients)
      reached.push_back(any_of_both({g.tangents.begin(), g.tangents.end()}, failure_.defined));
    const ir::Node* raises = first_that_raises(needed(graph_, reached, first_result));
    const std::vector<bool> there = computable();
    for (size_t i = 0; i < reached.size(); ++i)
      reached[i] = reached[i] && there[i] && raises && is_complete(joint_.gradients[i], *raises);
    return reached;
  }

 private:
  // The engine goes by the program's operators from the last to the first: a gradient is complete before one
  // of them, if those that read its value and that the pass comes by are all later.
  bool is_complete(const Joint::Gradient& gradient, const ir::Node& raises) const {
    const ir::Node* one = raises.origin.from.size() == 1 ? graph_.find(raises.origin.from[0]) : nullptr;
    return one &&
           std::all_of(gradient.terms.begin(), gradient.terms.end(), [&](const autodiff::GradientTerm& term) {
             if (term.reader < 0) return true;
             if (!any_of_both({term.tangents.begin(), term.tangents.end()}, failure_.defined)) return true;
             return graph_.find(term.reader) && graph_.position(term.reader) > graph_.position(one->id);
           });
  }

  // By node, the tangents whose pass comes by it; what no tangent reaches is computed for its readers.
  std::unordered_map<ir::NodeId, std::set<int>> passes_by() const {
    auto out = autodiff::tangents_in(graph_, tangents_);
    const auto& nodes = graph_.nodes();
    for (size_t i = nodes.size(); i-- > joint_.derivative_begins;) {
      const std::set<int> by = out[nodes[i].id];
      ir::each_ref(nodes[i], [&](ir::Ref r) {
        const bool of_derivative = graph_.position(r.node) >= joint_.derivative_begins;
        if (std::set<int>& own = out[r.node]; of_derivative && own.empty()) own = by;
      });
    }
    return out;
  }

  // Of the derivative of the first operator that raises.
  const ir::Node* first_that_raises(const std::vector<bool>& live) const {
    const auto by = passes_by();
    const auto& nodes = graph_.nodes();
    for (size_t i = joint_.derivative_begins; i < nodes.size(); ++i) {
      const std::set<int>& tangents = by.at(nodes[i].id);
      if (live[i] && any_of_both(tangents, failure_.defined) && raises(nodes[i], tangents)) return &nodes[i];
    }
    return nullptr;
  }

  bool raises(const ir::Node& node, const std::set<int>& tangents) const {
    bool reads_changed = false, reads_saved = is_factor(node);
    ir::each_ref(node, [&](ir::Ref r) {
      reads_changed = reads_changed || changed_.contains(r.node);
      const bool is_tangent = std::find(tangents_.begin(), tangents_.end(), r.node) != tangents_.end();
      reads_saved = reads_saved || (!is_tangent && graph_.position(r.node) < joint_.derivative_begins);
    });
    return reads_changed || (reads_saved && any_of_both(tangents, failure_.used));
  }

  // To autograd a number that is a factor is a tensor as well, and saved.
  bool is_factor(const ir::Node& node) const {
    return std::any_of(node.origin.from.begin(), node.origin.from.end(), [&](ir::NodeId id) {
      const ir::Node* of = graph_.find(id);
      return of && ops::is(ops::find(of->op), ops::kSavesNumbers);
    });
  }

  // By gradient: it reads nothing that has changed or is gone.
  std::vector<bool> computable() const {
    std::vector<ir::NodeId> lost;
    for (size_t i = 0; i < joint_.halves.handed_over(); ++i)
      if (failure_.changed.at(i) || failure_.missing.at(i)) lost.push_back(inputs_[i]);
    const auto from = autodiff::tangents_in(backward_, lost);
    std::vector<bool> out;
    for (const ir::Arg& r : backward_.results())
      out.push_back(r.is<ir::Ref>() && from.at(r.as<ir::Ref>().node).empty());
    return out;
  }

  const Joint& joint_;
  const ir::Graph &graph_, &backward_;
  const Failure& failure_;
  std::vector<ir::NodeId> inputs_, tangents_;  // of the backward graph; tangents have the same ids in both
  Nodes changed_;
};

}  // namespace

std::vector<bool> complete_before(const Joint& joint, const ir::Graph& backward, const Failure& failure) {
  if (!joint.borrowed.empty()) return std::vector<bool>(joint.gradients.size());
  return PartialWalk(joint, backward, failure).run();
}

ir::GraphPtr part_of(const ir::Graph& graph, const std::vector<bool>& wanted) {
  const std::vector<bool> live = needed(graph, wanted, 0);
  ir::Builder b(graph.stage, std::make_shared<ir::NodeIds>());
  for (size_t i = 0; i < live.size(); ++i)
    if (const ir::Node& n = graph.nodes()[i]; live[i] || n.kind != ir::NodeKind::op) b.add(n);
  std::vector<ir::Arg> results;
  for (size_t i = 0; i < graph.results().size(); ++i)
    results.push_back(i < wanted.size() && wanted[i] ? graph.results()[i] : ir::Arg());
  return b.finish(std::move(results));
}

}  // namespace vitrine::torch_api
