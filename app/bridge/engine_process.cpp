#include "app/bridge/engine_process.h"

#include <signal.h>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

#include "app/bridge/python_module.h"
#include "core/base/last_words.h"

namespace vitrine::app {

namespace {
constexpr char kEventMark = '\x1e';  // ASCII record separator: tells events from what the user's code prints
constexpr int kInsistMs = 1500;      // between asking, interrupting, terminating and killing
constexpr qsizetype kMostBytes = 64 * 1024;
}  // namespace

QStringList engineModule(const char* module) {
  QStringList out;
  for (const std::string& word : python_module_words(module)) out << QString::fromStdString(word);
  return out;
}

QProcessEnvironment engineEnvironment() {
  QProcessEnvironment out = QProcessEnvironment::systemEnvironment();
  const QDir package(QCoreApplication::applicationDirPath() + "/../python");
  if (!package.exists("vitrine")) return out;  // an installed one lies where its interpreter looks
  const QString path = out.value("PYTHONPATH"), own = package.canonicalPath();
  if (!path.split(':').contains(own)) out.insert("PYTHONPATH", path.isEmpty() ? own : own + ':' + path);
  return out;
}

EngineProcess::EngineProcess(QObject* parent) : QObject(parent) {
  insist_.setSingleShot(true);
  connect(&insist_, &QTimer::timeout, this, &EngineProcess::insist);
  connect(&process_, &QProcess::started, this, &EngineProcess::started);
  connect(&process_, &QProcess::readyReadStandardOutput, this, &EngineProcess::readOutput);
  connect(&process_, &QProcess::readyReadStandardError, this,
          [this] { written_ = (written_ + process_.readAllStandardError()).right(kMostBytes); });
  connect(&process_, &QProcess::finished, this, &EngineProcess::finish);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    Q_EMIT failed({"The engine could not be started: " + process_.errorString(),
                   "Choose a Python that can import torch and vitrine: Run, Choose interpreter.",
                   process_.program()});
    Q_EMIT ended({EngineEnd::Failed, -1, 0, seconds(), {}});
  });
}

EngineProcess::~EngineProcess() {
  process_.disconnect(this);
  if (running()) process_.kill();
}

void EngineProcess::start(const QString& python, const QString& file, const QString& session,
                          const QStringList& arguments) {
  if (running()) return;
  file_ = file;
  session_ = session;
  stage_.clear();
  status_.clear();
  written_.clear();
  pending_.clear();
  cancelling_ = told_error_ = recording_ = false;
  insisted_ = 0;
  clock_.start();
  process_.setWorkingDirectory(QFileInfo(file).absolutePath());
  process_.setProcessEnvironment(engineEnvironment());
  process_.start(
      python, engineModule("vitrine._tools.run") + QStringList{file, "-o", session, "--events"} + arguments);
}

void EngineProcess::cancel() {
  if (!running() || cancelling_) return;
  cancelling_ = true;
  process_.write("{\"command\":\"cancel\"}\n");
  insist_.start(kInsistMs);  // the engine ends by itself where a stage ends
}

// Asked and still running: interrupt (Python unwinds and closes the session), then terminate, then kill.
void EngineProcess::insist() {
  if (!running()) return;
  ++insisted_;
  if (insisted_ == 1)
    ::kill(static_cast<pid_t>(process_.processId()), SIGINT);
  else if (insisted_ == 2)
    process_.terminate();
  else
    process_.kill();
  insist_.start(kInsistMs);
}

void EngineProcess::readOutput() {
  pending_ += process_.readAllStandardOutput();
  for (qsizetype end; (end = pending_.indexOf('\n')) >= 0;) {
    const QByteArray line = pending_.left(end);
    pending_.remove(0, end + 1);
    const qsizetype mark = line.indexOf(kEventMark);
    if (mark != 0) {
      const QByteArray said = mark < 0 ? line : line.left(mark);
      written_ = (written_ + said + '\n').right(kMostBytes);
      Q_EMIT output(QString::fromUtf8(said));
    }
    if (mark < 0) continue;
    const QJsonDocument event = QJsonDocument::fromJson(line.mid(mark + 1));
    if (event.isObject()) readEvent(event.object());
  }
}

void EngineProcess::readEvent(const QJsonObject& event) {
  const QString kind = event["event"].toString();
  if (kind == "progress") {
    if (const QString stage = event["stage"].toString(); !stage.isEmpty()) stage_ = stage;
    Q_EMIT progress(event["text"].toString(), event["stage"].toString(), event["done"].toInt(),
                    event["total"].toInt());
  } else if (kind == "error") {
    told_error_ = true;
    Q_EMIT failed({event["text"].toString(), event["hint"].toString(), event["detail"].toString()});
  } else if (kind == "note") {
    Q_EMIT noted(event["text"].toString());
  } else if (kind == "read") {
    QStringList files;
    for (const QJsonValue file : event["files"].toArray()) files << file.toString();
    Q_EMIT readFiles(files);
  } else if (kind == "recording") {
    recording_ = true;
    recordedAt(event["session"].toString());
  } else if (kind == "finished") {
    status_ = event["status"].toString();
    recordedAt(event["session"].toString());
  }
}

// Beside a session that stands where this one belongs, until it has ended.
void EngineProcess::recordedAt(const QString& session) {
  if (session.isEmpty() || QFileInfo(session).fileName() == QFileInfo(session_).fileName()) return;
  session_ = QDir(QFileInfo(file_).absolutePath()).absoluteFilePath(session);
  Q_EMIT movedTo(session_);
}

QString EngineProcess::lastWords() const {
  return QString::fromStdString(last_words({written_.data(), static_cast<size_t>(written_.size())}));
}

void EngineProcess::tellFailure(int code) {
  if (recording_ && status_.isEmpty())
    Q_EMIT failed({QStringLiteral("The engine ended without closing the session (exit status %1).").arg(code),
                   "Did the code call os._exit()?", lastWords()});
  else
    Q_EMIT failed({QStringLiteral("The engine stopped with exit status %1.").arg(code), {}, lastWords()});
}

void EngineProcess::finish(int code, QProcess::ExitStatus status) {
  insist_.stop();
  readOutput();
  written_ += process_.readAllStandardError();
  if (!pending_.isEmpty()) written_ += pending_;  // a last line without its end
  EngineEnd end{EngineEnd::Finished, code, 0, seconds(), stage_, {}, status_.isEmpty()};
  if (status == QProcess::CrashExit) {
    end.kind = cancelling_ ? EngineEnd::Cancelled : EngineEnd::Died;
    end.signal = code;  // Qt reports the signal's number as the exit code of a crash
    end.words = lastWords();
  } else if (cancelling_ || status_ == "cancelled") {
    end.kind = EngineEnd::Cancelled;
  } else if (status_ == "failed" || (status_.isEmpty() && (recording_ || (code != 0 && code != 3)))) {
    end.kind = EngineEnd::Failed;
    if (end.open) end.words = lastWords();
    if (!told_error_) tellFailure(code);
  }
  Q_EMIT ended(end);
}

}  // namespace vitrine::app
