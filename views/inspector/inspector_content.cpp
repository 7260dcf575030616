#include "views/inspector/inspector_content.h"

#include "core/session/stages.h"
#include "views/inspector/inspect_node.h"
#include "views/kit/selection/chain.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/sources.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

QString stageTitle(const std::string& name, bool gpu) {
  const StageInfo* info = find_timed_stage(name);
  return info ? s(std::string(stage_title(*info, gpu))) : s(name);
}

void addChain(const SessionData& d, const kit::Selection& selection, InspectorContent& out) {
  InspectorSection from{"Came from", {}}, became{"Became", {}};
  bool after = false;
  for (const kit::ChainLink& link : kit::chainOf(d, selection)) {
    if (link.ring) {
      after = true;
      continue;
    }
    InspectorRow row{"", link.text, link.stage, link.icon, Tone::None, link.id};
    (after ? became : from).rows.push_back(row);
  }
  for (auto& section : {from, became})
    if (!section.rows.empty()) out.sections.push_back(section);
}

void inspectGuard(const SessionData& d, const GuardRow& row, InspectorContent& out) {
  out.icon = "guard";
  out.sections.push_back(
      {"Guard",
       {{"source", kit::sourceText(d, row.compilation, row.source)},
        {"expected", s(row.expected)},
        {"kind", s(row.kind)},
        {"cost", row.cost_ns > 0 ? kit::timeText(row.cost_ns) : kit::unknown()},
        {"checks", QString::number(row.checks)},
        {"fails", QString::number(row.fails), "", "", row.fails ? Tone::Warn : Tone::None}}});
}

void inspectBreak(const SessionData&, const BreakRow& row, InspectorContent& out) {
  out.icon = "scissors";
  InspectorSection why{"Why", {{"", s(row.reason), "", "scissors", Tone::Warn, 0, true}}};
  if (!row.hint.empty()) why.rows.push_back({"", s(row.hint), "", "info", Tone::Info, 0, true});
  out.sections.push_back(why);
  out.sections.push_back(
      {"Price",
       {{"kind", s(row.kind)},
        {"calls", QString::number(row.calls)},
        {"a call", row.ns_per_call > 0 ? kit::timeText(row.ns_per_call) : kit::unknown()}}});
}

void inspectRecompilation(const SessionData& d, const RecompilationRow& row, InspectorContent& out) {
  out.icon = "refresh";
  out.sections.push_back({"What failed",
                          {{"guard", kit::sourceText(d, row.compilation, row.failed)},
                           {"old", s(row.old_value)},
                           {"new", s(row.new_value)},
                           {"call", QString::number(kit::callOf(d, row))},
                           {"called by", row.call_site.empty() ? kit::unknown() : s(row.call_site)},
                           {"made", d.label(row.compilation)}}});
  if (!row.hint.empty())
    out.sections.push_back({"Instead", {{"", s(row.hint), "", "info", Tone::Info, 0, true}}});
}

// Whether its calls are replays, what they copy, or why they are none.
InspectorSection cudaGraphOf(const CudaGraphRow& row) {
  InspectorSection out{"CUDA Graph", {{"state", s(row.state)}}};
  if (row.launches) out.rows.push_back({"launches", QString::number(row.launches)});
  if (row.state == "recorded") {
    auto counts = [](int64_t followed, int64_t in_place, int64_t copied) {
      return QStringLiteral("%1 followed, %2 in place, %3 copied").arg(followed).arg(in_place).arg(copied);
    };
    out.rows.push_back({"inputs", counts(row.inputs_followed, row.inputs_in_place, row.inputs_copied)});
    out.rows.push_back(
        {"results",
         QStringLiteral("%1 followed, %2 copied").arg(row.results_followed).arg(row.results_copied)});
    out.rows.push_back({"copied", kit::bytesText(static_cast<double>(row.bytes_copied)), "a call"});
  }
  if (!row.reason.empty()) out.rows.push_back({"", s(row.reason), "", "info", Tone::Info, 0, true});
  return out;
}

void inspectCompilation(const SessionData& d, const CompilationRow& row, InspectorContent& out) {
  out.icon = "graph";
  InspectorSection facts{"Compilation",
                         {{"status", s(row.status)},
                          {"ends with", s(row.end)},
                          {"calls", QString::number(row.calls)},
                          {"took", kit::timeText(static_cast<double>(row.duration_ns))},
                          {"guards", QString::number(d.guards.of(row.id).size())},
                          {"kernels", QString::number(d.kernels.of(row.id).size())}}};
  out.sections.push_back(facts);
  if (!row.message.empty())
    out.sections.push_back({"Message", {{"", s(row.message), "", "info", Tone::Info, 0, true}}});
  for (const CudaGraphRow& graph : d.cuda_graphs.of(row.id)) out.sections.push_back(cudaGraphOf(graph));
  InspectorSection time{"Time by stage", {}};
  for (const StageRow& stage : d.stages.of(row.id))
    if (stage.duration_ns > 0)
      time.rows.push_back(
          {stageTitle(stage.name, d.isGpu(row.id)), kit::timeText(static_cast<double>(stage.duration_ns))});
  if (!time.rows.empty()) out.sections.push_back(time);
}

