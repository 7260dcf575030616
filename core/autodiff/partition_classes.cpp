#include "core/autodiff/partition_classes.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/result.h"
#include "core/ops/node.h"

namespace vitrine::autodiff {

namespace {

const ops::OpRow* row_of(const ir::Node& node) {
  return node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
}

// Of an operator without a row PyTorch's own only reads: attention on a GPU, Fourier transforms.
bool gives_the_same_again(const ir::Node& n) {
  return row_of(n) || (n.op.starts_with("aten.") && !ops::writes(n));
}

// By position: a node that stands for all whose outputs may share its memory.
std::vector<size_t> find_memory(const ir::Graph& graph) {
  std::vector<size_t> parent(graph.nodes().size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  auto root = [&](size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (size_t i = 0; i < parent.size(); ++i)
    for (ir::Ref r : ops::aliased(graph.nodes()[i])) parent[root(i)] = root(graph.position(r.node));
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = root(i);
  return parent;
}

// By position: whether some node writes memory that the node's outputs may share.
std::vector<bool> find_written(const ir::Graph& graph, const std::vector<size_t>& memory) {
  std::vector<bool> dirty(memory.size()), out(memory.size());
  for (const ir::Node& n : graph.nodes())
    for (ir::Ref r : ops::written(n)) dirty[memory[graph.position(r.node)]] = true;
  for (size_t i = 0; i < out.size(); ++i) out[i] = dirty[memory[i]];
  return out;
}

// A range, zeros: nothing is kept that costs nothing to make again.
bool is_made_of_numbers(const ops::OpRow& row, const ir::Node& node) {
  bool reads = false;
  ir::each_ref(node, [&](ir::Ref) { reads = true; });
  return row.lower == ops::Lower::movement && !reads;
}

bool is_cheap_row(const ops::OpRow& row) {
  using ops::Lower;
  if (row.lower == Lower::pointwise || row.lower == Lower::view) return true;
  return row.lower == Lower::decompose && row.family == ops::Family::pointwise;
}

}  // namespace

PartitionClasses::PartitionClasses(const JointGraph& joint, const Pins& pins)
    : joint_(joint), pins_(pins), users_(joint.graph->users()) {
  VITRINE_CHECK(first_backward() <= graph().nodes().size() && joint.results <= graph().results().size(),
                "not a joint graph");
  find_kinds();
  find_live();
  find_bound();
  find_dropped();
  find_pinned();
}

std::string pin_text(const std::string& name, Pin pin) {
  return name + (pin == Pin::saved ? " as saved" : " as recomputed");
}

// "", or why a value cannot be what it is pinned as.
std::string PartitionClasses::why_not(Pin pin, const ir::Node& node) const {
  if (!is_forward(node.id)) return "it is no value that forward computes";
  if (is_view(node.id)) return "it is a view, and has no memory of its own";
  if (pin == Pin::saved) return is_dropped(node.id) ? "torch.utils.checkpoint drops it" : "";
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (result_of({node.id, static_cast<int32_t>(i)}) >= 0) return "it is a result, which is kept anyway";
  if (leaves_checkpoint(node.id)) return "torch.utils.checkpoint keeps it";
  if (ops::is_random(node)) return "it draws random numbers";
  if (!gives_the_same_again(node)) return "it may not be called twice";
  bool written = written_[at(node.id)];
  ir::each_ref(node, [&](ir::Ref r) { written = written || written_[at(r.node)]; });
  return written ? "its memory, or that of an operand, is written to" : "";
}

void PartitionClasses::find_pinned() {
  pinned_.assign(graph().nodes().size(), false);
  for (const auto& [name, pin] : pins_) {
    const auto& nodes = graph().nodes();
    const auto node =
        std::find_if(nodes.begin(), nodes.end(), [&](const ir::Node& n) { return n.name == name; });
    const std::string why = node == nodes.end() ? "there is no such value" : why_not(pin, *node);
    if (!why.empty()) {
      refused_.push_back(pin_text(name, pin) + ": " + why);
      continue;
    }
    pinned_[at(node->id)] = true;
    if (pin == Pin::recomputed) dropped_[at(node->id)] = true;
  }
}

void PartitionClasses::find_kinds() {
  const size_t n = graph().nodes().size();
  memory_ = find_memory(graph());
  written_ = find_written(graph(), memory_);
  cheap_.assign(n, false), view_ = fusible_ = cheap_;
  for (size_t i = 0; i < n; ++i) {
    const ir::Node& node = graph().nodes()[i];
    const ops::OpRow* row = row_of(node);
    if (!row || node.outputs.empty()) continue;
    const bool cheap = is_cheap_row(*row) || is_made_of_numbers(*row, node);
    fusible_[i] = cheap || row->lower == ops::Lower::reduction || row->lower == ops::Lower::decompose;
    // A view may give several tensors: what is split.
    const bool several = node.outputs.size() != 1 && row->lower != ops::Lower::view;
    if (several || ops::is_random(node) || ops::writes(node)) continue;
    // A view of an input is that of a part that eager reads as it is in backward, written to or not.
    view_[i] = row->lower == ops::Lower::view;
    cheap_[i] = cheap && !written_[i];
    ir::each_ref(node, [&](ir::Ref r) {
      if (written_[at(r.node)]) cheap_[i] = false;  // what it reads may be another value by then
    });
  }
}

// What the gradients need of the backward part; a node that writes stays, whatever reads it.
void PartitionClasses::find_live() {
  live_.assign(graph().nodes().size(), false);
  auto want = [&](ir::Ref r) { live_[at(r.node)] = true; };
  for (size_t i = joint_.results; i < graph().results().size(); ++i) ir::each_ref(graph().results()[i], want);
  for (size_t i = graph().nodes().size(); i-- > first_backward();) {
    const ir::Node& node = graph().nodes()[i];
    if (ops::writes(node)) live_[i] = true;
    if (live_[i]) ir::each_ref(node, want);
  }
}

void PartitionClasses::find_bound() {
  bound_.assign(graph().nodes().size(), false);
  for (size_t i = joint_.leading; i < first_forward(); ++i) bound_[i] = true;
  for (size_t i = first_backward(); i < bound_.size(); ++i) {
    if (!cheap_[i]) bound_[i] = true;
    ir::each_ref(graph().nodes()[i], [&](ir::Ref r) {
      if (bound_[at(r.node)]) bound_[i] = true;
    });
  }
}

const CheckpointDraws* PartitionClasses::draws_of(const ir::Node& n) const {
  const auto it = draws_.find(n.origin.checkpoint.number);
  if (it == draws_.end() || !is_forward(n.id) || n.id == it->second.state || !ops::is_random(n))
    return nullptr;
  return &it->second;
}

// By memory: whether one checkpoint alone makes, writes and reads it, each write by its name alone from then
// on, so that repeating what a value is computed from gives that value again.
std::vector<bool> PartitionClasses::find_memory_of_one() {
  const auto& nodes = graph().nodes();
  std::vector<bool> out(nodes.size(), true);
  std::vector<int32_t> owner(nodes.size(), -1);
  std::vector<std::unordered_set<ir::NodeId>> names(nodes.size());  // by memory: since the last write
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ir::Node& n = nodes[i];
    const size_t own = memory_[i];
    if (owner[own] < 0) owner[own] = n.origin.checkpoint.number;
    const bool another = n.origin.checkpoint.number < 0 || owner[own] != n.origin.checkpoint.number;
    if (!is_forward(n.id) || another || (ops::is_random(n) && !draws_of(n))) out[own] = false;
    ir::each_ref(n, [&](ir::Ref r) {
      const size_t read = memory_[at(r.node)];
      if (written_[at(r.node)] && !names[read].contains(r.node)) out[read] = false;
    });
    if (ops::writes(n)) names[own].clear();
    names[own].insert(n.id);
  }
  return out;
}

// By what backward has besides the derivative of its own checkpoint.
bool PartitionClasses::is_needed_outside(ir::NodeId n) const {
  const int32_t own = graph().node(n).origin.checkpoint.number;
  return std::any_of(users_[at(n)].begin(), users_[at(n)].end(), [&](ir::NodeId user) {
    const int32_t theirs = graph().node(user).origin.checkpoint.number;
    if (theirs == own || !(is_forward(user) || is_backward(user))) return false;
    return !is_forward(user) || theirs >= 0 || cheap_[at(user)];
  });
}

void PartitionClasses::find_dropped() {
  const auto& nodes = graph().nodes();
  dropped_.assign(nodes.size(), false), leaves_ = dropped_;
  has_checkpoints_ = std::any_of(nodes.begin(), nodes.end(),
                                 [](const ir::Node& n) { return n.origin.checkpoint.number >= 0; });
  if (!has_checkpoints_) return;
  draws_ = find_draws(joint_);
  const std::vector<bool> of_one = find_memory_of_one();
  const auto steady = [&](ir::NodeId n) { return !written_[at(n)] || of_one[memory_[at(n)]]; };
  for (size_t i = nodes.size(); i-- > first_forward();) {
    const ir::Node& n = nodes[i];
    if (n.origin.checkpoint.number < 0) continue;
    if (!is_forward(n.id)) {
      dropped_[i] = live_[i] && !bound_[i];
      continue;
    }
    leaves_[i] = leaves_[i] || is_needed_outside(n.id);
    const bool leaves_by_name = leaves_[i] && view_[i] && cheap_[i];
    bool may = steady(n.id) && (ops::is_random(n) ? draws_of(n) != nullptr : gives_the_same_again(n));
    ir::each_ref(n, [&](ir::Ref r) {
      may = may && steady(r.node);
      const bool made_in_it = is_forward(r.node) && graph().node(r.node).origin.checkpoint.number >= 0;
      if (leaves_by_name && made_in_it) leaves_[at(r.node)] = true;
    });
    if (leaves_by_name) leaves_[i] = false;  // what it is a view of is kept
    dropped_[i] = may && !leaves_[i] && !leaves_by_name;
  }
}

ir::Ref PartitionClasses::viewed(ir::Ref ref) const {
  while (is_forward(ref.node) && is_view(ref.node) && graph().node(ref.node).args.at(0).is<ir::Ref>())
    ref = graph().node(ref.node).args[0].as<ir::Ref>();
  return ref;
}

bool PartitionClasses::is_view_of_input(ir::Ref ref) const {
  while (!is_leading(ref.node)) {
    const ir::Node& node = graph().node(ref.node);
    if (!is_forward(ref.node) || !is_view(ref.node) || node.args.empty() || !node.args[0].is<ir::Ref>())
      return false;
    ref = node.args[0].as<ir::Ref>();
  }
  return true;
}

int PartitionClasses::result_of(ir::Ref ref) const {
  for (size_t i = 0; i < joint_.results; ++i)
    if (graph().results()[i] == ir::Arg(ref)) return static_cast<int>(i);
  return -1;
}

bool PartitionClasses::is_gradient(ir::Ref ref) const {
  return std::find(graph().results().begin() + static_cast<std::ptrdiff_t>(joint_.results),
                   graph().results().end(), ir::Arg(ref)) != graph().results().end();
}

std::string PartitionClasses::why_kept(ir::NodeId n) const {
  const ir::Node& node = graph().node(n);
  const std::string name = ir::short_op(node.op);
  if (pinned(n)) return "pinned: kept";
  if (leaves_checkpoint(n)) return "a result of torch.utils.checkpoint";
  if (node.op == kGeneratorState) return "what torch.utils.checkpoint draws is drawn again from it";
  bool written = written_[at(n)];
  ir::each_ref(node, [&](ir::Ref r) { written = written || written_[at(r.node)]; });
  if (written) return "its memory, or that of an operand, is written to";
  if (ops::is_random(node)) return name + " draws random numbers";
  if (!row_of(node) || !is_fusible(n)) return name + " is a library call";
  if (!is_cheap(n)) return name + " reduces: dear to repeat, small to keep";
  return "cheaper to keep than what it is made from";
}

}  // namespace vitrine::autodiff
