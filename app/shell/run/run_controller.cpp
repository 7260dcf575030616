#include "app/shell/run/run_controller.h"

#include <sys/stat.h>

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <cstring>

#include "app/shell/document/settings.h"
#include "core/session/abandoned.h"

namespace vitrine::app {

namespace {
constexpr int kTickMs = 100;
constexpr const char* kLastRun = "last-run";

// What the session says of it.
session::Death deathOf(const EngineEnd& end) {
  if (end.kind == EngineEnd::Died)
    return {
        "The engine was ended by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ").",
        "A crash in native code, or the system ran out of memory.", end.words.toStdString()};
  if (end.kind == EngineEnd::Failed)
    return {
        "The engine ended without closing the session (exit status " + std::to_string(end.exit_code) + ").",
        "Did the code call os._exit()?", end.words.toStdString()};
  return {};
}

void keepRequest(const RunRequest& request) {
  const QJsonObject json{{"file", request.file},
                         {"python", request.python},
                         {"watch", request.watch},
                         {"arguments", QJsonArray::fromStringList(request.arguments())}};
  AppSettings::setState(kLastRun, QJsonDocument(json).toJson(QJsonDocument::Compact));
}
}  // namespace

RunRequest RunController::lastRequest() const {
  if (!last_.file.isEmpty()) return last_;
  const QJsonObject json = QJsonDocument::fromJson(AppSettings::state(kLastRun)).object();
  QStringList words;
  for (const QJsonValue word : json["arguments"].toArray()) words << word.toString();
  RunRequest out = RunRequest::of(json["file"].toString(), words);
  out.python = json["python"].toString();
  out.watch = json["watch"].toBool();
  return out;
}

RunController::RunController(Document* document, QObject* parent) : QObject(parent), document_(document) {
  tick_.setInterval(kTickMs);
  connect(&tick_, &QTimer::timeout, this, &RunController::tell);
  connect(&engine_, &EngineProcess::progress, this, &RunController::progress);
  connect(&engine_, &EngineProcess::output, this, &RunController::output);
  connect(&engine_, &EngineProcess::failed, this, [this](const EngineError& error) {
    if (engine_.cancelling()) return;  // it was asked to
    said_ = error.text;
    QString detail = error.detail.trimmed();
    if (!error.hint.isEmpty()) detail += (detail.isEmpty() ? "" : "\n") + error.hint;
    Q_EMIT message(kit::Tone::Err, error.text, detail);
  });
  connect(&engine_, &EngineProcess::noted, this,
          [this](const QString& text) { Q_EMIT message(kit::Tone::Info, text, ""); });
  connect(&engine_, &EngineProcess::readFiles, this, [this](const QStringList& files) {
    if (last_.watch) files_.set(files);
  });
  connect(&files_, &WatchedFiles::changed, this, &RunController::changed);
  connect(&engine_, &EngineProcess::movedTo, this, [this](const QString& session) {
    if (!shown_) return;
    last_session_ = session;
    document_->follow(session);
  });
  connect(&engine_, &EngineProcess::ended, this, &RunController::end);
}

QString RunController::sessionFor(const QString& file) {
  QString folder = qEnvironmentVariable("VITRINE_CACHE_DIR");
  if (folder.isEmpty())
    folder = QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) + "/vitrine";
  folder += "/sessions";
  const mode_t before = umask(077);  // what a session holds is its owner's
  QDir().mkpath(folder);
  umask(before);
  return folder + "/" + QFileInfo(file).completeBaseName() + "-" +
         QDateTime::currentDateTime().toString("yyyyMMdd-HHmmss-zzz") + ".vitrine";
}

QString RunController::file() const {
  const auto& session = document_->session();
  // A run that has left nothing yet, or nothing at all, is repeated by its file.
  if (!session || QString::fromStdString(session->path) == last_session_) return last_.file;
  if (session->imported()) return {};  // what its record names is a stranger's
  auto there = [](const std::string& path) { return QFileInfo::exists(QString::fromStdString(path)); };
  if (const auto it = session->meta.find("file"); it != session->meta.end())
    return there(it->second) ? QString::fromStdString(it->second) : QString();
  // An older session does not name it: the file that is called as its run is.
  for (const auto& file : session->files)
    if (file.user && there(file.path) && !session->runs.empty() &&
        file.path.ends_with("/" + session->runs[0].label))
      return QString::fromStdString(file.path);
  return {};
}

QStringList RunController::arguments() const {
  QStringList out;
  const auto& session = document_->session();
  if (!session) return out;
  const auto found = session->meta.find("arguments");
  if (found == session->meta.end()) return out;
  for (const QJsonValue& word : QJsonDocument::fromJson(QByteArray::fromStdString(found->second)).array())
    out << word.toString();
  return out;
}

void RunController::start(const QString& file, const QStringList& arguments) {
  RunRequest request = RunRequest::of(file, arguments);
  request.watch = last_.watch && file == last_.file;
  start(request);
}

