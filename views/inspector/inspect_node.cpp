#include "views/inspector/inspect_node.h"

#include <algorithm>
#include <unordered_set>

#include "core/session/launches.h"
#include "profiler/analysis/fusion_price.h"
#include "views/inspector/inspect_counters.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/symbolic_types.h"
#include "views/kit/session/values.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

constexpr size_t kMostVerdicts = 6;

// The nodes of `graph` that a later thing came from, each once: the links of a file may go in a circle.
std::vector<Id> ancestorsIn(const SessionData& d, Id from, Id graph) {
  std::vector<Id> out, open{from};
  std::unordered_set<Id> seen{from};
  while (!open.empty()) {
    const Id at = open.back();
    open.pop_back();
    const NodeRow* node = d.nodes.find(at);
    if (node && node->graph == graph) {
      out.push_back(at);
      continue;
    }
    const auto origins = d.links.origins(at);
    for (auto origin = origins.rbegin(); origin != origins.rend(); ++origin)
      if (d.nodes.find(*origin) && seen.insert(*origin).second) open.push_back(*origin);
  }
  return out;
}

// Nodes of the same graph that run in the same kernel: "with add_2, in K2".
QString company(const SessionData& d, const KernelRow& kernel, const NodeRow& node) {
  const std::vector<Id> all = ancestorsIn(d, kernel.id, node.graph);
  QStringList others;
  for (Id id : all)
    if (id != node.id) others << d.label(id);
  const QString in = "in " + s(kernel.label);
  if (others.isEmpty()) return in;
  return others.size() > 2 ? QStringLiteral("with %1 others, %2").arg(others.size()).arg(in)
                           : "with " + others.join(", ") + ", " + in;
}

InspectorSection costOf(const SessionData& d, const KernelRow& kernel, const QString& note) {
  double ns = 0, lower = 0, upper = 0;
  int64_t calls = 0;
  for (const LaunchRow& launch : d.launches.of(kernel.compilation)) {
    if (launch.kernel != kernel.id) continue;
    ns += launch.median_ns, lower += launch.lower_ns, upper += launch.upper_ns;
    calls = launch.calls;
  }
  InspectorSection cost{"Cost", {{"compiled", ns > 0 ? kit::timeText(ns) : kit::unknown(), note}}};
  if (const QString half = kit::middleHalf(lower, upper, calls); !half.isEmpty())
    cost.rows.push_back({"half of calls", half, QStringLiteral("of %1 profiled").arg(calls)});
  if (const std::string far = session::far_from_half(ns, lower, upper, calls); !far.empty())
    cost.rows.push_back(
        {"", QStringLiteral("this call: %1").arg(s(far)), "", "warning", Tone::Warn, 0, true});
  const Id run = d.runOf(kernel.compilation);
  if (const QString doubt = kit::shortDoubt(d, run, TimesOf::ShownCall); ns > 0 && !doubt.isEmpty())
    cost.rows.push_back({"", doubt, "", "warning", Tone::Warn, 0, true});
  if (kernel.bytes > 0)
    cost.rows.push_back({"traffic", kit::bytesText(static_cast<double>(kernel.bytes)),
                         ns > 0 ? kit::rateText(static_cast<double>(kernel.bytes), ns) : QString()});
  if (kernel.flops > 0)
    cost.rows.push_back({"work", kit::workText(static_cast<double>(kernel.flops)),
                         ns > 0 ? kit::flopsText(static_cast<double>(kernel.flops), ns) : QString()});
  return cost;
}

// What a block of it takes of a GPU's multiprocessor.
InspectorSection gpuOf(const GpuKernelRow& row) {
  InspectorSection out{"On " + s(row.arch), {}};
  if (row.registers > 0) out.rows.push_back({"registers", QString::number(row.registers), "a thread"});
  if (row.spill_bytes > 0)
    out.rows.push_back(
        {"spilled", kit::bytesText(static_cast<double>(row.spill_bytes)), "a thread", "", Tone::Warn});
  out.rows.push_back({"shared", kit::bytesText(static_cast<double>(row.shared_bytes)), "a block"});
  out.rows.push_back(
      {"grid", QStringLiteral("%1 × %2").arg(row.blocks).arg(row.threads), "blocks × threads"});
  if (row.occupancy > 0)
    out.rows.push_back({"occupancy", kit::percentText(row.occupancy), "limited by " + s(row.limited_by)});
  if (!row.note.empty()) out.rows.push_back({"", s(row.note), "", "info", Tone::Info, 0, true});
  return out;
}

// Who could compute it, and how long each took.
InspectorSection choicesOf(const SessionData& d, const KernelRow& row) {
  InspectorSection out{"Who computes it", {}};
  for (const ChoiceRow& each : d.choices.of(row.id))
    out.rows.push_back({"", s(each.candidate),
                        each.ns > 0 ? kit::timeText(static_cast<double>(each.ns)) : kit::unknown(),
                        each.chosen ? "check" : "minus", each.chosen ? Tone::Ok : Tone::None});
  return out;
}

