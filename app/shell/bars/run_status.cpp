#include "app/shell/bars/run_status.h"

#include <QRegularExpression>

#include "views/kit/session/run_times.h"
#include "views/kit/session/verdict.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

namespace {

QString counted(size_t n, const char* word) {
  return QStringLiteral("%1 %2%3").arg(n).arg(QString::fromLatin1(word), n == 1 ? "" : "s");
}

// "outputs equal eager", "outputs close to eager", "output 0 differs from eager", "outputs not compared".
QString accuracy(const kit::SessionData& d, Id run, const session::Verdict& verdict) {
  for (const auto& row : d.accuracies.of(run))
    if (row.verdict == "differs")
      return (row.output == "output" ? "" : "output ") + QString::fromStdString(row.output) +
             " differs from eager";
  return "outputs " +
         (verdict.compared ? QString::fromStdString(verdict.words) : QStringLiteral("not compared"));
}

}  // namespace

RunStatus runStatus(const kit::SessionData& d, Id compilation) {
  RunStatus out;
  const Id run_id = compilation ? d.runOf(compilation) : d.runs.empty() ? 0 : d.runs[0].id;
  const auto* run = d.runs.find(run_id);
  if (!run) return out;
  // "sm_90" of "cuda (sm_90, compiled only)".
  static const QRegularExpression target(QStringLiteral("\\((\\w+), compiled only\\)"));
  QString device = QString::fromStdString(run->device);
  if (const auto match = target.match(device); match.hasMatch()) device = match.captured(1);
  out.where = d.imported() ? QStringLiteral("imported")
                           : device + QStringLiteral(" · ") + QString::fromStdString(run->mode);
  out.text = QString::fromStdString(run->status);
  out.tone = run->status == "finished"  ? kit::Tone::Ok
             : run->status == "running" ? kit::Tone::Info
                                        : kit::Tone::Err;
  const session::Verdict judged = kit::verdictOf(d, run_id);
  const auto breaks = static_cast<size_t>(judged.breaks), again = static_cast<size_t>(judged.recompilations);
  if (run->status == "finished" && breaks + again > 0) {
    out.tone = kit::Tone::Warn;
    out.text = breaks ? counted(breaks, "break") : QString();
    if (again) out.text += (breaks ? ", " : "") + counted(again, "recompilation");
  }
  QStringList facts;
  // Of the run; then of the compilation that is shown, if there are others.
  double all = 0;
  int64_t compilations = 0, guards = 0;
  for (const auto& row : d.compilations) {
    if (d.runOf(row.id) != run_id) continue;
    ++compilations;
    all += static_cast<double>(row.duration_ns);
    guards += static_cast<int64_t>(d.guards.of(row.id).size());
  }
  if (compilations > 1)
    facts << counted(static_cast<size_t>(compilations), "compilation") +
                 (all > 0 ? " " + kit::timeText(all) : QString());  // an import may not tell
  else if (all > 0)
    facts << "compile " + kit::timeText(all);
  double cost = 0;
  for (const auto& guard : d.guards.of(compilation)) cost += guard.cost_ns;
  if (guards)
    facts << counted(static_cast<size_t>(guards), "guard") +
                 (cost > 0 && compilations == 1 ? " " + kit::timeText(cost) : QString());
  const QString verdict = accuracy(d, run_id, judged);
  if (judged.compared || run->status == "finished") facts << verdict;
  if (verdict.contains("differs")) {  // which one may find no room among the numbers
    out.tone = kit::Tone::Err;
    const QString rest = out.text == "finished" ? QString() : ", " + out.text;
    out.text = QStringLiteral("outputs differ") + rest;
  }
  if (compilations > 1) facts << kit::compilationName(d, compilation) + " is shown";
  out.numbers = facts.join(", ");
  return out;
}

}  // namespace vitrine::app
