#include "core/torch_bridge/shared_saves.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/torch_bridge/lowering_state.h"

namespace vitrine::torch_bridge {

namespace {

using Nodes = std::unordered_set<ir::NodeId>;

// Forward operators whose derivative reads a value of forward: they have saved it. To autograd a number that
// is a factor is a tensor as well.
Nodes saving(const JointParts& parts) {
  Nodes values, out;
  for (const auto* nodes : {&parts.leading, &parts.forward})
    for (const ir::Node& n : *nodes) values.insert(n.id);
  for (const ir::Node& n : parts.forward)
    if (n.op == "aten.mul.Tensor" || n.op == "aten.div.Tensor") out.insert(n.id);
  for (const ir::Node& n : parts.backward)
    ir::each_ref(n, [&](ir::Ref r) {
      if (values.contains(r.node)) out.insert(n.origin.from.begin(), n.origin.from.end());
    });
  return out;
}

// The operators that a backward pass from a result goes through.
Nodes behind(const JointParts& parts, ir::NodeId result,
             const std::map<ir::NodeId, std::vector<bool>>& followed) {
  Nodes out = {result};
  for (auto n = parts.forward.rbegin(); n != parts.forward.rend(); ++n) {
    auto flags = followed.find(n->id);
    if (!out.contains(n->id) || flags == followed.end()) continue;
    size_t argument = 0;
    ir::each_ref(*n, [&](ir::Ref r) {
      if (flags->second.at(argument++)) out.insert(r.node);
    });
  }
  return out;
}

}  // namespace

std::vector<std::vector<int>> shared_saves(const JointParts& parts, const std::vector<bool>& wanted,
                                           const std::map<ir::NodeId, std::vector<bool>>& followed,
                                           bool own_rules) {
  std::vector<std::vector<int>> out(parts.tangents.size());
  if (!own_rules) {
    for (auto& all : out) all.resize(out.size()), std::iota(all.begin(), all.end(), 0);
    return out;
  }
  const Nodes saved = saving(parts);
  std::vector<Nodes> used;
  for (size_t i = 0; i < parts.results.size(); ++i) {
    if (!wanted.at(i)) continue;
    used.push_back(behind(parts, parts.results[i].node, followed));
    std::erase_if(used.back(), [&](ir::NodeId n) { return !saved.contains(n); });
  }
  for (size_t i = 0; i < used.size(); ++i)
    for (size_t k = 0; k < used.size(); ++k)
      if (std::any_of(used[i].begin(), used[i].end(), [&](ir::NodeId n) { return used[k].contains(n); }))
        out[i].push_back(static_cast<int>(k));
  return out;
}

std::vector<std::vector<int>> results_passed(const JointParts& parts, const std::vector<bool>& wanted,
                                             const std::map<ir::NodeId, std::vector<bool>>& followed) {
  std::vector<ir::NodeId> results;
  for (size_t i = 0; i < parts.results.size(); ++i)
    if (wanted.at(i)) results.push_back(parts.results[i].node);
  std::vector<std::vector<int>> out(results.size());
  for (size_t i = 0; results.size() > 1 && i < results.size(); ++i) {
    const Nodes on_the_way = behind(parts, results[i], followed);
    for (size_t k = 0; k < results.size(); ++k)
      if (results[k] != results[i] && on_the_way.contains(results[k])) out[i].push_back(static_cast<int>(k));
  }
  return out;
}

}  // namespace vitrine::torch_bridge
