// Before something of a session runs that was recorded elsewhere: what would run, and whether it may.
#pragma once

#include <QDialog>
#include <QString>
#include <QStringList>

class QCheckBox;

namespace vitrine::app {

struct WouldRun {
  QString session;  // the file that says so
  QString file;     // Python, which runs with the user's own rights
  QStringList arguments;
  QString kernel;  // the text of one that is compiled and called, "" = none
};

enum class TrustAnswer { No, Once, Always };

class TrustDialog : public QDialog {
  Q_OBJECT
 public:
  TrustDialog(const WouldRun& run, QWidget* parent);
  TrustAnswer answer() const;
  QString shown() const;  // all that it says, for tests

 private:
  QCheckBox* always_;
  QString shown_;
};

// Asks and waits.
TrustAnswer askToRun(const WouldRun& run, QWidget* parent);

}  // namespace vitrine::app