void RunController::start(const RunRequest& request) {
  if (engine_.running()) {
    Q_EMIT refused(
        QStringLiteral("%1 is still running.").arg(QFileInfo(engine_.file()).fileName()),
        QStringLiteral("%1 was not started: one run at a time.").arg(QFileInfo(request.file).fileName()));
    return;
  }
  files_.set(request.watch ? QStringList{request.file} : QStringList());
  keepRequest(request);
  begin(request, true);
}

// A run of a watched file is shown once it has finished: until then, and where it fails, the last good one
// is.
void RunController::begin(const RunRequest& request, bool shown) {
  last_ = request;
  said_.clear();
  shown_ = shown;
  pending_ = false;
  const QString session = sessionFor(request.file);
  if (shown) last_session_ = session;
  engine_.start(request.python.isEmpty() ? AppSettings::python() : request.python, request.file, session,
                request.arguments());
  if (shown) document_->follow(session);
  progress("Starting " + QFileInfo(request.file).fileName(), "", 0, 0);
  tick_.start();
  Q_EMIT stateChanged();
}

void RunController::repeat() {
  if (canRepeat()) start(lastRequest());
}

void RunController::setWatch(bool on) {
  last_.watch = on && !last_.file.isEmpty();
  if (!last_.watch)
    files_.set({});
  else if (files_.files().isEmpty())
    files_.set({last_.file});
  Q_EMIT stateChanged();
}

void RunController::changed() {
  if (!last_.watch) return;
  pending_ = engine_.running();
  if (!pending_) begin(last_, false);
}

void RunController::again(const QStringList& more) {
  if (!canRun() || !mayRun()) return;
  QStringList words = arguments();
  for (const QString& word : more)
    if (!words.contains(word)) words.prepend(word);  // what stands behind -- is the script's
  start(file(), words);
}

bool RunController::mayRun(const QString& kernel) {
  const auto& session = document_->session();
  const QString path = session ? QString::fromStdString(session->path) : QString();
  if (!session || session->trusted || path == last_session_) return true;
  const TrustAnswer answer = ask_ ? ask_({path, file(), arguments(), kernel}) : TrustAnswer::No;
  if (answer != TrustAnswer::Always) return answer == TrustAnswer::Once;
  if (const Status bad = session::trust_session(session->path))
    Q_EMIT message(kit::Tone::Warn, QString::fromStdString(bad->what), QString::fromStdString(bad->hint));
  document_->open(path);
  return true;
}

void RunController::cancel() {
  if (!engine_.running()) return;  // it may have ended meanwhile
  engine_.cancel();
  text_ = "Cancelling";
  tell();
  Q_EMIT stateChanged();
}

void RunController::progress(const QString& text, const QString& stage, int done, int total) {
  if (engine_.cancelling()) return;
  text_ = text;
  if (total > 0 && !text.contains(" of ")) text_ += QStringLiteral(", %1 of %2").arg(done).arg(total);
  stage_ = stage;
  part_ = total > 0 ? static_cast<double>(done) / total : 1;  // not known: all of the cell's line
  tell();
}

void RunController::tell() {
  Q_EMIT busy(text_ + QStringLiteral(", %1 s").arg(engine_.seconds(), 0, 'f', 1), stage_,
              stage_.isEmpty() ? -1 : part_);
}

void RunController::end(const EngineEnd& end) {
  // An engine that could not close its session left that to us; then the last of it is read.
  const bool finished = end.kind == EngineEnd::Finished;
  if (!shown_ && finished) {
    last_session_ = engine_.session();
    document_->open(last_session_);
  }
  document_->jobs()->run<bool>(
      this, "abandoned",
      [path = engine_.session().toStdString(), open = end.open, death = deathOf(end),
       how = end.kind == EngineEnd::Cancelled ? session::Abandonment::Cancelled
                                              : session::Abandonment::Died](const kit::Cancel&) {
        if (!open) return false;
        const auto closed = session::close_abandoned(path, session::Whose::Mine, how, death);
        return closed && closed.value();
      },
      [this](bool) { document_->stopFollowing(); });
  tick_.stop();
  Q_EMIT busy("", "", -1);
  Q_EMIT stateChanged();
  const QString until = shown_ ? QStringLiteral("Everything until then is shown.")
                               : QStringLiteral("The last run that finished is still shown.");
  if (!shown_ && finished) Q_EMIT recorded();
  if (last_.watch && pending_) QTimer::singleShot(0, this, [this] { changed(); });
  if (end.kind == EngineEnd::Died) {
    const QString during = end.during.isEmpty() ? QString() : " during " + end.during;
    Q_EMIT message(kit::Tone::Warn,
                   QStringLiteral("The engine stopped (signal %1)%2 after %3 s.")
                       .arg(end.signal)
                       .arg(during)
                       .arg(end.seconds, 0, 'f', 1),
                   (end.words + "\n" + until).trimmed());
  } else if (end.kind == EngineEnd::Cancelled) {
    Q_EMIT message(kit::Tone::Info, "Cancelled.", until);
  } else if (end.kind == EngineEnd::Failed && said_.isEmpty()) {
    Q_EMIT message(kit::Tone::Err, QStringLiteral("The run failed with exit status %1.").arg(end.exit_code),
                   "");
  }
}

}  // namespace vitrine::app
