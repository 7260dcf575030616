// What stands in the Inspector before anything is clicked: how the run went, and where its time goes.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "views/inspector/inspect_node.h"
#include "views/kit/session/alike.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

constexpr size_t kMostKernels = 6, kMostBreaks = 3;

template <class F>
void eachCompilation(const SessionData& d, Id run, F f) {
  for (const FrameRow& frame : d.frames.of(run))
    for (const SegmentRow& segment : d.segments.of(frame.id))
      for (const CompilationRow& row : d.compilations.of(segment.id)) f(row);
}

// What was compared and what came of it, "max |Δ| 2.4e-07" of the worst output; why nothing was compared.
std::vector<InspectorRow> outputsRows(const SessionData& d, Id run, const Verdict& verdict) {
  double worst = 0;
  QString why;
  for (const AccuracyRow& row : d.accuracies.of(run)) {
    worst = std::max(worst, row.max_abs);
    if (as_exact(row) && why.isEmpty()) why = s(row.message);
  }
  const Tone tone = verdict.differs ? Tone::Err : verdict.compared ? Tone::Ok : Tone::None;
  const QString of = verdict.output_calls ? "of " + kit::countText(verdict.output_calls, "call") : QString();
  std::vector<InspectorRow> out{
      {"outputs", verdict.compared ? s(verdict.words) : QStringLiteral("not compared"), of, "", tone}};
  if (worst > 0) out.push_back({"max |Δ|", QString::number(worst, 'g', 2)});
  if (!verdict.compared || verdict.checked_graphs || verdict.gradients)
    out.push_back({"", s(verdict.outputs()), "", "", Tone::None, 0, true});
  if (!why.isEmpty()) out.push_back({"", why, "", "info", Tone::Info, 0, true});
  return out;
}

// The same of a script that ran twice, by its steps.
std::vector<InspectorRow> stepRows(const RunTimes& times) {
  if (!times.has_steps()) return {};
  const MeasurementRow &eager = times.eager.step, &compiled = times.compiled.step;
  return {{"a step", s(times.step_speed_up())},
          {"eager", kit::timeText(eager.median_ns), kit::middleHalf(eager)},
          {"compiled", kit::timeText(compiled.median_ns), kit::middleHalf(compiled)},
          {"steps", QStringLiteral("%1 a side").arg(eager.calls), "half of them beside"}};
}

// A speed-up where there is one, both sides with what half of their calls took, and what makes them doubtful.
std::vector<InspectorRow> timesRows(const SessionData& d, const RunRow& run) {
  const RunTimes times = kit::runTimes(d, run.id);
  if (run.eager_ns <= 0 || run.compiled_ns <= 0) return stepRows(times);
  const SpeedUp& up = times.speed_up;
  const Tone tone = !up.known() ? Tone::None : up.ratio > 1 ? Tone::Ok : Tone::Warn;
  std::vector<InspectorRow> out{
      {"speed-up", s(up.words()), up.known() ? s(up.range()) : QString(), "", tone},
      {"eager", kit::timeText(run.eager_ns), kit::middleHalf(times.eager.plain)},
      {"compiled", kit::timeText(run.compiled_ns), kit::middleHalf(times.compiled.plain)}};
  if (up.calls > 1)
    out.push_back({"calls", QStringLiteral("%1 a side").arg(up.calls), "half of them beside"});
  if (const std::string doubt = times.doubt(TimesOf::Calls); !doubt.empty())
    out.push_back({"", s(doubt), "", "warning", Tone::Warn, 0, true});
  return out;
}

