// Attention that the program writes out, before its derivative is written: the operator that it becomes has a
// gradient rule, which holds no matrix of scores either.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/autograd/joint_maker.h"
#include "core/passes/library_calls/fuse_attention.h"

namespace vitrine::torch_api {

namespace {

// The forward program as a graph whose results are all that somebody asks for.
ir::GraphPtr forward_graph(const JointParts& parts, const std::shared_ptr<ir::NodeIds>& ids) {
  ir::Builder b("aten", ids);
  for (const auto* nodes : {&parts.leading, &parts.forward})
    for (const ir::Node& n : *nodes) b.add(n);
  std::vector<ir::Arg> results;
  for (ir::Ref r : parts.results) results.emplace_back(r);
  for (const JointParts::Point& point : parts.points) results.emplace_back(point.value);
  return b.finish(std::move(results));
}

}  // namespace

std::vector<ir::Node> JointMaker::fuse_attention(JointParts& parts) {
  if (!passes::may_write_attention(parts.forward)) return {};
  std::unordered_set<ir::NodeId> wanted;
  for (int i : parts.input_of) wanted.insert(parts.leading[static_cast<size_t>(i)].id);
  const auto has_gradient = [&](ir::Ref r) {
    if (wanted.contains(r.node)) return true;
    const auto followed = parts.followed.find(r.node);
    return followed != parts.followed.end() &&
           std::find(followed->second.begin(), followed->second.end(), true) != followed->second.end();
  };
  const ir::GraphPtr plain = forward_graph(parts, recording_.ids());
  const ir::GraphPtr fused = passes::fuse_attention_to_derive(plain, recording_.ids(), has_gradient);
  if (fused == plain) return {};
  std::vector<ir::Node> before = std::exchange(parts.forward, {});
  for (const ir::Node& n : fused->nodes()) {
    if (n.kind != ir::NodeKind::op) continue;
    const bool rewritten = !plain->find(n.id) || plain->node(n.id).op != n.op;
    if (rewritten) {
      std::vector<bool> arguments;
      ir::each_ref(n, [&](ir::Ref r) { arguments.push_back(has_gradient(r)); });
      parts.followed[n.id] = std::move(arguments);
    }
    parts.forward.push_back(n);
  }
  return before;
}

}  // namespace vitrine::torch_api
