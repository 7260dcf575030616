// What F7 does to a kernel that the user changed: its text is compiled alone, which shows its errors in a
// moment; then the recorded file runs again with it in place of the generated one, and what that run says of
// speed and outputs stands beside what the first said.
#pragma once

#include <QProcess>
#include <QTemporaryDir>

#include "app/bridge/engine_process.h"
#include "app/shell/document/document.h"
#include "app/shell/run/run_controller.h"

namespace vitrine::app {

class KernelRebuild : public QObject {
  Q_OBJECT
 public:
  KernelRebuild(Document* document, RunController* runs, QObject* parent);
  void start();  // of the kernel that was changed last
  void cancel();
  bool running() const { return compiler_.state() != QProcess::NotRunning || engine_.running(); }
  QString recording() const;  // session of the last kernel's run, "" = none

 Q_SIGNALS:
  void stateChanged();

 private:
  void compile();
  void compiled();
  void runAgain();
  void ended(const EngineEnd& end);
  void tell(kit::Tone tone, const QString& said, const QString& detail = {}, bool busy = false);
  QString generatedFile() const;
  QString editedFile() const;

  Document* document_;
  RunController* runs_;
  QProcess compiler_;
  EngineProcess engine_;
  QTemporaryDir folder_;
  Id kernel_ = 0;
  QString text_, error_;  // the text that is being rebuilt; what the engine told of a failure
};

}  // namespace vitrine::app
