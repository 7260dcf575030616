// Kernels whose text the user is changing: one for the whole window, so that every pane shows the same text
// and what became of it. Who rebuilds them is the shell.
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "views/kit/painting/theme.h"

namespace vitrine::kit {

struct KernelError {
  int line = 0;  // from 0
  QString text;
};

struct KernelEdit {
  QString generated, text;
  std::vector<KernelError> errors;  // of the text as it was last rebuilt
  Tone tone = Tone::Info;
  QString said, detail;  // what became of it: "12.3 µs, was 14.1 µs", and its context
  QString recording;     // the session of its run, "" = none yet
  bool busy = false;
  bool changed() const { return text != generated; }
};

class KernelEdits : public QObject {
  Q_OBJECT
 public:
  explicit KernelEdits(QObject* parent = nullptr) : QObject(parent) {}
  const KernelEdit* find(Id kernel) const;
  Id last() const { return last_; }                 // the one that was changed or begun last, 0 = none
  void begin(Id kernel, const QString& generated);  // nothing when it is being changed already
  void write(Id kernel, const QString& text);    // what the user typed; what was said of it no longer holds
  void tell(Id kernel, const KernelEdit& edit);  // all but the texts
  void discard(Id kernel);
  void clear();

 Q_SIGNALS:
  void changed(vitrine::Id kernel);

 private:
  std::map<Id, KernelEdit> edits_;
  Id last_ = 0;
};

}  // namespace vitrine::kit
