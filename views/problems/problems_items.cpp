#include "views/problems/problems_items.h"

#include <algorithm>

#include "views/kit/break_places.h"
#include "views/kit/numbers.h"

namespace vitrine::views {

using kit::Cell;
using kit::Item;
using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

QString s(const std::string& text) {
  return QString::fromStdString(text);
}

struct Problem {
  Tone tone;
  QString icon, kind, text, place;
  double ns = 0;  // price a call, for the order
  Id id = 0;
  QString detail;
};

Item itemOf(const Problem& p) {
  Item item;
  item.id = p.id;
  item.detail = p.detail;
  Cell kind{p.kind, {}, p.icon};
  kind.tone = p.tone;
  Cell price{p.ns > 0 ? kit::timeText(p.ns) : QString(), p.ns};
  item.cells = {kind, {p.text}, {p.place}, price};
  return item;
}

QString paragraph(const std::string& text) {
  return text.empty() ? QString() : "<p>" + s(text).toHtmlEscaped() + "</p>";
}

void addMessages(const SessionData& d, std::vector<Problem>& out) {
  for (const MessageRow& row : d.messages) {
    if (row.severity == "info" || kind_of(row.entity) == Kind::Break)
      continue;  // breaks have a row of their own
    const bool ours = row.origin == "vitrine";
    const Tone tone = row.severity == "error" && !ours ? Tone::Err : Tone::Warn;
    QString detail = paragraph(row.hint);
    if (!row.detail.empty()) detail += "<pre>" + s(row.detail).toHtmlEscaped() + "</pre>";
    out.push_back({tone, tone == Tone::Err ? "error" : "warning", ours ? "Vitrine" : "your code", s(row.text),
                   "", 0, row.id, detail});
  }
}

void addRuns(const SessionData& d, std::vector<Problem>& out) {
  for (const RunRow& run : d.runs) {
    if (run.compiled_ns > 0 && run.compiled_ns > run.eager_ns)
      out.push_back({Tone::Warn,
                     "clock",
                     "slower than eager",
                     s(run.label) + ": compiled " + kit::timeText(run.compiled_ns) + ", eager " +
                         kit::timeText(run.eager_ns),
                     "",
                     run.compiled_ns - run.eager_ns,
                     run.id,
                     {}});
    for (const AccuracyRow& row : d.accuracies.of(run.id))
      if (row.verdict == "differs")
        out.push_back({Tone::Err,
                       "error",
                       "differs",
                       (row.output == "output" ? "" : "output ") + s(row.output) +
                           " differs from eager: " + s(row.message),
                       "",
                       0,
                       run.id,
                       {}});
  }
  for (const FrameRow& row : d.frames)
    if (row.state != "captured")
      out.push_back({Tone::Info,
                     "info",
                     row.state == "skipped" ? "skipped" : "eager",
                     d.label(row.id) + (row.reason.empty() ? QString() : ": " + s(row.reason)),
                     "",
                     0,
                     row.id,
                     {}});
}

void addCapture(const SessionData& d, std::vector<Problem>& out) {
  for (const kit::BreakPlace& place : kit::breakPlaces(d, 0)) {
    const BreakRow& row = *place.rows[0];
    const InstructionRow* ins = d.instructions.find(row.instruction);
    out.push_back({Tone::Warn, "scissors", "graph break",
                   s(row.expression.empty() ? row.kind : row.expression),
                   ins ? d.place(ins->span) : QString(), place.ns_per_call, row.id,
                   paragraph(row.reason) + paragraph(row.hint)});
  }
  for (const RecompilationRow& row : d.recompilations)
    out.push_back({Tone::Warn, "refresh", "recompilation",
                   QStringLiteral("call %1: %2, now %3").arg(row.call).arg(s(row.failed), s(row.new_value)),
                   s(row.call_site), 0, row.id, paragraph(row.hint)});
  for (const CompilationRow& row : d.compilations)
    if (row.status == "failed")
      out.push_back({Tone::Warn,
                     "warning",
                     "Vitrine",
                     d.label(row.id) + " failed: " + s(row.message) + " Eager's result is used.",
                     "",
                     0,
                     row.id,
                     {}});
  for (const KernelRow& row : d.kernels)
    if (!row.error.empty())
      out.push_back({Tone::Warn, "warning", "Vitrine",
                     d.label(row.id) + " did not compile. Eager's result is used.", "", 0, row.id,
                     "<pre>" + s(row.error).toHtmlEscaped() + "</pre>"});
}

int rank(Tone tone) {
  return tone == Tone::Err ? 0 : tone == Tone::Warn ? 1 : 2;
}

}  // namespace

std::vector<kit::Column> problemColumns() {
  return {
      {"kind", 150}, {"problem", 300, false, false, true}, {"line", 90, false, true}, {"a call", 90, true}};
}

std::vector<Item> problemItems(const SessionData& session) {
  std::vector<Problem> found;
  addMessages(session, found);
  addRuns(session, found);
  addCapture(session, found);
  std::stable_sort(found.begin(), found.end(), [](const Problem& a, const Problem& b) {
    return rank(a.tone) != rank(b.tone) ? rank(a.tone) < rank(b.tone) : a.ns > b.ns;
  });
  std::vector<Item> out;
  for (const Problem& problem : found) out.push_back(itemOf(problem));
  return out;
}

}  // namespace vitrine::views
