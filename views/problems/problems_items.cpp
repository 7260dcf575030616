#include "views/problems/problems_items.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "views/kit/session/labels.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/run_times.h"
#include "views/kit/session/sources.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::Cell;
using kit::Item;
using kit::SessionData;
using kit::Tone;
using namespace session;

namespace {

struct PricedProblem {
  Tone tone;
  QString icon, kind, text, place;
  double ns = 0;  // price a call, for the order
  Id id = 0;
  QString detail;
  int times = 1;
};

Item itemOf(const PricedProblem& p) {
  Item item;
  item.id = p.id;
  item.detail = p.detail;
  Cell kind{p.kind, {}, p.icon};
  kind.tone = p.tone;
  Cell price{p.ns > 0 ? kit::timeText(p.ns) : QString(), p.ns};
  const QString times = p.times > 1 ? QStringLiteral(" × %1").arg(p.times) : QString();
  item.cells = {kind, {p.text + times}, {p.place}, price};
  return item;
}

QString paragraph(const std::string& text) {
  return text.empty() ? QString() : "<p>" + s(text).toHtmlEscaped() + "</p>";
}

void addMessages(const SessionData& d, std::vector<PricedProblem>& out) {
  for (const MessageRow& row : d.messages) {
    if (row.severity == "info" || kind_of(row.entity) == Kind::Break)
      continue;  // breaks have a row of their own
    const bool ours = row.origin == "vitrine";
    const Tone tone = row.severity == "error" && !ours ? Tone::Err : Tone::Warn;
    QString detail = paragraph(row.hint);
    if (!row.detail.empty()) detail += "<pre>" + s(row.detail).toHtmlEscaped() + "</pre>";
    const bool placed = kind_of(row.entity) == Kind::Span;
    out.push_back({tone, tone == Tone::Err ? "error" : "warning", ours ? "Vitrine" : "your code", s(row.text),
                   placed ? d.place(row.entity) : QString(), 0, placed ? row.entity : row.id, detail});
  }
}

// In a few words, for one line: the sentences stand in its detail.
QString doubtText(const SessionData& d, const RunRow& run, const RunTimes& times) {
  const QString few = s(times.short_doubt(TimesOf::Both));
  const QString text = few.isEmpty() ? s(times.doubt(TimesOf::Both)) : few;
  return d.runs.size() > 1 ? s(run.label) + ": " + text : text;
}

void addRuns(const SessionData& d, std::vector<PricedProblem>& out) {
  for (const RunRow& run : d.runs) {
    if (run.status == "died" &&
        !kit::errorOf(d, run))  // nothing else tells of an engine that could not say why it ended
      out.push_back({Tone::Err, "error", "died", s(run.label) + ": the engine stopped before the run ended",
                     "", 0, run.id, paragraph("What was recorded until then is shown.")});
    const RunTimes times = kit::runTimes(d, run.id);
    const std::string doubt = d.compilations.empty() ? "" : times.doubt(TimesOf::Both);
    if (!doubt.empty())
      out.push_back(
          {Tone::Info, "clock", "doubtful times", doubtText(d, run, times), "", 0, run.id, paragraph(doubt)});
    if (times.speed_up.known() && times.speed_up.ratio < 1)
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

// What is asked of a guard's value: "L['x'].size(0)" of "L['x'].size(0) == 8".
QString askedOf(const SessionData& d, const RecompilationRow& row) {
  return kit::sourceText(d, row.compilation, row.failed).section(QStringLiteral(" == "), 0, 0);
}

// Another tool's record may say that a guard failed, and no more.
bool isKnown(const std::string& value) {
  return !value.empty() && value != "–";
}

// One row for each value that changed at a place, however often it did.
void addRecompilations(const SessionData& d, std::vector<PricedProblem>& out) {
  std::map<std::pair<QString, std::string>, std::vector<const RecompilationRow*>> causes;
  std::vector<decltype(causes)::key_type> order;
  for (const RecompilationRow& row : d.recompilations) {
    const auto [it, added] = causes.try_emplace({askedOf(d, row), row.call_site});
    if (added) order.push_back(it->first);
    it->second.push_back(&row);
  }
  for (const auto& key : order) {
    const auto& rows = causes[key];
    const RecompilationRow &first = *rows.front(), &last = *rows.back();
    QString text = rows.size() == 1 ? kit::sourceText(d, first.compilation, first.failed)
                                    : QStringLiteral("%1 changed %2 times").arg(key.first).arg(rows.size());
    if (rows.size() == 1 && isKnown(first.new_value)) text += ", now " + s(first.new_value);
    if (rows.size() > 1 && isKnown(first.old_value) && isKnown(last.new_value))
      text += QStringLiteral(", from %1 to %2 in the end").arg(s(first.old_value), s(last.new_value));
    if (const int64_t call = kit::callOf(d, first); rows.size() == 1 && call > 0)
      text.prepend(QStringLiteral("call %1: ").arg(call));
    double took = 0;
    for (const RecompilationRow* row : rows)
      if (const CompilationRow* made = d.compilations.find(row->compilation))
        took += static_cast<double>(made->duration_ns);
    if (took > 0) text += QStringLiteral("; %1 to compile").arg(kit::timeText(took));
    out.push_back({Tone::Warn, "refresh", "recompilation", text, s(first.call_site).section('/', -1), 0,
                   first.id, paragraph(first.hint)});
  }
}

// Equal ones stand once, where the first stood, with their number.
std::vector<PricedProblem> grouped(const std::vector<PricedProblem>& found) {
  std::map<std::tuple<QString, QString, QString, QString>, size_t> known;
  std::vector<PricedProblem> out;
  for (const PricedProblem& p : found) {
    const auto [it, added] = known.try_emplace({p.kind, p.text, p.place, p.detail}, out.size());
    if (added)
      out.push_back(p);
    else
      ++out[it->second].times;
  }
  return out;
}

// How the price was found, where it was.
QString priced(const BreakCause& cause) {
  if (cause.ns_per_call <= 0) return paragraph("Its price is not known: no steady call was recorded.");
  return cause.priced ? paragraph("The price is the median of " + std::to_string(cause.priced) +
                                  (cause.priced == 1 ? " steady call." : " steady calls."))
                      : QString();
}

void addCapture(const SessionData& d, std::vector<PricedProblem>& out) {
  for (const session::BreakCause& place : kit::breakCauses(d, 0)) {
    const BreakRow& row = *place.rows[0];
    const InstructionRow* ins = d.instructions.find(place_of(place));
    out.push_back({Tone::Warn, "scissors", "graph break",
                   s(row.expression.empty() ? row.kind : row.expression),
                   ins ? d.place(ins->span) : QString(), place.ns_per_call, row.id,
                   paragraph(row.reason) + paragraph(row.hint) + priced(place)});
  }
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

// Equal layers have a kernel each with the same text: it stands once, by the label of the first.
void addSpills(const SessionData& d, std::vector<PricedProblem>& out) {
  std::map<std::tuple<Id, std::string, int64_t>, size_t> known;
  for (const KernelRow& row : d.kernels) {
    if (row.spills <= 0) continue;
    const auto [it, added] = known.try_emplace({row.compilation, row.name, row.spills}, out.size());
    if (!added) {
      ++out[it->second].times;
      continue;
    }
    const QString of =
        d.compilations.size() > 1 ? kit::compilationName(d, row.compilation) + ": " : QString();
    const Id span = kit::spanNear(d, row.id);
    out.push_back({Tone::Info, "info", "spills", of + d.label(row.id) + " does not fit into registers",
                   span ? d.place(span) : QString(), 0, row.id,
                   paragraph(std::to_string(row.spills) +
                             " spills: what does not fit is written to memory and read again.")});
  }
}

int rank(Tone tone) {
  return tone == Tone::Err ? 0 : tone == Tone::Warn ? 1 : 2;
}

}  // namespace

std::vector<kit::Column> problemColumns() {
  return {
      {"kind", 150}, {"problem", 300, false, false, true}, {"line", 150, false, true}, {"a call", 90, true}};
}

QString noProblems(const SessionData& session) {
  if (session.runs.empty()) return QStringLiteral("No problems are known: no run was recorded.");
  QStringList said;
  for (const RunRow& run : session.runs) {
    const QString text = s(kit::verdictOf(session, run.id).text());
    said << (session.runs.size() > 1 ? s(run.label) + ": " + text : text);
  }
  said.removeDuplicates();
  return QStringLiteral("No problems were found. ") + said.join(' ');
}

std::vector<Item> problemItems(const SessionData& session) {
  std::vector<PricedProblem> found;
  addMessages(session, found);
  addRuns(session, found);
  addCapture(session, found);
  addRecompilations(session, found);
  found = grouped(found);
  addSpills(session, found);
  std::stable_sort(found.begin(), found.end(), [](const PricedProblem& a, const PricedProblem& b) {
    return rank(a.tone) != rank(b.tone) ? rank(a.tone) < rank(b.tone) : a.ns > b.ns;
  });
  std::vector<Item> out;
  for (const PricedProblem& problem : found) out.push_back(itemOf(problem));
  return out;
}

}  // namespace vitrine::views
