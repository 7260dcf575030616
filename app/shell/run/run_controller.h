// Runs a file in the engine and tells the window how far it is, what went wrong, and that what was recorded
// stays.
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>

#include "app/bridge/engine_process.h"
#include "app/shell/document/document.h"
#include "app/shell/run/run_request.h"
#include "app/shell/run/trust_dialog.h"
#include "app/shell/run/watched_files.h"
#include "views/kit/painting/theme.h"

namespace vitrine::app {

class RunController : public QObject {
  Q_OBJECT
 public:
  RunController(Document* document, QObject* parent);
  void start(const QString& file, const QStringList& arguments = {});  // as vitrine._tools.run takes them
  void start(const RunRequest& request);
  void repeat();  // the last run that was asked for, also of an earlier window
  bool canRepeat() const { return !lastRequest().file.isEmpty(); }
  RunRequest lastRequest() const;
  // Records again whenever the file of the last run, or one that it imported from its folder, has changed.
  void setWatch(bool on);
  bool watching() const { return last_.watch; }
  QStringList watched() const { return files_.files(); }
  // As the open session was recorded, once mayRun(); with these arguments besides.
  void again(const QStringList& more = {});
  void cancel();
  bool running() const { return engine_.running(); }
  bool canRun() const { return !file().isEmpty(); }
  // Whether what the open session names may run: it was recorded here, or the user says so. kernel: the text
  // that would be compiled and called, "" = none. Nobody to ask: no.
  bool mayRun(const QString& kernel = {});
  void setAsk(std::function<TrustAnswer(const WouldRun&)> ask) { ask_ = std::move(ask); }
  QString file() const;                            // of the open session, or that a run was last asked of
  QStringList arguments() const;                   // with which that file was recorded
  static QString sessionFor(const QString& file);  // where its recording goes

 Q_SIGNALS:
  void stateChanged();
  void busy(const QString& text, const QString& stage, double part);  // "" = no longer; part < 0: unknown
  void message(vitrine::kit::Tone tone, const QString& text, const QString& detail);
  void refused(const QString& text, const QString& detail);  // one run at a time
  void output(const QString& line);
  void recorded();  // a run of a watched file has finished, and is opened

 private:
  void progress(const QString& text, const QString& stage, int done, int total);
  void tell();  // where it is, and for how long
  void end(const EngineEnd& end);
  void begin(const RunRequest& request, bool shown);  // shown: while it is recorded
  void changed();
  Document* document_;
  EngineProcess engine_;
  std::function<TrustAnswer(const WouldRun&)> ask_;
  QString last_session_;
  RunRequest last_;
  WatchedFiles files_;
  bool shown_ = true;     // of the run that goes on: its session is shown as it grows
  bool pending_ = false;  // a file changed while a run went on
  QString said_;
  QTimer tick_;  // a stage that says nothing is seen to go on
  QString text_, stage_;
  double part_ = -1;
};

}  // namespace vitrine::app
