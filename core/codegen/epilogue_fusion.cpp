#include "core/codegen/epilogue_fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vitrine::codegen {

namespace {

using fusion::Loop;

// Units that read the value from memory; -1: it is a result.
std::set<int> units_of(const fusion::Readers& readers, const fusion::FusedProgram& fused, ir::Ref root) {
  std::set<int> out;
  for (size_t l : readers.of(root)) out.insert(fused.unit_of[l]);
  if (readers.is_result(root)) out.insert(-1);
  return out;
}

// Whether the product, computed where its epilogue is, would hold more of what it reads alone than its own
// value takes meanwhile: a gradient to which another part of the program adds only at the end.
bool waits_dearly(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                  const fusion::FusedProgram& fused, size_t product, size_t unit) {
  if (fused.unit_of[product] + 1 >= static_cast<int>(unit)) return false;
  std::set<ir::Ref> seen;
  int64_t held = -loops.graph->node(loops.loops[product].node).type().bytes().hint();
  fusion::each_read(loops, loops.loops[product], [&](ir::Ref root) {
    if (!seen.emplace(root.node, root.output).second) return;
    const ir::Node& from = loops.graph->node(root.node);
    if (from.kind == ir::NodeKind::parameter || from.kind == ir::NodeKind::constant) return;
    const std::set<int> units = units_of(readers, fused, root);
    if (!units.contains(-1) && *units.rbegin() < static_cast<int>(unit))
      held += from.outputs[static_cast<size_t>(root.output)].bytes().hint();
  });
  return held > 0;
}

}  // namespace

std::optional<size_t> followed_product(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                                       const fusion::FusedProgram& fused, size_t unit) {
  const fusion::Unit& u = fused.units[unit];
  if (u.kind != Loop::Kind::pointwise) return {};
  for (const fusion::Member& member : u.group.members) {
    for (const fusion::Access& read : member.operands) {
      auto producer = loops.loop_of.find(read.root.node);
      if (producer == loops.loop_of.end()) continue;
      const Loop& loop = loops.loops[producer->second];
      if (loop.kind != Loop::Kind::library || !is_product(loops.graph->node(loop.node))) continue;
      // A write to memory between the two would be seen too early or too late.
      if (loop.epoch != loops.loops[u.loops.front()].epoch) continue;
      if (units_of(readers, fused, read.root) != std::set<int>{static_cast<int>(unit)}) continue;
      if (!waits_dearly(loops, readers, fused, producer->second, unit)) return producer->second;
    }
  }
  return {};
}

void join_products(const fusion::LoopProgram& loops, const fusion::Readers& readers,
                   fusion::FusedProgram& fused, const ProductChoices& choices) {
  std::map<ir::NodeId, std::vector<size_t>> decisions;  // by the first of their two
  for (size_t d = 0; d < fused.decisions.size(); ++d) decisions[fused.decisions[d].a].push_back(d);
  std::vector<bool> gone(fused.units.size(), false);
  for (size_t u = 0; u < fused.units.size(); ++u) {
    auto product = followed_product(loops, readers, fused, u);
    if (!product) continue;
    const ir::NodeId node = loops.loops[*product].node;
    auto choice = choices.find(node);
    if (choice == choices.end() || !choice->second.fused) continue;
    gone[static_cast<size_t>(fused.unit_of[*product])] = true;
    fused.units[u].product = static_cast<int>(*product);
    fused.units[u].loops.insert(fused.units[u].loops.begin(), *product);
    fused.unit_of[*product] = static_cast<int>(u);
    int64_t saved = 2 * loops.graph->node(node).type().bytes().hint();
    for (size_t position : decisions[node]) {
      fusion::Decision& d = fused.decisions[position];
      if (fused.unit_of[loops.loop_of.at(d.b)] != static_cast<int>(u)) continue;
      d.fused = true;
      d.reason = "computed on blocks of the product that are still in the cache";
      d.bytes_saved = std::exchange(saved, 0);  // once, however often the value is read
    }
  }
  std::vector<int> place(fused.units.size(), -1);
  std::vector<fusion::Unit> left;
  for (size_t u = 0; u < fused.units.size(); ++u) {
    if (gone[u]) continue;
    place[u] = static_cast<int>(left.size());
    left.push_back(std::move(fused.units[u]));
  }
  fused.units = std::move(left);
  for (int& unit : fused.unit_of)
    if (unit >= 0) unit = place[static_cast<size_t>(unit)];
}

}  // namespace vitrine::codegen
