// Passes over the forward program before its derivative is written, in order. What they make has gradient
// rules of its own: attention that holds no matrix of scores in backward either, and images whose channels
// lie innermost through both halves.
#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/autograd/joint_maker.h"
#include "core/ops/node.h"
#include "core/passes/attention/fuse_attention.h"
#include "core/passes/cleanup/functionalise.h"
#include "core/passes/decompose/batch_norm.h"
#include "core/passes/decompose/uniform_bags.h"
#include "core/passes/layout/channels_last.h"
#include "core/torch_api/library/library.h"

namespace vitrine::torch_api {

namespace {

using HasGradient = std::function<bool(ir::Ref)>;

// The program convolves images on a GPU. Whoever may ask for gradients inside it sees how they lie: then its
// layouts stay.
bool convolves(const JointParts& parts) {
  return parts.points.empty() && std::ranges::any_of(parts.forward, [](const ir::Node& n) {
           return n.op == "aten.convolution.default" && n.type().device.is_cuda();
         });
}
bool may_round_factors(const JointParts& parts) {
  return convolves(parts) && cudnn_allows_tf32();
}
bool may_attend(const JointParts& parts) {
  return passes::may_write_attention(parts.forward);
}

bool bags(const JointParts& parts) {
  return passes::has_bags(parts.forward);
}

// What a pass may ask.
struct EarlyAnswers {
  HasGradient has_gradient;
  passes::ChooseAttention choose_attention;
};
using Ids = std::shared_ptr<ir::NodeIds>;

template <ir::GraphPtr (*pass)(const ir::GraphPtr&, const Ids&)>
ir::GraphPtr plainly(const ir::GraphPtr& graph, const Ids& ids, const EarlyAnswers&) {
  return pass(graph, ids);
}
ir::GraphPtr fuse_attention(const ir::GraphPtr& graph, const Ids& ids, const EarlyAnswers& answers) {
  return passes::fuse_attention_to_derive(graph, ids, answers.has_gradient, answers.choose_attention);
}

struct EarlyPass {
  std::string_view name;
  bool (*applies)(const JointParts&);
  ir::GraphPtr (*pass)(const ir::GraphPtr&, const Ids&, const EarlyAnswers&);
};

constexpr EarlyPass kRows[] = {
    {"fuse_attention", may_attend, fuse_attention},
    {"uniform_bags", bags, plainly<passes::uniform_bags_to_derive>},
    // An activation that is written in place would hold its image's layout.
    {"functionalise", convolves, plainly<passes::functionalise>},
    {"plain_batch_norm", convolves, plainly<passes::plain_batch_norm>},
    {"half_channels_last", convolves, plainly<passes::half_channels_last>},
    {"channels_last", may_round_factors, plainly<passes::channels_last>},
};

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

bool reads_sizes_alone(const ir::Node& n) {
  return n.op.ends_with("_like.default") || n.op.starts_with("aten.new_");
}

// Somewhere memory that autograd follows is written, or read to compute more, without autograd: under
// no_grad, through .detach(), by .data. What a pass made of such a node would be followed, or lead past it.
bool passes_autograd_by(const JointParts& parts, const HasGradient& has_gradient) {
  std::unordered_set<ir::NodeId> views;  // of what is followed, that are not
  const auto shares_followed = [&](ir::Ref r) { return has_gradient(r) || views.contains(r.node); };
  return std::ranges::any_of(parts.forward, [&](const ir::Node& n) {
    if (has_gradient({n.id, 0})) return false;
    if (ops::writes(n)) return std::ranges::any_of(ops::written(n), shares_followed);
    if (std::ranges::any_of(ops::aliased(n), shares_followed)) views.insert(n.id);
    if (n.op == "aten.detach.default" || reads_sizes_alone(n)) return false;
    const bool numbers = std::ranges::any_of(
        n.outputs, [](const ir::TensorType& t) { return ir::is_float(t.dtype) || ir::is_complex(t.dtype); });
    bool reads = false;
    ir::each_ref(n, [&](ir::Ref r) { reads = reads || has_gradient(r); });
    return numbers && reads;
  });
}

// Autograd follows what a pass made as it would have, had the program called it.
void follow(const ir::Graph& before, const ir::Graph& now, const HasGradient& has_gradient,
            std::unordered_map<ir::NodeId, std::vector<bool>>& followed) {
  for (const ir::Node& n : now.nodes()) {
    if (n.kind != ir::NodeKind::op) continue;
    if (const ir::Node* old = before.find(n.id); old && old->op == n.op && old->args == n.args) continue;
    if (before.find(n.id) && !followed.contains(n.id)) continue;  // a tensor detached, or made by sizes alone
    std::vector<bool> arguments;
    ir::each_ref(n, [&](ir::Ref r) { arguments.push_back(has_gradient(r)); });
    if (std::ranges::find(arguments, true) != arguments.end()) followed[n.id] = std::move(arguments);
  }
}

}  // namespace

std::optional<JointMaker::PlainForward> JointMaker::rewrite_forward(const GradientWishes& how,
                                                                    JointParts& parts) {
  std::unordered_set<ir::NodeId> wanted;
  for (int i : parts.input_of) wanted.insert(parts.leading[static_cast<size_t>(i)].id);
  std::unordered_map<ir::NodeId, std::vector<bool>> followed(parts.followed.begin(), parts.followed.end());
  const HasGradient has_gradient = [&](ir::Ref r) {
    if (wanted.contains(r.node)) return true;
    const auto found = followed.find(r.node);
    return found != followed.end() && std::ranges::find(found->second, true) != found->second.end();
  };
  const EarlyAnswers answers{has_gradient, [&](const auto& call) { return choose_attention(call); }};
  ir::GraphPtr plain, now;
  for (const EarlyPass& row : kRows) {
    if (how.without.contains(row.name) || !row.applies(parts)) continue;
    if (!plain && passes_autograd_by(parts, has_gradient)) return {};
    if (!plain) plain = now = forward_graph(parts, recording_.ids());
    const ir::GraphPtr before = std::exchange(now, row.pass(now, recording_.ids(), answers));
    if (now != before) follow(*before, *now, has_gradient, followed);
  }
  if (now == plain) return {};
  PlainForward kept{std::exchange(parts.forward, {}), parts.results};
  for (const ir::Node& n : now->nodes())
    if (n.kind == ir::NodeKind::op) parts.forward.push_back(n);
  for (auto& [id, flags] : followed) parts.followed[id] = std::move(flags);
  for (size_t i = 0; i < now->results().size(); ++i) {
    const ir::Ref value = now->results()[i].as<ir::Ref>();
    if (i < parts.results.size())
      parts.results[i] = value;
    else
      parts.points[i - parts.results.size()].value = value;
  }
  return kept;
}

}  // namespace vitrine::torch_api
