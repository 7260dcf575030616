#include <algorithm>
#include <cstdio>
#include <map>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "profiler/analysis/fusion_price.h"

namespace vitrine::cli {

using namespace session;
using namespace profiler;

namespace {

constexpr size_t kMostJson = size_t{256} << 20;

// The snapshots of a stage to print: all with --passes, else the last of each compilation.
std::vector<GraphRow> snapshots(const Reader& s, const ShowOptions& options, std::string_view stage) {
  EntityNames names(s);
  std::vector<GraphRow> out;
  for (GraphRow& graph : s.all<GraphRow>("ORDER BY compilation, ordinal")) {
    if (graph.stage != stage || !names.shown(graph.compilation, options)) continue;
    if (!options.passes && !out.empty() && out.back().compilation == graph.compilation) out.pop_back();
    out.push_back(std::move(graph));
  }
  return out;
}

// The graph whose rows are this one's nodes: a pass that changed nothing may store none of its own.
int64_t keeper_of_nodes(const Reader& s, const GraphRow& graph) {
  const auto stored = s.rows<GraphRow>(
      "compilation = ?1 AND ordinal <= ?2 AND EXISTS (SELECT 1 FROM node WHERE node.graph = \"graph\".id)",
      {graph.compilation, graph.ordinal}, "ORDER BY ordinal DESC LIMIT 1");
  return stored.empty() ? graph.id : stored.front().id;
}

std::string why_none(const Reader& s, std::string_view stage) {
  const bool derived = stage == "joint" || stage == "forward" || stage == "backward";
  return derived ? why_no_halves(s) : why_nothing(s, stage, "no compilation of this session has the stage");
}

}  // namespace

std::string show_graph(const Reader& s, const ShowOptions& options, std::string_view stage) {
  auto graphs = snapshots(s, options, stage);
  EntityNames names(s);
  if (options.json) {
    std::string all = "[";
    for (const GraphRow& graph : graphs) {
      if (all.size() > kMostJson) {  // many snapshots may name the same nodes
        std::fputs("vitrine: only the first snapshots are printed: together they are too large.\n", stderr);
        break;
      }
      auto json = json_row(s, graph);
      const int64_t keeper = keeper_of_nodes(s, graph);
      json["nodes"] = json_rows(s, s.rows<NodeRow>("graph = ?1", {keeper}, "ORDER BY ordinal"));
      json["edges"] = json_rows(s, s.rows<EdgeRow>("graph = ?1", {keeper}));
      append_element(all, json);
    }
    return array_text(all);
  }
  std::string out;
  for (const GraphRow& graph : graphs) {
    out += "# " + names.compilation(graph.compilation) + (graph.pass.empty() ? "" : ", after " + graph.pass) +
           (graph.sentence.empty() ? "" : ": " + graph.sentence) + "\n" + s.text(graph.text) + "\n";
  }
  return out.empty() ? nothing(std::string(stage) + " graph", why_none(s, stage)) : out;
}

std::string show_decisions(const Reader& s, const ShowOptions& options, std::string_view) {
  return decision_table(s, options, [](const DecisionRow&) { return true; });
}

std::string decision_table(const Reader& s, const ShowOptions& options,
                           const std::function<bool(const DecisionRow&)>& wanted) {
  auto decisions = s.all<DecisionRow>("ORDER BY compilation, ordinal");
  EntityNames names(s);
  std::erase_if(decisions, [&](const auto& d) { return !names.shown(d.compilation, options) || !wanted(d); });
  std::map<Id, FusionRates> rates;
  for (const DecisionRow& d : decisions)
    if (!rates.contains(d.compilation))
      rates[d.compilation] =
          fusion_rates(s.all<CeilingRow>(), s.rows<LaunchRow>("compilation = ?1", {d.compilation}));
  if (options.json) {
    auto json = json_rows(s, decisions);
    for (size_t i = 0; i < decisions.size(); ++i) {
      json[i]["pair"] = {s.row<NodeRow>(decisions[i].a).name, s.row<NodeRow>(decisions[i].b).name};
      json[i]["kernel_label"] = s.row<KernelRow>(decisions[i].kernel).label;
      json[i]["est_ns"] = estimated_ns(decisions[i], rates[decisions[i].compilation]);
      json[i]["would_change"] = what_would_change(decisions[i]);
    }
    return json_text(json);
  }
  // Fused pairs first, as they were decided; then those that stay apart, by what that costs.
  const auto cost = [&](const DecisionRow& d) { return -estimated_ns(d, rates[d.compilation]); };
  std::stable_sort(decisions.begin(), decisions.end(), [&](const DecisionRow& a, const DecisionRow& b) {
    const bool apart_a = a.verdict != "fused", apart_b = b.verdict != "fused";
    if (a.compilation != b.compilation || apart_a != apart_b)
      return std::pair(a.compilation, apart_a) < std::pair(b.compilation, apart_b);
    return apart_a && std::pair(cost(a), a.bytes_saved) > std::pair(cost(b), b.bytes_saved);
  });
  TextTable table({"pair", "kind", "verdict", "kernel", ">saves", ">launches", ">time, est.", "reason",
                   "would change it"});
  table.least({"kind", "launches", "kernel", "would change it"});
  for (const DecisionRow& d : decisions) {
    const std::string reason = d.reason.substr(0, d.reason.find(", saves "));  // these have their columns
    table.row({s.row<NodeRow>(d.a).name + " → " + s.row<NodeRow>(d.b).name, d.kind,
               d.verdict == "fused" ? "fused" : "not fused", d.kernel ? s.row<KernelRow>(d.kernel).label : "",
               bytes(d.bytes_saved), d.launches_saved ? std::to_string(d.launches_saved) : "–",
               nanoseconds(cost(d)), reason, what_would_change(d)});
  }
  return table.empty() ? nothing("fusion decisions", why_none(s, "fused")) : table.text(options.width);
}

}  // namespace vitrine::cli
