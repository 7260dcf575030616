#include "core/autodiff/rng_replay.h"

#include "core/ops/node.h"

namespace vitrine::autodiff {

namespace {

bool may_be_repeated(const ir::Node& node) {
  return node.op.starts_with("aten.") && !node.outputs.empty() && node.type().device.is_cpu();
}

// By the checkpoint's number: its first draw, where all can be repeated.
std::map<int32_t, ir::NodeId> first_draws(const JointGraph& joint) {
  std::map<int32_t, ir::NodeId> first;
  std::map<int32_t, bool> all;
  const size_t begin = joint.leading + joint.tangents;
  for (size_t i = begin; i < begin + joint.forward; ++i) {
    const ir::Node& n = joint.graph->nodes()[i];
    if (n.origin.checkpoint.number < 0 || !ops::is_random(n)) continue;
    first.emplace(n.origin.checkpoint.number, n.id);
    bool& so_far = all.emplace(n.origin.checkpoint.number, true).first->second;
    so_far = so_far && may_be_repeated(n);
  }
  std::erase_if(first, [&](const auto& entry) { return !all.at(entry.first); });
  return first;
}

}  // namespace

JointGraph with_generator_states(JointGraph joint, const ir::TensorType& state,
                                 const std::shared_ptr<ir::NodeIds>& ids) {
  const std::map<int32_t, ir::NodeId> first = first_draws(joint);
  if (first.empty()) return joint;
  ir::Builder b(joint.graph->stage, ids);
  for (const ir::Node& n : joint.graph->nodes()) {
    const int32_t number = n.origin.checkpoint.number;
    if (const auto it = first.find(number); it != first.end() && it->second == n.id)
      b.op(kGeneratorState, {}, {state}, n.origin);
    b.add(n);
  }
  joint.graph = b.finish(joint.graph->results());
  joint.forward += first.size();
  return joint;
}

std::map<int32_t, CheckpointDraws> find_draws(const JointGraph& joint) {
  std::map<int32_t, CheckpointDraws> out;
  const size_t begin = joint.leading + joint.tangents;
  for (size_t i = begin; i < begin + joint.forward; ++i) {
    const ir::Node& n = joint.graph->nodes()[i];
    const int32_t number = n.origin.checkpoint.number;
    if (n.op == kGeneratorState)
      out[number].state = n.id;
    else if (const auto it = out.find(number); it != out.end() && ops::is_random(n))
      it->second.nodes.push_back(n.id);
  }
  return out;
}

}  // namespace vitrine::autodiff