// What the elements are, where the run looked at its values: of the node itself, or of the one that it came
// from.
InspectorSection elementsOf(const SessionData& d, const kit::Selection& selection, const NodeRow& row) {
  const NumericsRow* found = nullptr;
  for (const NumericsRow& each : d.numerics.of(d.compilationOf(row.id))) {
    const bool near = selection.relatives && selection.active == row.id &&
                      std::find(selection.relatives->origins.begin(), selection.relatives->origins.end(),
                                each.node) != selection.relatives->origins.end();
    if (each.node == row.id || (near && !found)) found = &each;
    if (each.node == row.id) break;
  }
  InspectorSection out{"Elements", {}};
  if (!found || found->distribution.empty()) return out;
  auto number = [](double value) { return QString::number(value, 'g', 4).replace('-', QChar(0x2212)); };
  out.rows = {{"least", number(found->least)},
              {"largest", number(found->largest)},
              {"mean", number(found->average), "deviation " + number(found->deviation)},
              {"least to largest", kit::distributionText(*found)}};
  if (found->nan + found->inf)
    out.rows.push_back({"not finite", QStringLiteral("%1 NaN, %2 inf").arg(found->nan).arg(found->inf),
                        QStringLiteral("of %1").arg(found->count), "", Tone::Warn});
  return out;
}

}  // namespace

void inspectNode(const SessionData& d, const kit::Selection& selection, const NodeRow& row,
                 InspectorContent& out) {
  out.family = kit::familyOf(row.family);
  out.icon = out.family == kit::NodeFamily::None ? "graph" : "";
  out.subtitle = s(row.op);
  out.kind = out.family == kit::NodeFamily::None ? s(row.kind) : kit::familyTitle(out.family);
  const kit::NodeTypes symbolic = kit::symbolicTypes(d, row.graph);
  InspectorSection value{"Value", {{"type", kit::typeText(d, row, symbolic)}}};
  for (const QString& symbol : kit::symbolsOf(d, row, symbolic))
    value.rows.push_back({"", symbol, "", "", Tone::None, 0, true});
  if (!row.strides.empty()) value.rows.push_back({"strides", s(row.strides)});
  if (!row.detail.empty()) value.rows.push_back({"arguments", s(row.detail)});
  if (!row.module.empty()) value.rows.push_back({"module", s(row.module)});
  const KernelRow* kernel = nullptr;
  if (selection.relatives)
    for (Id id : selection.relatives->derived) {
      if (const BufferRow* buffer = d.buffers.find(id))
        value.rows.push_back(
            {"buffer", s(buffer->name),
             d.buffers.find(buffer->reuses) ? "in place of " + d.label(buffer->reuses) : QString(), "",
             Tone::None, id});
      if (!kernel) kernel = d.kernels.find(id);
    }
  if (row.bytes > 0) value.rows.push_back({"size", kit::bytesText(static_cast<double>(row.bytes))});
  out.sections.push_back(value);
  if (InspectorSection elements = elementsOf(d, selection, row); !elements.rows.empty())
    out.sections.push_back(std::move(elements));
  if (kernel) out.sections.push_back(costOf(d, *kernel, company(d, *kernel, row)));
}

void inspectKernel(const SessionData& d, const KernelRow& row, InspectorContent& out) {
  out.family = kit::familyOf(row.family);
  out.icon = "kernel";
  out.subtitle = s(row.kind);
  InspectorSection facts{"Kernel", {}};
  if (!row.space.empty()) facts.rows.push_back({"space", s(row.space)});
  if (!row.isa.empty()) facts.rows.push_back({"isa", s(row.isa)});
  if (row.compile_ns > 0 || row.cached)
    facts.rows.push_back(
        {"compiled in", row.cached ? "from the cache" : kit::timeText(static_cast<double>(row.compile_ns))});
  if (!row.source.row)
    facts.rows.push_back({"", "A library call: PyTorch's own kernel runs.", "", "info", Tone::Info, 0, true});
  if (row.spills > 0) facts.rows.push_back({"spills", QString::number(row.spills), "", "", Tone::Warn});
  if (!facts.rows.empty()) out.sections.push_back(facts);
  if (!row.error.empty())
    out.sections.push_back({"Error", {{"", s(row.error), "", "error", Tone::Err, 0, true}}});
  out.sections.push_back(costOf(d, row, {}));
  if (const auto found = d.gpu_kernels.find(row.id); found != d.gpu_kernels.end())
    out.sections.push_back(gpuOf(found->second));
  for (InspectorSection& section : countedOf(d, row)) out.sections.push_back(std::move(section));
  if (InspectorSection choices = choicesOf(d, row); !choices.rows.empty()) out.sections.push_back(choices);
}

