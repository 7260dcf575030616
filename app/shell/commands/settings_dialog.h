// Settings: theme, size, motion, interpreter, and the key of every command. What is changed acts at once.
#pragma once

#include <QDialog>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>

#include "app/shell/commands/actions.h"

class QVBoxLayout;

namespace vitrine::app {

class SettingsDialog : public QDialog {
  Q_OBJECT
 public:
  SettingsDialog(Actions* actions, QWidget* parent);
  // Gives the chosen command another key; "" takes it away. False and a word in the dialog: it is taken.
  bool remap(const QString& command, const QKeySequence& key);
  QString said() const { return said_->text(); }

 Q_SIGNALS:
  void pythonWanted();

 private:
  void addLooks(QVBoxLayout* column);
  void addKeys(QVBoxLayout* column);
  void refreshKeys();
  QString chosen() const;

  Actions* actions_;
  QTreeWidget* list_;
  QKeySequenceEdit* key_;
  QPushButton *set_, *reset_;
  QLabel* said_;
};

}  // namespace vitrine::app
