#include "app/shell/document/film.h"

#include "core/session/launches.h"
#include "views/kit/session/labels.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/sources.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::app {

using kit::Film;
using kit::SessionData;

namespace {

// Which member of Film each unit moves.
Id Film::* const kMembers[kFilmUnits] = {&Film::graph,       &Film::decision, &Film::step,
                                         &Film::compilation, &Film::launch,   &Film::rewrite};
const char* const kTitles[kFilmUnits] = {"By pass",        "By decision", "By instruction",
                                         "By compilation", "By launch",   "By rewrite"};

std::vector<FilmFrame> passes(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  for (const auto& graph : d.graphs.of(compilation))
    out.push_back({graph.id, 0, s(graph.pass.empty() ? graph.stage : graph.pass),
                   s(graph.sentence.empty() && !graph.changed ? "changed nothing" : graph.sentence),
                   graph.changed != 0, graph.stage});
  return out;
}

std::vector<FilmFrame> decisions(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  for (const auto& row : d.decisions.of(compilation)) {
    const bool fused = row.verdict == "fused";
    out.push_back(
        {row.id, row.id, d.label(row.id), (fused ? "fused: " : "not fused: ") + s(row.reason), fused, ""});
  }
  return out;
}

std::vector<FilmFrame> instructions(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  for (const auto& step : d.steps.of(compilation)) {
    const auto* ins = d.instructions.find(step.instruction);
    const QString name =
        ins ? QStringLiteral("%1 %2 %3").arg(ins->pc).arg(s(ins->op), s(ins->argrepr)) : QString();
    out.push_back({step.id, step.entity ? step.entity : step.instruction, name.trimmed(), s(step.text),
                   !step.event.empty(), ""});
  }
  return out;
}

// All compilations of the frame, so that one steps through breaks and recompilations alike.
std::vector<FilmFrame> compilations(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  const auto* own = d.compilations.find(compilation);
  const auto* segment = own ? d.segments.find(own->segment) : nullptr;
  if (!segment) return out;
  for (const auto& part : d.segments.of(segment->frame))
    for (const auto& row : d.compilations.of(part.id)) {
      QString sentence = QStringLiteral("ends with ") + s(row.end);
      if (!d.imported()) sentence.prepend(kit::countText(row.calls, "call") + ", ");
      for (const auto& why : d.recompilations.of(row.id))
        sentence = (kit::callOf(d, why) ? QStringLiteral("call %1 failed ").arg(kit::callOf(d, why))
                                        : QStringLiteral("a call failed ")) +
                   kit::sourceText(d, why.compilation, why.failed);
      out.push_back({row.id, row.id, d.label(row.id), sentence, true, ""});
    }
  return out;
}

// " (half of 25 calls: 1.20 to 1.42 µs)"
QString half(const session::LaunchRow& row) {
  const QString text = kit::middleHalf(row.lower_ns, row.upper_ns, row.calls);
  return text.isEmpty() ? text : QStringLiteral(" (half of %1 calls: %2)").arg(row.calls).arg(text);
}

std::vector<FilmFrame> launches(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  for (const auto& row : d.launches.of(compilation)) {
    if (!session::launches_something(row)) continue;
    QString sentence = s(row.args);
    if (row.median_ns > 0)
      sentence = kit::timeText(row.median_ns) + half(row) + (sentence.isEmpty() ? "" : ", ") + sentence;
    out.push_back({row.id, row.id, s(row.text), sentence, true, ""});
  }
  return out;
}

// "line 33:12, 1.4 µs: gelu → mul, erf, add, mul_1". What a pass applied stands behind the graph that it
// began with.
std::vector<FilmFrame> rewrites(const SessionData& d, Id compilation) {
  std::vector<FilmFrame> out;
  for (const auto& graph : d.graphs.of(compilation))
    for (const auto& row : d.rewrites.of(graph.id)) {
      const Id span = kit::spanNear(d, row.node);
      QString sentence = s(row.text);
      if (row.duration_ns > 0) sentence += ", " + kit::timeText(static_cast<double>(row.duration_ns));
      if (span) sentence += QStringLiteral(", line ") + d.label(span);
      FilmFrame frame{
          row.node, row.node, s(row.rule == graph.pass ? graph.pass : graph.pass + ": " + row.rule),
          sentence, true,     graph.stage};
      frame.graph = graph.id;
      out.push_back(std::move(frame));
    }
  return out;
}

}  // namespace

QString unitTitle(FilmUnit unit) {
  return QString::fromLatin1(kTitles[static_cast<int>(unit)]);
}

std::vector<FilmFrame> filmFrames(const SessionData& session, Id compilation, FilmUnit unit) {
  using Make = std::vector<FilmFrame> (*)(const SessionData&, Id);
  constexpr Make makers[kFilmUnits] = {passes, decisions, instructions, compilations, launches, rewrites};
  return makers[static_cast<int>(unit)](session, compilation);
}

int filmIndex(const std::vector<FilmFrame>& frames, const Film& film, FilmUnit unit) {
  const Id at = film.*kMembers[static_cast<int>(unit)];
  for (size_t i = 0; i < frames.size(); ++i)
    if (frames[i].entity == at) return static_cast<int>(i);
  return static_cast<int>(frames.size()) - 1;
}

Film filmAt(const Film& film, const FilmFrame& frame, FilmUnit unit) {
  Film out = film;
  if (unit == FilmUnit::Compilation) out.graph = out.step = out.decision = out.launch = 0;
  out.rewrite = 0;
  out.*kMembers[static_cast<int>(unit)] = frame.entity;
  if (frame.graph) out.graph = frame.graph;
  return out;
}

}  // namespace vitrine::app