InspectorSection resultOf(const SessionData& d, const RunRow& run) {
  InspectorSection out{"Result", {}};
  for (InspectorRow& row : timesRows(d, run)) out.rows.push_back(std::move(row));
  const Verdict verdict = kit::verdictOf(d, run.id);
  for (InspectorRow& row : outputsRows(d, run.id, verdict)) out.rows.push_back(std::move(row));
  int64_t graphs = 0, all = 0;
  double compile_ns = 0;
  eachCompilation(d, run.id, [&](const CompilationRow& row) {
    ++all;
    compile_ns += static_cast<double>(row.duration_ns);
    graphs += row.status == "ok" && d.lastGraph(row.id, "captured") != nullptr;
  });
  const bool told = graphs > 0 || !d.imported();  // else frames and graphs are no matter of the record
  // Of a run in which no frame was captured, that there was no break says nothing.
  const QString breaks = verdict.breaks                   ? "with " + kit::countText(verdict.breaks, "break")
                         : verdict.whole + verdict.broken ? QStringLiteral("no breaks")
                                                          : QString();
  if (told)
    out.rows.push_back(
        {"graphs", QString::number(graphs), breaks, "", verdict.breaks ? Tone::Warn : Tone::None});
  if (all > 1)
    out.rows.push_back({"compiling", compile_ns > 0 ? kit::timeText(compile_ns) : kit::unknown(),
                        kit::countText(all, "compilation")});
  if (const QString kept = kit::keptCalls(d, run.id); !kept.isEmpty()) out.rows.push_back({"calls", kept});
  if (verdict.recompilations)
    out.rows.push_back({"compiled", kit::countText(verdict.recompilations, "more time"), "", "", Tone::Warn});
  if (told &&
      (verdict.whole != 1 || verdict.broken + verdict.eager + verdict.skipped + verdict.without_graph > 0))
    out.rows.push_back({"", s(verdict.frames()), "", "", Tone::None, 0, true});
  return out;
}

InspectorSection compilationOf(const SessionData& d, const CompilationRow& row) {
  const auto took = static_cast<double>(row.duration_ns);  // 0: the record does not tell
  InspectorSection out{"Compilation " + kit::whichOf(d, row.id),
                       {{"took", took > 0 ? kit::timeText(took) : kit::unknown()}}};
  double guards = 0;
  for (const GuardRow& guard : d.guards.of(row.id)) guards += guard.cost_ns;
  if (const auto count = static_cast<int64_t>(d.guards.of(row.id).size()))
    out.rows.push_back({"guards", QString::number(count),
                        guards > 0 ? kit::timeText(guards) + QStringLiteral(" a call") : QString()});
  const int64_t captured = d.countOf(row.id, "captured"), loops = d.countOf(row.id, "loops"),
                launches = d.countOf(row.id, "launch");
  if (captured > 0)
    out.rows.push_back({"captured", QString::number(captured), captured == 1 ? "node" : "nodes"});
  if (loops > 0 && launches > 0)
    out.rows.push_back({"fused", QStringLiteral("%1 → %2").arg(loops).arg(launches), "launches"});
  if (const int64_t memory = d.countOf(row.id, "memory"); memory > 0)
    out.rows.push_back({"memory", kit::bytesText(static_cast<double>(memory)), "of temporaries"});
  return out;
}

// The dearest kernels; those of equal layers are one row, as in every view.
InspectorSection dearestOf(const SessionData& d, Id compilation) {
  struct Cost {
    const KernelRow* row;
    double ns = 0;
    int64_t launches = 0;
  };
  std::map<QStringList, size_t> known;
  std::unordered_map<Id, size_t> at;  // by kernel
  std::vector<Cost> order;
  double total = 0;
  for (const LaunchRow& launch : d.launches.of(compilation)) {
    const KernelRow* kernel = d.kernels.find(launch.kernel);
    if (!kernel || launch.median_ns <= 0) continue;
    const auto [place, met] = at.try_emplace(kernel->id, 0);
    if (met) place->second = known.try_emplace(kit::equalBy(d, *kernel), order.size()).first->second;
    if (place->second == order.size()) order.push_back({kernel});
    Cost& cost = order[place->second];
    cost.ns += launch.median_ns;
    ++cost.launches;
    total += launch.median_ns;
  }
  std::stable_sort(order.begin(), order.end(), [](const Cost& a, const Cost& b) { return a.ns > b.ns; });
  const QString which = kit::whichOf(d, compilation);
  const bool one_of = which.contains(QLatin1String(" of "));
  InspectorSection out{one_of ? "Where the time goes in " + which : QStringLiteral("Where the time goes"),
                       {}};
  order.resize(std::min(order.size(), kMostKernels));
  for (const Cost& cost : order) {
    const QString name = cost.launches > 1
                             ? kit::timesText(s(cost.row->name), static_cast<size_t>(cost.launches))
                             : d.label(cost.row->id);
    // Those of one name are told apart by what they are over.
    const auto alike = std::count_if(order.begin(), order.end(),
                                     [&](const Cost& other) { return other.row->name == cost.row->name; });
    out.rows.push_back({"", name, kit::timeText(cost.ns) + ", " + kit::percentText(cost.ns / total), "kernel",
                        Tone::None, cost.row->id, false, kit::familyOf(cost.row->family),
                        alike > 1 ? s(cost.row->space) : QString()});
  }
  if (order.empty()) return out;
  const RunTimes times = kit::runTimes(d, d.runOf(compilation));
  if (const QString of = kit::launchTimesText(d, compilation); !of.isEmpty())
    out.rows.push_back({"", "Of " + of + ".", "", "info", Tone::Info, 0, true});
  if (const std::string doubt = times.doubt(TimesOf::ShownCall); !doubt.empty())
    out.rows.push_back({"", s(doubt), "", "warning", Tone::Warn, 0, true});
  return out;
}

