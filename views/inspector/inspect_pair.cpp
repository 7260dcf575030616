#include "views/inspector/inspect_pair.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "profiler/analysis/fusion_price.h"
#include "profiler/analysis/why_apart.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::SessionData;
using kit::Tone;
using namespace session;
using namespace profiler;

namespace {

bool isAsked(Id id) {
  const Kind kind = kind_of(id);
  return kind == Kind::Node || kind == Kind::Kernel || kind == Kind::Launch || kind == Kind::KernelRange;
}

// Of a launch or of lines of a kernel: the kernel.
Id kernelOf(const SessionData& d, Id id) {
  if (const auto* launch = d.launches.find(id)) return launch->kernel;
  if (const auto* range = d.ranges.find(id)) return range->kernel;
  return d.kernels.find(id) ? id : 0;
}

FusionRecord recordOf(const SessionData& d, Id compilation) {
  FusionRecord out;
  const GraphRow *loops = d.lastGraph(compilation, "loops"), *fused = d.lastGraph(compilation, "fused");
  if (!loops || !fused) return out;
  out.loops = d.nodes.of(loops->id);
  out.fused = d.nodes.of(fused->id);
  out.edges = d.edges.of(loops->id);
  out.decisions = d.decisions.of(compilation);
  out.stable_of = [&d](Id node) {
    const NodeRow* row = d.nodes.find(node);
    return row ? row->stable : -1;
  };
  return out;
}

// What a node of an earlier stage became, among the loops.
std::vector<int64_t> derivedLoops(const SessionData& d, Id node, const FusionRecord& record) {
  std::vector<int64_t> out;
  std::vector<Id> open{node};
  std::unordered_set<Id> seen{node};
  const Id graph = record.loops.empty() ? 0 : record.loops.front().graph;
  for (size_t i = 0; i < open.size(); ++i)
    for (const Id next : d.links.derived(open[i])) {
      if (kind_of(next) != Kind::Node || !seen.insert(next).second) continue;
      const NodeRow* row = d.nodes.find(next);
      if (row && row->graph == graph)
        out.push_back(row->stable);
      else
        open.push_back(next);
    }
  return out;
}

PairSide sideOf(const SessionData& d, Id id, const FusionRecord& record) {
  const std::string label = d.label(id).toStdString();
  if (const KernelRow* kernel = d.kernels.find(kernelOf(d, id)))
    return side_of_kernel(record, kernel->label, label);
  PairSide out{label, {}, ""};
  const NodeRow* node = d.nodes.find(id);
  if (!node) return out;
  const auto own = std::find_if(record.loops.begin(), record.loops.end(),
                                [&](const NodeRow& row) { return row.stable == node->stable; });
  if (own != record.loops.end())
    out.loops = {node->stable};
  else
    out.loops = derivedLoops(d, id, record);
  if (node->kind != "op")
    out.none = "an input or a result is nothing that runs";
  else if (node->family == "view")
    out.none = "a view moves no data: who reads it reads what it views, in place";
  else
    out.none = "no loop came of it: it was simplified away before fusion";
  return out;
}

InspectorRow prose(const QString& text, const char* icon = "", Tone tone = Tone::None) {
  return {"", text, "", QString::fromLatin1(icon), tone, 0, true};
}

void addPrice(const SessionData& d, Id compilation, const PairAnswer& answer, InspectorSection& out) {
  const auto launches = d.launches.of(compilation);
  DecisionRow priced;
  priced.bytes_saved = answer.bytes, priced.launches_saved = answer.launches;
  const double ns = estimated_ns(priced, fusion_rates(d.ceilings, {launches.begin(), launches.end()}));
  QString text =
      "As one kernel they would save " +
      (answer.bytes ? kit::bytesText(static_cast<double>(answer.bytes)) + " of traffic and " : QString()) +
      kit::countText(answer.launches, "launch", "launches");
  if (ns != 0) text += ", an estimated " + kit::timeText(std::abs(ns));
  out.rows.push_back(prose(text + '.'));
}

}  // namespace

bool isPair(const kit::Selection& selection) {
  return selection.selected.size() == 2 && isAsked(selection.selected[0]) && isAsked(selection.selected[1]);
}

InspectorSection inspectPair(const SessionData& d, Id a, Id b) {
  InspectorSection out{QStringLiteral("One kernel with %1?").arg(d.label(b)), {}};
  const Id compilation = d.compilationOf(a);
  if (compilation != d.compilationOf(b)) {
    out.rows.push_back(prose("They are of two compilations: a kernel is of one graph.", "minus"));
    return out;
  }
  const FusionRecord record = recordOf(d, compilation);
  if (record.loops.empty()) {
    out.rows.push_back(prose("Nothing is known: this compilation has no loops and no fusion.", "minus"));
    return out;
  }
  const PairAnswer answer = why_apart(record, sideOf(d, a, record), sideOf(d, b, record));
  const bool fused = answer.verdict == PairAnswer::Verdict::fused;
  out.rows.push_back({"", fused ? "Yes" : "No", answer.decision ? "considered" : "never considered",
                      fused ? "check" : "bar", fused ? Tone::Ok : Tone::None, answer.decision});
  QString reason = s(answer.reason) + '.';
  reason[0] = reason[0].toUpper();
  out.rows.push_back(prose(reason));
  for (const PairRule& rule : answer.rules)
    out.rows.push_back(
        prose(s(rule.text), rule.holds ? "check" : "minus", rule.holds ? Tone::Ok : Tone::None));
  if (answer.verdict == PairAnswer::Verdict::apart) addPrice(d, compilation, answer, out);
  if (!answer.change.empty()) out.rows.push_back(prose("Would change it: " + s(answer.change) + '.'));
  return out;
}

}  // namespace vitrine::views
