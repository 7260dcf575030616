#include "app/shell/run/partition_check.h"

#include <QFileInfo>
#include <cmath>

#include "app/shell/document/settings.h"
#include "app/shell/run/kernel_outcome.h"
#include "core/session/speed_up.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

using kit::SessionData;

namespace {

// Of the same segment and number in another session.
Id counterpart(const SessionData& before, Id compilation, const SessionData& after) {
  const session::CompilationRow* row = before.compilations.find(compilation);
  for (const session::CompilationRow& other : after.compilations)
    if (row && other.label == row->label && !after.partitions.of(other.id).empty()) return other.id;
  return 0;
}

session::Timed callOf(const SessionData& data) {
  const session::MeasurementRow row = kit::runTimes(data, 0).compiled.plain;
  return {row.median_ns, row.lower_ns, row.upper_ns, row.calls};
}

QString timesText(const SessionData& before, const SessionData& after) {
  const session::Timed was = callOf(before), now = callOf(after);
  if (was.ns <= 0 || now.ns <= 0) return QStringLiteral("its calls were not timed");
  const double then = before.runs.empty() ? 0 : before.runs[0].eager_ns,
               eager = after.runs.empty() ? 0 : after.runs[0].eager_ns;
  if (then > 0 && eager > 0 && std::abs(eager - then) > kSameMachine * std::min(eager, then))
    return QStringLiteral(
               "a call takes %1, was %2, but eager takes %3, was %4: the machine is not as it was, and the "
               "times do not compare")
        .arg(kit::timeText(now.ns), kit::timeText(was.ns), kit::timeText(eager), kit::timeText(then));
  const double by = now.ns - was.ns;
  const QString words = QString::fromStdString(session::against_words(was, now));
  return QStringLiteral("a call takes %1, was %2 (%3%4)")
      .arg(kit::timeText(now.ns), kit::timeText(was.ns), kit::signedText(kit::timeText(std::abs(by)), by),
           words.isEmpty() ? words : "; " + words);
}

QString sessionBeside(const QString& file) {
  const QString path = RunController::sessionFor(file);
  const QFileInfo info(path);
  return info.path() + "/" + info.completeBaseName() + ".pinned.vitrine";
}

}  // namespace

QString partitionOutcome(const SessionData& before, Id compilation, const SessionData& after) {
  const Id other = counterpart(before, compilation, after);
  const auto was = before.partitions.of(compilation), now = after.partitions.of(other);
  if (was.empty() || now.empty()) return QStringLiteral("Checked: the run divided no such graph.");
  const auto kept = static_cast<double>(now.front().saved_bytes),
             then = static_cast<double>(was.front().saved_bytes);
  QString out = QStringLiteral("Checked: %1 (%2 kept), %3.")
                    .arg(kit::signedText(kit::bytesText(std::abs(kept - then)), kept - then),
                         kit::bytesText(kept), timesText(before, after));
  for (const session::MessageRow& message : after.messages)
    if (message.text.starts_with("A pin of the partition")) out += " " + QString::fromStdString(message.text);
  return out;
}

PartitionCheck::PartitionCheck(Document* document, RunController* runs, QObject* parent)
    : QObject(parent), document_(document), runs_(runs) {
  connect(&engine_, &EngineProcess::progress, this, [this](const QString& text) {
    if (!engine_.cancelling()) tell(kit::Tone::Info, QStringLiteral("Recompiling: %1").arg(text));
  });
  connect(&engine_, &EngineProcess::failed, this, [this](const EngineError& error) { error_ = error.text; });
  connect(&engine_, &EngineProcess::ended, this, &PartitionCheck::ended);
}

void PartitionCheck::tell(kit::Tone tone, const QString& text) {
  Q_EMIT told(tone, text);
  Q_EMIT stateChanged();
}

void PartitionCheck::start(const PinnedWish& wish) {
  if (running() || wish.arguments.isEmpty()) return;
  if (runs_->running())
    return tell(kit::Tone::Warn, QStringLiteral("A run is going on: cancel it, or wait for its end."));
  if (!runs_->canRun())
    return tell(kit::Tone::Warn, QStringLiteral("Not checked: the Python file of this session is not here."));
  if (!runs_->mayRun())
    return tell(kit::Tone::Warn, QStringLiteral("Nothing was run: this session was recorded elsewhere."));
  wish_ = wish;
  error_.clear();
  QStringList words = wish.arguments;
  for (const QString& word : runs_->arguments())
    if (!word.startsWith("--pin=")) words << word;
  engine_.start(AppSettings::python(), runs_->file(), sessionBeside(runs_->file()), words);
  tell(kit::Tone::Info, QStringLiteral("Recompiling."));
}

void PartitionCheck::ended(const EngineEnd& end) {
  if (end.kind == EngineEnd::Cancelled) return tell(kit::Tone::Info, QStringLiteral("Cancelled."));
  if (end.kind == EngineEnd::Died)
    return tell(kit::Tone::Err, QStringLiteral("The engine stopped (signal %1).").arg(end.signal));
  if (end.kind == EngineEnd::Failed)
    return tell(kit::Tone::Err, QStringLiteral("The run failed: %1").arg(error_));
  const kit::SessionPtr before = document_->session();
  document_->jobs()->run<QString>(
      this, "pinned",
      [before, path = engine_.session().toStdString(), id = wish_.compilation](const kit::Cancel&) {
        const auto after = kit::SessionData::load(path, session::Whose::Mine);
        return before && after ? partitionOutcome(*before, id, *after.value()) : QString();
      },
      [this](const QString& outcome) {
        if (outcome.isEmpty())
          return tell(kit::Tone::Err, QStringLiteral("The session of the run could not be read."));
        tell(kit::Tone::Ok, outcome);
        Q_EMIT noteWanted(
            wish_.compilation,
            QStringLiteral("%1: estimated %2. %3").arg(wish_.arguments.join(' '), wish_.estimate, outcome));
      });
}

}  // namespace vitrine::app