// Without times: those that move most bytes.
InspectorSection kernelsOf(const SessionData& d, Id compilation) {
  std::vector<const KernelRow*> rows;
  for (const KernelRow& row : d.kernels.of(compilation)) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const KernelRow* a, const KernelRow* b) { return a->bytes > b->bytes; });
  const bool known = !rows.empty() && rows.front()->bytes > 0;
  InspectorSection out{known ? "Kernels by traffic" : "Kernels", {}};
  for (const KernelRow* row : rows) {
    if (out.rows.size() == kMostKernels) break;
    out.rows.push_back({"", d.label(row->id),
                        row->bytes > 0 ? kit::bytesText(static_cast<double>(row->bytes)) : kit::unknown(),
                        "kernel", Tone::None, row->id, false, kit::familyOf(row->family)});
  }
  return out;
}

InspectorSection breaksOf(const SessionData& d, Id run) {
  InspectorSection out{"Graph breaks", {}};
  std::vector<session::BreakCause> places = kit::breakCauses(d, run);
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.ns_per_call > b.ns_per_call; });
  for (const session::BreakCause& place : places) {
    if (out.rows.size() == kMostBreaks) break;
    const BreakRow& row = *place.rows[0];
    out.rows.push_back({"", s(row.expression.empty() ? row.kind : row.expression),
                        place.ns_per_call > 0 ? kit::timeText(place.ns_per_call) + " a call" : QString(),
                        "scissors", Tone::Warn, row.id});
  }
  return out;
}

}  // namespace

InspectorContent overview(const SessionData& d, const kit::Selection& selection) {
  InspectorContent out;
  const Id compilation = selection.film.compilation ? selection.film.compilation : d.main;
  const CompilationRow* row = d.compilations.find(compilation);
  const RunRow* run = d.runs.find(row ? d.runOf(compilation) : d.runs.empty() ? 0 : d.runs[0].id);
  if (!run) return out;
  out.icon = "file";
  out.title = s(run->label);
  out.kind = run->status == "finished" ? s(run->device).section(QStringLiteral(" ("), 0, 0) : s(run->status);
  if (const MessageRow* error = kit::errorOf(d, *run)) {
    InspectorSection wrong{"What went wrong", {{"", s(error->text), "", "error", Tone::Err, 0, true}}};
    if (!error->hint.empty()) wrong.rows.push_back({"", s(error->hint), "", "", Tone::None, 0, true});
    out.sections.push_back(std::move(wrong));
  }
  out.sections.push_back(resultOf(d, *run));
  if (row) {
    if (InspectorSection dearest = dearestOf(d, row->id); !dearest.rows.empty())
      out.sections.push_back(std::move(dearest));
    else if (InspectorSection kernels = kernelsOf(d, row->id); !kernels.rows.empty())
      out.sections.push_back(std::move(kernels));
    if (InspectorSection breaks = breaksOf(d, run->id); !breaks.rows.empty())
      out.sections.push_back(std::move(breaks));
    out.sections.push_back(compilationOf(d, *row));
  }
  out.sections.push_back({"Next",
                          {{"", QStringLiteral("Nothing is active. Click anything to see all of it here."),
                            "", "", Tone::None, 0, true}}});
  return out;
}

}  // namespace vitrine::views