void inspectLaunch(const SessionData& d, const LaunchRow& row, InspectorContent& out) {
  out.icon = "launch";
  const auto plan = d.launches.of(row.compilation);
  out.sections.push_back(
      {"Launch",
       {{"position",
         launches_something(row)
             ? QStringLiteral("%1 of %2").arg(launch_number(plan, row.ordinal)).arg(launches_in(plan))
             : QStringLiteral("launches nothing")},
        {"kind", s(row.kind)},
        {"arguments", s(row.args)},
        {"time", row.median_ns > 0 ? kit::timeText(row.median_ns) : kit::unknown(),
         row.calls > 1 ? QStringLiteral("half of %1: %2")
                             .arg(row.calls)
                             .arg(kit::middleHalf(row.lower_ns, row.upper_ns, row.calls))
                       : QString()},
        {"traffic", row.bytes > 0 ? kit::bytesText(static_cast<double>(row.bytes)) : kit::unknown(),
         row.median_ns > 0 ? kit::rateText(static_cast<double>(row.bytes), row.median_ns) : QString()}}});
}

void inspectBuffer(const SessionData& d, const BufferRow& row, InspectorContent& out) {
  out.icon = "memory";
  const auto plan = d.launches.of(row.compilation);
  out.sections.push_back(
      {"Buffer",
       {{"kind", s(row.kind)},
        {"size", row.kind == "view" ? kit::unknown() : kit::bytesText(static_cast<double>(row.bytes))},
        {"live", row.first < 0 ? QStringLiteral("in no launch")
                               : QStringLiteral("launch %1 to %2")
                                     .arg(launch_number(plan, row.first))
                                     .arg(launch_number(plan, row.last))},
        {"reuses", row.reuses ? d.label(row.reuses) : kit::unknown(), "", "", Tone::None, row.reuses}}});
}

void inspectDecision(const SessionData& d, const DecisionRow& row, InspectorContent& out) {
  out.icon = "layers";
  const bool fused = row.verdict == "fused";
  out.kind = QStringLiteral("pair %1 of %2").arg(row.ordinal).arg(d.decisions.of(row.compilation).size());
  out.sections.push_back({"Verdict",
                          {{"", fused ? "Fused" : "Not fused", s(row.kind), fused ? "check" : "bar",
                            fused ? Tone::Ok : Tone::None},
                           {"", s(row.reason), "", "", Tone::None, 0, true}}});
  const auto launches = d.launches.of(row.compilation);
  const double sign =
      profiler::estimated_ns(row, profiler::fusion_rates(d.ceilings, {launches.begin(), launches.end()}));
  out.sections.push_back(
      {fused ? "What it saves" : "If it were fused",
       {{"traffic", kit::signedText(kit::bytesText(static_cast<double>(row.bytes_saved)), -1)},
        {"launches", kit::signedText(QString::number(row.launches_saved), -1)},
        {"time, est.", sign != 0 ? kit::signedText(kit::timeText(std::abs(sign)), sign) : kit::unknown()}}});
  if (const QString change = s(profiler::what_would_change(row)); !change.isEmpty())
    out.sections.back().rows.push_back({"", "Would change it: " + change + '.', "", "", Tone::None, 0, true});
  out.sections.push_back({"Pair",
                          {{"", d.label(row.a), "first", "segment", Tone::None, row.a},
                           {"", d.label(row.b), "second", "segment", Tone::None, row.b}}});
  if (row.kernel)
    out.sections.back().rows.push_back({"", d.label(row.kernel), "became", "kernel", Tone::None, row.kernel});
}

void addFusion(const SessionData& d, const kit::Selection& selection, InspectorContent& out) {
  if (kind_of(selection.active) == Kind::Decision || !selection.relatives) return;
  InspectorSection fusion{"Fusion", {}};
  const auto& only = selection.relatives->only;
  auto mine = [&](Id id) { return id == selection.active || only.contains(id); };
  for (const DecisionRow& row : d.decisions.of(d.compilationOf(selection.active))) {
    if (!mine(row.a) && !mine(row.b)) continue;
    const Id other = mine(row.a) ? row.b : row.a;
    const bool fused = row.verdict == "fused";
    QString text = (fused ? "with " : "not with ") + d.label(other) + ": " + s(row.reason);
    if (fused && row.bytes_saved > 0 && !text.contains(QStringLiteral(", saves ")))
      text += ", saves " + kit::bytesText(static_cast<double>(row.bytes_saved)) +
              (row.launches_saved == 1 ? " and 1 launch" : QString());
    // A kernel's loops meet one neighbour more than once, for the same reason: that is said once.
    if (std::any_of(fusion.rows.begin(), fusion.rows.end(),
                    [&](const InspectorRow& said) { return said.value == text; }))
      continue;
    fusion.rows.push_back(
        {"", text, "", fused ? "check" : "minus", fused ? Tone::Ok : Tone::None, row.id, true});
    if (fusion.rows.size() == kMostVerdicts) break;
  }
  if (!fusion.rows.empty()) out.sections.push_back(fusion);
}

}  // namespace vitrine::views
