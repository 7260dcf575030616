// All docks of the window: one for each view of the registry that has a place at an edge.
#pragma once

#include <QMainWindow>
#include <QMap>

#include "app/shell/panes/dock.h"
#include "app/shell/panes/layouts.h"

namespace vitrine::app {

class DockSet : public QObject {
  Q_OBJECT
 public:
  DockSet(Document* document, QMainWindow* window);
  void arrange(const LayoutInfo& layout);  // its default state
  void hideAll();
  void hold();     // until they stand where they should
  void release();  // those in sight are told what is new
  Dock* dock(const QString& view) const { return docks_.value(view); }
  const QMap<QString, Dock*>& all() const { return docks_; }
  QList<Dock*> shown() const;  // also those behind other tabs
  QList<Dock*> visible() const;
  QList<QAction*> toggles() const;  // one a dock, in the order of the registry: shown or not
  // Where no dock at the bottom that is in sight has something to show of what was imported: the first of the
  // layout's that has.
  void raiseHeld(const LayoutInfo& layout, const kit::SessionData& data);
  void raise(const QString& view);
  void toggleArea(Qt::DockWidgetArea area);
  void setNarrow(bool narrow);  // the Inspector becomes a tab beside Runs

 Q_SIGNALS:
  void openIn(vitrine::Id id, const QString& view, bool other);
  void commandRequested(const QString& id);
  void grabbed();  // one of them

 private:
  QMainWindow* window_;
  QMap<QString, Dock*> docks_;
  QMap<int, QList<Dock*>> hidden_;  // by area: what toggleArea closed
};

}  // namespace vitrine::app
