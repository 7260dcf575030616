// "Recompile to check" of the saved tensors: the recorded file runs again with their pins, in a session of
// its own, and what that run kept and took stands beside what was estimated. The outcome is kept as a note of
// the compilation.
#pragma once

#include <QStringList>

#include "app/bridge/engine_process.h"
#include "app/shell/document/document.h"
#include "app/shell/run/run_controller.h"

namespace vitrine::app {

struct PinnedWish {
  Id compilation = 0;     // that was divided
  QStringList arguments;  // "--pin=mm=recomputed"
  QString estimate;       // what the pins were expected to change
};

// What the run with pins came to beside the one without: bytes kept, time of a call, pins that were not
// obeyed.
QString partitionOutcome(const kit::SessionData& before, Id compilation, const kit::SessionData& after);

class PartitionCheck : public QObject {
  Q_OBJECT
 public:
  PartitionCheck(Document* document, RunController* runs, QObject* parent);
  void start(const PinnedWish& wish);
  void cancel() { engine_.cancel(); }
  bool running() const { return engine_.running(); }

 Q_SIGNALS:
  void stateChanged();
  void told(vitrine::kit::Tone tone, const QString& text);
  void noteWanted(vitrine::Id compilation, const QString& text);

 private:
  void ended(const EngineEnd& end);
  void tell(kit::Tone tone, const QString& text);

  Document* document_;
  RunController* runs_;
  EngineProcess engine_;
  PinnedWish wish_;
  QString error_;
};

}  // namespace vitrine::app
