// `vitrine show SESSION why A B`: why two nodes or kernels are not one kernel.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"
#include "core/base/closest.h"
#include "profiler/analysis/fusion_price.h"
#include "profiler/analysis/why_apart.h"

namespace vitrine::cli {

using namespace session;
using namespace profiler;

namespace {

// What fusion saw of one compilation, with its rows.
struct RecordedFusion {
  Id compilation = 0;
  std::vector<NodeRow> loops, fused;
  std::vector<EdgeRow> edges;
  std::vector<DecisionRow> decisions;
  std::map<Id, int64_t> stable;  // of the decisions' halves
  FusionRecord record() const {
    return {loops, fused, edges, decisions, [this](Id node) {
              const auto found = stable.find(node);
              return found == stable.end() ? -1 : found->second;
            }};
  }
};

std::vector<NodeRow> last_nodes(const Reader& s, Id compilation, std::string_view stage) {
  for (const GraphRow& graph : s.rows<GraphRow>("compilation = ?1", {compilation}, "ORDER BY ordinal DESC"))
    if (graph.stage == stage)
      if (auto nodes = s.rows<NodeRow>("graph = ?1", {graph.id}, "ORDER BY ordinal"); !nodes.empty())
        return nodes;
  return {};
}

RecordedFusion fusion_of(const Reader& s, Id compilation) {
  RecordedFusion out;
  out.compilation = compilation;
  out.loops = last_nodes(s, compilation, "loops");
  out.fused = last_nodes(s, compilation, "fused");
  if (!out.loops.empty()) out.edges = s.rows<EdgeRow>("graph = ?1", {out.loops.front().graph});
  out.decisions = s.rows<DecisionRow>("compilation = ?1", {compilation}, "ORDER BY ordinal");
  for (const DecisionRow& row : out.decisions)
    for (const Id half : {row.a, row.b})
      if (!out.stable.contains(half)) out.stable[half] = s.row<NodeRow>(half).stable;
  return out;
}

// "K3", "K3 add_gelu", or a node of any stage: of the loops, or what loops came of it. No name: there is
// none.
PairSide side_of(const Reader& s, const RecordedFusion& fusion, const std::string& name) {
  const FusionRecord record = fusion.record();
  for (const KernelRow& kernel : s.rows<KernelRow>("compilation = ?1", {fusion.compilation}))
    if (name == kernel.label || name == kernel.label + " " + kernel.name)
      return side_of_kernel(record, kernel.label, kernel.label + " " + kernel.name);
  for (const NodeRow& node : fusion.loops)
    if (node.name == name)
      return {name, node.kind == "op" ? std::vector{node.stable} : std::vector<int64_t>(),
              "an input or a result is nothing that runs"};
  PairSide out;
  for (const GraphRow& graph :
       s.rows<GraphRow>("compilation = ?1", {fusion.compilation}, "ORDER BY ordinal DESC"))
    for (const NodeRow& node : s.rows<NodeRow>("graph = ?1", {graph.id})) {
      if (node.name != name) continue;
      out.name = name;
      out.none = node.family == "view" ? "a view moves no data: who reads it reads what it views, in place"
                                       : "no loop came of it: it was simplified away before fusion";
      const std::vector<Id> became = s.descendants(node.id);
      for (const NodeRow& loop : fusion.loops)
        if (std::find(became.begin(), became.end(), loop.id) != became.end())
          out.loops.push_back(loop.stable);
      if (!out.loops.empty()) return out;
    }
  return out;
}

struct PairOf {
  RecordedFusion fusion;
  PairSide a, b;
  std::string also;  // other compilations that have both
};

// The first compilation that has both; `missing`: the names that none has.
std::optional<PairOf> find_pair(const Reader& s, const ShowOptions& options, std::set<std::string>& missing) {
  const EntityNames names(s);
  std::optional<PairOf> out;
  missing = {options.pair.begin(), options.pair.end()};
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    if (!names.shown(c.id, options)) continue;
    PairOf found{fusion_of(s, c.id), {}, {}, ""};
    if (found.fusion.loops.empty()) continue;
    found.a = side_of(s, found.fusion, options.pair[0]);
    found.b = side_of(s, found.fusion, options.pair[1]);
    for (const PairSide* side : {&found.a, &found.b})
      if (!side->name.empty()) missing.erase(options.pair[side == &found.b]);
    if (found.a.name.empty() || found.b.name.empty()) continue;
    if (out)
      out->also += (out->also.empty() ? "" : ", ") + c.label;
    else
      out = std::move(found);
  }
  return out;
}

std::vector<std::string> known_names(const Reader& s, const ShowOptions& options) {
  const EntityNames names(s);
  std::set<std::string> out;
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    if (!names.shown(c.id, options)) continue;
    for (const NodeRow& node : last_nodes(s, c.id, "loops"))
      if (node.kind == "op") out.insert(node.name);
    for (const KernelRow& kernel : s.rows<KernelRow>("compilation = ?1", {c.id})) out.insert(kernel.label);
  }
  return {out.begin(), out.end()};
}

