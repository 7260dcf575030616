// The command table as QActions, with their keys: one place where keys meet commands.
#pragma once

#include <QAction>
#include <QHash>
#include <QMenuBar>
#include <functional>

namespace vitrine::app {

class Actions : public QObject {
  Q_OBJECT
 public:
  explicit Actions(QWidget* window);
  QAction* operator[](const QString& id) const { return actions_.value(id); }
  void on(const QString& id, std::function<void()> act);
  // Every command that has a menu. at: what fills the places of the table that have rows elsewhere.
  void fill(QMenuBar* bar, const QHash<QString, std::function<void(QMenu*)>>& at) const;
  const QHash<QString, QAction*>& all() const { return actions_; }

  // Keys that the user gave are kept by Settings. ownerOf: the command that has the key, "" = none.
  void readKeys();
  void setKeys(const QString& id, const QList<QKeySequence>& keys);
  void resetKeys(const QString& id);
  QString ownerOf(const QKeySequence& key) const;

 private:
  // Single letters do not act while a text field has the focus.
  bool eventFilter(QObject* watched, QEvent* event) override;
  QWidget* window_;
  QHash<QString, QAction*> actions_;
};

}  // namespace vitrine::app
