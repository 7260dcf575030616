// The engine as a child process: starts `<python> -m vitrine._tools.run FILE -o SESSION --events`, follows
// its events, cancels it, notices its death. What it recorded until then stays in the session file.
#pragma once

#include <QElapsedTimer>
#include <QJsonObject>
#include <QObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTimer>

namespace vitrine::app {

struct EngineError {
  QString text, hint, detail;
};

struct EngineEnd {
  enum Kind { Finished, Failed, Cancelled, Died } kind = Finished;
  int exit_code = 0;
  int signal = 0;  // of Died
  double seconds = 0;
  QString during;     // the last stage it told of, "" if none
  QString words;      // the last that was written on its outputs, of one that did not end by itself
  bool open = false;  // it did not close its session
};

// The arguments that start a module of the engine's package; its own follow.
QStringList engineModule(const char* module);

// In which the engine runs: any interpreter finds the package of the build folder that this program is of.
QProcessEnvironment engineEnvironment();

class EngineProcess : public QObject {
  Q_OBJECT
 public:
  explicit EngineProcess(QObject* parent = nullptr);
  ~EngineProcess() override;

  // arguments: after FILE; one run at a time.
  void start(const QString& python, const QString& file, const QString& session,
             const QStringList& arguments = {});
  void cancel();  // asks, then insists
  bool running() const { return process_.state() != QProcess::NotRunning; }
  bool cancelling() const { return cancelling_; }
  QString file() const { return file_; }
  QString session() const { return session_; }
  double seconds() const { return static_cast<double>(clock_.elapsed()) / 1000.0; }

 Q_SIGNALS:
  void started();
  // stage: a name of session/stages.h or ""; done of total: kernels and the like, 0 = not known.
  void progress(const QString& text, const QString& stage, int done, int total);
  void output(const QString& line);  // what the user's code prints
  void failed(const vitrine::app::EngineError& error);
  void noted(const QString& text);           // something to know that is no failure
  void readFiles(const QStringList& files);  // of the user's own, by the run that ends
  void movedTo(const QString& session);      // where the recording is now
  void ended(const vitrine::app::EngineEnd& end);

 private:
  void readOutput();
  void readEvent(const QJsonObject& event);
  void recordedAt(const QString& session);
  void finish(int code, QProcess::ExitStatus status);
  void tellFailure(int code);
  QString lastWords() const;
  void insist();

  QProcess process_;
  QTimer insist_;
  QElapsedTimer clock_;
  QByteArray pending_;
  QString file_, session_, stage_;
  QString status_;      // that it told at its end
  QByteArray written_;  // the last of what was written on its outputs, without events
  bool cancelling_ = false, told_error_ = false, recording_ = false;
  int insisted_ = 0;
};

}  // namespace vitrine::app