std::string verdict_word(const PairAnswer& answer) {
  return answer.verdict == PairAnswer::Verdict::fused   ? "one kernel"
         : answer.verdict == PairAnswer::Verdict::apart ? "not one kernel"
                                                        : "no pair";
}

double saved_ns(const Reader& s, const PairOf& pair, const PairAnswer& answer) {
  DecisionRow row;
  row.bytes_saved = answer.bytes, row.launches_saved = answer.launches;
  const auto launches = s.rows<LaunchRow>("compilation = ?1", {pair.fusion.compilation});
  return -estimated_ns(row, fusion_rates(s.all<CeilingRow>(), launches));
}

std::string as_json(const Reader& s, const PairOf& pair, const PairAnswer& answer) {
  auto rules = nlohmann::ordered_json::array();
  for (const PairRule& rule : answer.rules) rules.push_back({{"holds", rule.holds}, {"rule", rule.text}});
  return json_text(
      nlohmann::ordered_json::array({{{"a", pair.a.name},
                                      {"b", pair.b.name},
                                      {"compilation", EntityNames(s).compilation(pair.fusion.compilation)},
                                      {"verdict", verdict_word(answer)},
                                      {"reason", answer.reason},
                                      {"considered", answer.decision != 0},
                                      {"rules", rules},
                                      {"bytes_saved", answer.bytes},
                                      {"launches_saved", answer.launches},
                                      {"est_ns", saved_ns(s, pair, answer)},
                                      {"would_change", answer.change}}}));
}

std::string as_text(const Reader& s, const PairOf& pair, const PairAnswer& answer) {
  std::string out = pair.a.name + " and " + pair.b.name + " of " +
                    EntityNames(s).compilation(pair.fusion.compilation) + ": " + verdict_word(answer) +
                    "\n  " + answer.reason + "\n";
  if (answer.verdict == PairAnswer::Verdict::apart && !answer.decision)
    out += "\nFusion did not consider them. Its rules, in order:\n";
  for (const PairRule& rule : answer.rules) out += (rule.holds ? "  + " : "  − ") + rule.text + "\n";
  if (answer.verdict == PairAnswer::Verdict::apart) {
    const double ns = saved_ns(s, pair, answer);
    out += "\nAs one kernel they would save " +
           (answer.bytes ? bytes(answer.bytes) + " of traffic and " : std::string()) +
           (answer.launches == 1 ? "1 launch" : std::to_string(answer.launches) + " launches") +
           (ns > 0 ? ", an estimated " + nanoseconds(ns) : "") + ".\n";
  }
  if (!answer.change.empty()) out += "Would change it: " + answer.change + ".\n";
  if (!pair.also.empty()) out += "Also in " + pair.also + " (--compilation).\n";
  return out;
}

}  // namespace

std::optional<Error> unknown_pair(const Reader& s, const ShowOptions& options) {
  if (options.pair.empty()) return std::nullopt;
  if (options.pair.size() != 2) return Error{"why takes two names.", "vitrine show SESSION why gelu K3", ""};
  std::set<std::string> missing;
  if (find_pair(s, options, missing)) return std::nullopt;
  if (missing.empty())
    return Error{options.pair[0] + " and " + options.pair[1] + " are of two compilations.",
                 "A kernel is of one graph.", s.path()};
  return Error{"There is no node and no kernel " + *missing.begin() + " in what was fused." +
                   did_you_mean(*missing.begin(), known_names(s, options)),
               "vitrine show SESSION loops and kernels name them.", s.path()};
}

std::string show_why(const Reader& s, const ShowOptions& options, std::string_view) {
  std::set<std::string> missing;
  const auto pair = options.pair.empty() ? std::nullopt : find_pair(s, options, missing);
  if (!pair) return decision_table(s, options, [](const DecisionRow& d) { return d.verdict != "fused"; });
  const PairAnswer answer = why_apart(pair->fusion.record(), pair->a, pair->b);
  return options.json ? as_json(s, *pair, answer) : as_text(s, *pair, answer);
}

}  // namespace vitrine::cli
