#include "core/autograd/shared_saves.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/autograd/joint_maker.h"
#include "core/ops/table.h"

namespace vitrine::torch_api {

namespace {

using Nodes = std::unordered_set<ir::NodeId>;

// Forward operators whose derivative reads a value of forward: they have saved it. To autograd a number that
// is a factor is a tensor as well.
Nodes saving(const JointParts& parts) {
  Nodes values, out;
  for (const auto* nodes : {&parts.leading, &parts.forward})
    for (const ir::Node& n : *nodes) values.insert(n.id);
  for (const ir::Node& n : parts.forward)
    if (ops::is(ops::find(n.op), ops::kSavesNumbers)) out.insert(n.id);
  for (const ir::Node& n : parts.backward)
    ir::each_ref(n, [&](ir::Ref r) {
      if (values.contains(r.node)) out.insert(n.origin.from.begin(), n.origin.from.end());
    });
  return out;
}

// What a backward pass from a result comes by: the values, without those behind a stop, and the operators.
struct BackwardReach {
  std::set<ir::Ref> values;
  Nodes operators;
};
BackwardReach way_from(const JointParts& parts, ir::Ref result, const Followed& followed,
                       const std::set<ir::Ref>& stops) {
  BackwardReach out{{result}, {}};
  for (auto n = parts.forward.rbegin(); n != parts.forward.rend(); ++n) {
    bool goes_on = false;
    for (int32_t k = 0; k < static_cast<int32_t>(n->outputs.size()); ++k) {
      const ir::Ref v{n->id, k};
      goes_on = goes_on || (out.values.contains(v) && (v == result || !stops.contains(v)));
    }
    auto flags = followed.find(n->id);
    if (!goes_on || flags == followed.end()) continue;
    out.operators.insert(n->id);
    size_t argument = 0;
    ir::each_ref(*n, [&](ir::Ref r) {
      if (flags->second.at(argument++)) out.values.insert(r);
    });
  }
  return out;
}

std::vector<ir::Ref> differentiated(const JointParts& parts, const std::vector<bool>& wanted) {
  std::vector<ir::Ref> out;
  for (size_t i = 0; i < parts.results.size(); ++i)
    if (wanted.at(i)) out.push_back(parts.results[i]);
  return out;
}

}  // namespace

std::vector<std::vector<int>> shared_saves(const JointParts& parts, const std::vector<bool>& wanted,
                                           const Followed& followed, bool own_rules, bool to_points) {
  std::vector<std::vector<int>> out(parts.tangents.size());
  if (!own_rules) {
    for (auto& all : out) all.resize(out.size()), std::iota(all.begin(), all.end(), 0);
    return out;
  }
  const Nodes saved = saving(parts);
  std::set<ir::Ref> stops;
  for (const JointParts::Point& point : parts.points)
    if (to_points) stops.insert(point.value);
  std::vector<Nodes> used;
  for (ir::Ref result : differentiated(parts, wanted)) {
    used.push_back(way_from(parts, result, followed, stops).operators);
    std::erase_if(used.back(), [&](ir::NodeId n) { return !saved.contains(n); });
  }
  for (size_t i = 0; i < used.size(); ++i)
    for (size_t k = 0; k < used.size(); ++k)
      if (std::any_of(used[i].begin(), used[i].end(), [&](ir::NodeId n) { return used[k].contains(n); }))
        out[i].push_back(static_cast<int>(k));
  return out;
}

std::vector<std::vector<int>> points_passed(const JointParts& parts, const std::vector<bool>& wanted,
                                            const Followed& followed) {
  std::vector<std::vector<int>> out;
  for (ir::Ref result : differentiated(parts, wanted)) {
    std::vector<int>& passed = out.emplace_back();
    if (parts.points.empty()) continue;
    const BackwardReach way = way_from(parts, result, followed, {});
    for (size_t k = 0; k < parts.points.size(); ++k)
      if (parts.points[k].value != result && way.values.contains(parts.points[k].value))
        passed.push_back(static_cast<int>(k));
  }
  return out;
}

}  // namespace vitrine::torch_api
