// `vitrine bisect` and `vitrine reduce` of the file that was recorded: which rewrite, fusion or kernel makes
// a result differ, and the smallest graph in which it does. They run the file again, in a process of its own.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QTimer>

#include "app/shell/run/run_controller.h"

namespace vitrine::app {

// What bisect wrote: a sentence, what stands below it, and the kernel it names ("" = none).
struct Bisected {
  bool differs = false;
  QString verdict, detail, kernel;
};
// Of its JSON, which stands behind what the file itself prints; no verdict: there is none.
Bisected bisected(const QByteArray& output);

class Bisection : public QObject {
  Q_OBJECT
 public:
  Bisection(RunController* runs, QObject* parent);
  void bisect();
  void reduce(const QString& to);  // writes a Python file there
  void cancel();
  bool running() const { return process_.state() != QProcess::NotRunning; }

 Q_SIGNALS:
  void stateChanged();
  void told(vitrine::kit::Tone tone, const QString& text, const QString& detail);
  void found(const QString& kernel);  // "K3 add_gelu"

 private:
  void start(const char* module, const QStringList& words, const QString& doing);
  void ended(int status, QProcess::ExitStatus how);
  void tell(kit::Tone tone, const QString& text, const QString& detail = {});

  RunController* runs_;
  QProcess process_;
  QElapsedTimer clock_;
  QTimer tick_;
  QString doing_, target_;  // target "": it bisects
  bool cancelled_ = false;
};

}  // namespace vitrine::app
