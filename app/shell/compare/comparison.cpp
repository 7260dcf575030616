#include "app/shell/compare/comparison.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/session/compare/aligned.h"
#include "core/session/compare/same_graph.h"
#include "core/session/reader.h"
#include "core/session/stages.h"

namespace vitrine::app {

using kit::SessionData;
using namespace session;

namespace {

// As core/session/compare has paired them.
void pairCompilations(TwoSessions& c) {
  for (const PairedProgram& pair : c.difference.paired)
    c.compilations.emplace_back(pair.before_id, pair.after_id);
}

void relate(TwoSessions& c, Id before, Id after) {
  c.to_after.try_emplace(before, after);
  c.to_before.try_emplace(after, before);
}

// "fc aten.add.Tensor" of each node. Between two compilers modules are not known on both sides, and operators
// have other names: "add".
std::vector<KeyedNode> keyedNodes(const SessionData& d, const GraphRow& graph, bool plain) {
  std::vector<KeyedNode> out;
  for (const NodeRow& node : d.nodes.of(d.withNodes(graph)->id)) {
    const std::string what = node.kind != "op" ? node.kind + " " + node.name
                             : plain           ? call_word(node.op)
                                               : node.module + " " + node.op;
    out.push_back({what, plain ? "" : node.type});
  }
  return out;
}

void relateNodes(TwoSessions& c, Id before, Id after, const std::string& stage) {
  const GraphRow *a = c.before->lastGraph(before, stage), *b = c.after->lastGraph(after, stage);
  if (!a || !b) return;
  const bool plain = c.before->imported() != c.after->imported();
  const AlignedKeys keys = aligned_keys(keyedNodes(*c.before, *a, plain), keyedNodes(*c.after, *b, plain));
  std::unordered_map<std::string, Id> there;
  size_t i = 0;
  for (const NodeRow& node : c.after->nodes.of(c.after->withNodes(*b)->id))
    there.emplace(keys.after[i++], node.id);
  i = 0;
  for (const NodeRow& node : c.before->nodes.of(c.before->withNodes(*a)->id))
    if (const auto at = there.find(keys.before[i++]); at != there.end()) relate(c, node.id, at->second);
}

// By a kernel's label, the nodes that it computes; `named`: by their counterparts on the other side, where
// they have one.
std::map<std::string, std::set<Id>> computedBy(const SessionData& d, Id compilation,
                                               const std::unordered_map<Id, Id>* named) {
  std::map<std::string, std::set<Id>> out;
  const GraphRow* graph = d.lastGraph(compilation, "fused");
  if (!graph) return out;
  for (const NodeRow& node : d.nodes.of(d.withNodes(*graph)->id)) {
    if (node.group_label.empty()) continue;
    std::set<Id>& nodes = out[node.group_label];
    const auto at = named ? named->find(node.id) : std::unordered_map<Id, Id>::const_iterator();
    if (!named)
      nodes.insert(node.id);
    else if (at != named->end())
      nodes.insert(at->second);
  }
  return out;
}

std::vector<std::string> linesOf(const SessionData& d, const KernelRow& row) {
  std::vector<std::string> out;
  const kit::Text text = d.texts ? d.texts->load(row.source) : nullptr;
  if (!text) return out;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    out.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  std::sort(out.begin(), out.end());
  return out;
}

int64_t linesApart(const TwoSessions& c, Id before, Id after) {
  const KernelRow *a = c.before->kernels.find(before), *b = c.after->kernels.find(after);
  if (!a || !b) return 0;
  const auto left = linesOf(*c.before, *a), right = linesOf(*c.after, *b);
  std::vector<std::string> apart;
  std::set_symmetric_difference(left.begin(), left.end(), right.begin(), right.end(),
                                std::back_inserter(apart));
  return static_cast<int64_t>(apart.size());
}

// Between two compilers: the kernel whose name tells most of the same.
const KernelRow* likestKernel(const SessionData& d, Id compilation, const KernelRow& row,
                              const std::set<Id>& taken) {
  const KernelRow* best = nullptr;
  double likest = kAlike;
  for (const KernelRow& other : d.kernels.of(compilation)) {
    if (taken.contains(other.id)) continue;
    if (const double like = kernel_likeness(row.name, other.name); like > likest)
      likest = like, best = &other;
  }
  return best;
}

// The kernels of a compilation by what they compute, and those of which that is not known by their name.
struct KernelsByWork {
  std::unordered_map<Id, std::vector<const KernelRow*>> by_node;
  std::unordered_map<std::string, std::vector<const KernelRow*>> by_name;
  KernelsByWork(const SessionData& d, Id compilation) {
    const auto computed = computedBy(d, compilation, nullptr);
    for (const KernelRow& row : d.kernels.of(compilation)) {
      const auto own = computed.find(row.label);
      if (own == computed.end())
        by_name[row.name].push_back(&row);
      else
        for (const Id node : own->second) by_node[node].push_back(&row);
    }
  }
  // nodes: of the other side's kernel, as they are called here; nullptr: not known.
  const KernelRow* most(const std::set<Id>* nodes, const std::string& name, const std::set<Id>& taken) const {
    if (!nodes) {
      if (const auto named = by_name.find(name); named != by_name.end())
        for (const KernelRow* row : named->second)
          if (!taken.contains(row->id)) return row;
      return nullptr;
    }
    std::map<std::pair<int64_t, Id>, std::pair<size_t, const KernelRow*>> common;  // in their order
    for (const Id node : *nodes)
      if (const auto at = by_node.find(node); at != by_node.end())
        for (const KernelRow* row : at->second)
          if (!taken.contains(row->id)) {
            auto& [count, kernel] = common[{row->ordinal, row->id}];
            ++count, kernel = row;
          }
    size_t best = 0;
    const KernelRow* out = nullptr;
    for (const auto& [place, each] : common)
      if (each.first > best) std::tie(best, out) = each;
    return out;
  }
};

// The kernel that computes most of the same; of what computes nothing that is known, the one of its name.
void pairKernels(TwoSessions& c, Id before, Id after) {
  const auto ours = computedBy(*c.before, before, &c.to_after);
  const KernelsByWork theirs(*c.after, after);
  const bool two = c.before->imported() != c.after->imported();  // by what their names tell
  std::set<Id> taken;
  for (const KernelRow& row : c.before->kernels.of(before)) {
    const auto own = ours.find(row.label);
    const KernelRow* best = two ? likestKernel(*c.after, after, row, taken)
                                : theirs.most(own == ours.end() ? nullptr : &own->second, row.name, taken);
    c.kernels.push_back({row.id, best ? best->id : 0, best ? linesApart(c, row.id, best->id) : 0});
    if (!best) continue;
    taken.insert(best->id);
    relate(c, row.id, best->id);
  }
  for (const KernelRow& other : c.after->kernels.of(after))
    if (!taken.contains(other.id)) c.kernels.push_back({0, other.id, 0});
}

std::vector<Id> aloneIn(const SessionData& d, const std::unordered_map<Id, Id>& known, Id compilation,
                        const std::string& stage) {
  std::vector<Id> out;
  size_t all = 0;
  if (const GraphRow* graph = d.lastGraph(compilation, stage))
    for (const NodeRow& node : d.nodes.of(graph->id)) {
      if (node.kind != "op") continue;
      ++all;
      if (!known.contains(node.id)) out.push_back(node.id);
    }
  return 2 * out.size() > all ? std::vector<Id>() : out;
}

Result<ComparedSession> comparedOf(const std::string& path) {
  auto reader = Reader::open(path);
  if (!reader) return reader.error();
  return compared_session(*reader.value());
}

}  // namespace

std::vector<Id> aloneBefore(const TwoSessions& c, Id compilation, const std::string& stage) {
  return aloneIn(*c.before, c.to_after, compilation, stage);
}

std::vector<Id> aloneAfter(const TwoSessions& c, Id compilation, const std::string& stage) {
  return aloneIn(*c.after, c.to_before, compilation, stage);
}

Result<TwoSessionsPtr> compareFiles(const std::string& before, const std::string& after) {
  auto out = std::make_shared<TwoSessions>();
  auto a = SessionData::load(before), b = SessionData::load(after);
  if (!a) return a.error();
  if (!b) return b.error();
  out->before = a.take(), out->after = b.take();
  auto old = comparedOf(before), now = comparedOf(after);
  if (!old) return old.error();
  if (!now) return now.error();
  out->difference = compare_sessions(old.value(), now.value());
  out->equal = equal_changes(out->difference);
  pairCompilations(*out);
  for (const auto& [from, to] : std::vector(out->compilations)) {
    relate(*out, from, to);
    for (const StageInfo& stage : kStages)
      if (stage.shows == "graph") relateNodes(*out, from, to, std::string(stage.name));
    pairKernels(*out, from, to);
  }
  return TwoSessionsPtr(std::move(out));
}

}  // namespace vitrine::app
