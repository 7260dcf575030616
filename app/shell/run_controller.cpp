#include "app/shell/run_controller.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include "app/shell/settings.h"

namespace vitrine::app {

RunController::RunController(Document* document, QObject* parent) : QObject(parent), document_(document) {
  connect(&engine_, &EngineProcess::progress, this, &RunController::progress);
  connect(&engine_, &EngineProcess::output, this, &RunController::output);
  connect(&engine_, &EngineProcess::failed, this, [this](const EngineError& error) {
    said_ = error.text;
    QString detail = error.detail.trimmed();
    if (!error.hint.isEmpty()) detail += (detail.isEmpty() ? "" : "\n") + error.hint;
    Q_EMIT message(kit::Tone::Err, error.text, detail);
  });
  connect(&engine_, &EngineProcess::ended, this, &RunController::end);
}

QString RunController::sessionFor(const QString& file) {
  QString folder = qEnvironmentVariable("VITRINE_CACHE_DIR");
  if (folder.isEmpty())
    folder = QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) + "/vitrine";
  folder += "/sessions";
  QDir().mkpath(folder);
  return folder + "/" + QFileInfo(file).completeBaseName() + "-" +
         QDateTime::currentDateTime().toString("yyyyMMdd-HHmmss-zzz") + ".vitrine";
}

QString RunController::file() const {
  if (!last_file_.isEmpty()) return last_file_;
  if (const auto& session = document_->session())
    for (const auto& file : session->files)
      if (file.user && QFileInfo::exists(QString::fromStdString(file.path)))
        return QString::fromStdString(file.path);
  return {};
}

void RunController::start(const QString& file) {
  if (engine_.running()) return;
  last_file_ = file;
  said_.clear();
  const QString session = sessionFor(file);
  engine_.start(Settings::python(), file, session);
  document_->follow(session);
  Q_EMIT busy("Starting " + QFileInfo(file).fileName(), "", -1);
  Q_EMIT stateChanged();
}

void RunController::again() {
  if (canRun()) start(file());
}

void RunController::cancel() {
  engine_.cancel();
  Q_EMIT busy("Cancelling", "", -1);
  Q_EMIT stateChanged();
}

void RunController::progress(const QString& text, const QString& stage, int done, int total) {
  if (engine_.cancelling()) return;
  QString line = text;
  if (total > 0 && !text.contains(" of ")) line += QStringLiteral(", %1 of %2").arg(done).arg(total);
  Q_EMIT busy(line + QStringLiteral(", %1 s").arg(engine_.seconds(), 0, 'f', 1), stage,
              total > 0 ? static_cast<double>(done) / total : -1);
}

void RunController::end(const EngineEnd& end) {
  document_->stopFollowing();
  Q_EMIT busy("", "", -1);
  Q_EMIT stateChanged();
  if (end.kind == EngineEnd::Died) {
    const QString during = end.during.isEmpty() ? QString() : " during " + end.during;
    Q_EMIT message(kit::Tone::Warn,
                   QStringLiteral("The engine stopped (signal %1)%2 after %3 s.")
                       .arg(end.signal)
                       .arg(during)
                       .arg(end.seconds, 0, 'f', 1),
                   "Everything until then is shown.");
  } else if (end.kind == EngineEnd::Cancelled) {
    Q_EMIT message(kit::Tone::Info, "Cancelled.", "What was recorded until then is shown.");
  } else if (end.kind == EngineEnd::Failed && said_.isEmpty()) {
    Q_EMIT message(kit::Tone::Err, QStringLiteral("The run failed with exit status %1.").arg(end.exit_code),
                   "");
  }
}

}  // namespace vitrine::app