void inspectRun(const SessionData& d, const RunRow& row, InspectorContent& out) {
  out.icon = "file";
  auto time = [](double ns) { return ns > 0 ? kit::timeText(ns) : kit::unknown(); };
  out.sections.push_back({"Run",
                          {{"status", s(row.status)},
                           {"entry", s(row.entry)},
                           {"inputs", s(row.inputs)},
                           {"device", s(row.device)},
                           {"mode", s(row.mode)}}});
  const RunTimes times = kit::runTimes(d, row.id);
  const SpeedUp& up = times.speed_up;
  out.sections.push_back(
      {"Time",
       {{"eager", time(row.eager_ns)},
        {"compiled", time(row.compiled_ns)},
        {"speed-up", up.words().empty() ? kit::unknown() : s(up.words()), s(up.interval())},
        {"imports", time(static_cast<double>(row.import_ns))},
        {"first call", time(static_cast<double>(row.first_call_ns))}}});
  if (const std::string doubt = times.doubt(TimesOf::Both); !doubt.empty())
    out.sections.back().rows.push_back({"", s(doubt), "", "warning", Tone::Warn, 0, true});
  InspectorSection outputs{"Outputs against eager", {}};
  for (const AccuracyRow& each : d.accuracies.of(row.id)) {
    const Tone tone = each.verdict == "differs" ? Tone::Err : Tone::Ok;
    outputs.rows.push_back(
        {"output " + s(each.output), s(each.verdict),
         QStringLiteral("max |Δ| %1, %2 ulp").arg(each.max_abs, 0, 'g', 2).arg(each.max_ulp), "", tone});
  }
  if (!outputs.rows.empty()) out.sections.push_back(outputs);
}

void inspectMessage(const SessionData&, const MessageRow& row, InspectorContent& out) {
  const Tone tone = row.severity == "error" ? Tone::Err : row.severity == "warning" ? Tone::Warn : Tone::Info;
  out.icon = tone == Tone::Err ? "error" : tone == Tone::Warn ? "warning" : "info";
  out.sections.push_back({"Message", {{"", s(row.text), "", out.icon, tone, 0, true}}});
  if (!row.hint.empty())
    out.sections.push_back({"What to do", {{"", s(row.hint), "", "info", Tone::Info, 0, true}}});
}

void inspectInstruction(const SessionData& d, Id instruction, const StepRow* step, InspectorContent& out) {
  const InstructionRow* row = d.instructions.find(instruction);
  if (!row) return;
  out.icon = "bytecode";
  InspectorSection facts{"Instruction", {{"pc", QString::number(row->pc)}, {"operation", s(row->op)}}};
  if (!row->argrepr.empty()) facts.rows.push_back({"argument", s(row->argrepr)});
  facts.rows.push_back({"place", d.place(row->span), kit::spanText(d, row->span)});
  if (step && !step->text.empty()) facts.rows.push_back({"caused", s(step->text)});
  out.sections.push_back(facts);
}

void describe(const SessionData& d, const kit::Selection& selection, InspectorContent& out) {
  const Id id = selection.active;
  if (const auto* row = d.nodes.find(id)) return inspectNode(d, selection, *row, out);
  if (const auto* row = d.kernels.find(id)) return inspectKernel(d, *row, out);
  if (const auto* row = d.ranges.find(id); row && d.kernels.find(row->kernel))
    return inspectKernel(d, *d.kernels.find(row->kernel), out);
  if (const auto* row = d.launches.find(id)) return inspectLaunch(d, *row, out);
  if (const auto* row = d.decisions.find(id)) return inspectDecision(d, *row, out);
  if (const auto* row = d.guards.find(id)) return inspectGuard(d, *row, out);
  if (const auto* row = d.breaks.find(id)) return inspectBreak(d, *row, out);
  if (const auto* row = d.recompilations.find(id)) return inspectRecompilation(d, *row, out);
  if (const auto* row = d.compilations.find(id)) return inspectCompilation(d, *row, out);
  if (const auto* row = d.runs.find(id)) return inspectRun(d, *row, out);
  if (const auto* row = d.messages.find(id)) return inspectMessage(d, *row, out);
  if (const auto* row = d.steps.find(id)) return inspectInstruction(d, row->instruction, row, out);
  if (kind_of(id) == Kind::Instruction) return inspectInstruction(d, id, nullptr, out);
  if (const auto* row = d.buffers.find(id)) return inspectBuffer(d, *row, out);
  if (const auto* row = d.spans.find(id)) {
    out.icon = "file";
    out.sections.push_back(
        {"Expression",
         {{"file", d.fileName(row->file)}, {"place", d.place(id)}, {"text", kit::spanText(d, id, 200)}}});
  }
}

}  // namespace

InspectorContent inspect(const SessionData& d, const kit::Selection& selection) {
  InspectorContent out;
  if (!selection.active) return overview(d, selection);
  out.title = d.label(selection.active);
  const std::string_view word = kind_word(kind_of(selection.active));
  out.kind = vitrine::s(word);
  describe(d, selection, out);
  addChain(d, selection, out);
  addFusion(d, selection, out);
  return out;
}

}  // namespace vitrine::views
