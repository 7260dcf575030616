#include "app/shell/panes/dock_set.h"

#include <QLayout>

#include "app/shell/panes/holdings.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;
using kit::ViewPlace;

namespace {

Qt::DockWidgetArea areaOf(ViewPlace place) {
  return place == ViewPlace::Left    ? Qt::LeftDockWidgetArea
         : place == ViewPlace::Right ? Qt::RightDockWidgetArea
                                     : Qt::BottomDockWidgetArea;
}

// Logical size a dock starts with and its least: width at the sides, height at the bottom.
QSize startSize(ViewPlace place) {
  return place == ViewPlace::Left ? QSize(268, 0) : place == ViewPlace::Right ? QSize(288, 0) : QSize(0, 220);
}

}  // namespace

DockSet::DockSet(Document* document, QMainWindow* window) : QObject(window), window_(window) {
  window->setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks |
                         QMainWindow::GroupedDragging);
  window->setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  window->setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
  window->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  for (const kit::ViewInfo& info : views::registry()) {
    if (info.place == ViewPlace::Pane) continue;
    auto* dock = new Dock(document, info, window);
    dock->startSize = startSize(info.place);
    dock->setMinimumSize(info.place == ViewPlace::Bottom
                             ? QSize(theme().px(120), theme().px(120))
                             : QSize(theme().px(info.place == ViewPlace::Left ? 200 : 240), theme().px(80)));
    window->addDockWidget(areaOf(info.place), dock);
    dock->hide();
    docks_.insert(QString::fromLatin1(info.id), dock);
    connect(dock, &Dock::grabbed, this, &DockSet::grabbed);
    connect(dock->host(), &ViewHost::openIn, this, &DockSet::openIn);
    connect(dock->host(), &ViewHost::commandRequested, this, &DockSet::commandRequested);
  }
}

QList<QAction*> DockSet::toggles() const {
  QList<QAction*> out;
  for (const kit::ViewInfo& info : views::registry()) {
    Dock* dock = docks_.value(QString::fromLatin1(info.id));
    if (!dock) continue;
    QAction* action = dock->toggleViewAction();
    action->setText(QString::fromUtf8(info.title));
    out << action;
  }
  return out;
}

void DockSet::hold() {
  for (Dock* dock : docks_) dock->hold(true);
}

void DockSet::release() {
  window_->layout()->activate();
  for (Dock* dock : docks_) dock->hold(false);
}

void DockSet::hideAll() {
  for (Dock* dock : docks_) dock->hide();
}

void DockSet::arrange(const LayoutInfo& layout) {
  hideAll();
  hidden_.clear();
  QMap<int, Dock*> first;  // of each area
  QList<QDockWidget*> sides, bottoms;
  QList<int> widths, heights;
  for (const QString& id : layout.docks) {
    Dock* dock = docks_.value(id);
    if (!dock) continue;
    const Qt::DockWidgetArea area = areaOf(dock->host()->info().place);
    dock->setFloating(false);
    window_->addDockWidget(area, dock);
    dock->show();
    if (Dock* before = first.value(area)) {
      window_->tabifyDockWidget(before, dock);
      continue;
    }
    first.insert(area, dock);
    const bool bottom = area == Qt::BottomDockWidgetArea;
    (bottom ? bottoms : sides) << dock;
    // In a high window the tables get their part of it.
    const int height = std::max(theme().px(dock->startSize.height()), window_->height() / 4);
    (bottom ? heights : widths) << (bottom ? height : theme().px(dock->startSize.width()));
  }
  for (Dock* dock : first) dock->raise();
  window_->resizeDocks(sides, widths, Qt::Horizontal);
  window_->resizeDocks(bottoms, heights, Qt::Vertical);
}

QList<Dock*> DockSet::shown() const {
  QList<Dock*> out;
  for (Dock* dock : docks_)
    if (!dock->isHidden()) out << dock;
  return out;
}

QList<Dock*> DockSet::visible() const {
  QList<Dock*> out;
  for (Dock* dock : docks_)
    if (dock->isVisible() && !dock->visibleRegion().isEmpty()) out << dock;
  return out;
}

void DockSet::raiseHeld(const LayoutInfo& layout, const kit::SessionData& data) {
  Dock* first = nullptr;
  for (const QString& id : layout.docks) {
    Dock* dock = docks_.value(id);
    if (!dock || dock->isHidden() || window_->dockWidgetArea(dock) != Qt::BottomDockWidgetArea) continue;
    if (!holds(data, id.toStdString())) continue;
    if (!dock->isBehind()) return;
    if (!first) first = dock;
  }
  if (first) first->raise();
}

void DockSet::raise(const QString& view) {
  Dock* dock = docks_.value(view);
  if (!dock) return;
  // One that the layout does not have becomes a tab of those at its edge.
  if (dock->isHidden() && !dock->isFloating() && window_->tabifiedDockWidgets(dock).isEmpty())
    for (Dock* other : shown())
      if (window_->dockWidgetArea(other) == window_->dockWidgetArea(dock) && !other->isFloating()) {
        window_->tabifyDockWidget(other, dock);
        break;
      }
  dock->show();
  dock->raise();
  dock->host()->view()->setFocus();
}

void DockSet::toggleArea(Qt::DockWidgetArea area) {
  QList<Dock*> shown;
  for (Dock* dock : docks_)
    if (!dock->isHidden() && window_->dockWidgetArea(dock) == area) shown << dock;
  if (shown.isEmpty()) {
    hold();
    for (Dock* dock : hidden_.take(area)) dock->show();
    return release();
  }
  hidden_[area] = shown;
  for (Dock* dock : shown) dock->hide();
}

void DockSet::setNarrow(bool narrow) {
  Dock *runs = dock("runs"), *inspector = dock("inspector");
  if (!runs || !inspector || runs->isHidden() || inspector->isHidden()) return;
  const bool together = window_->dockWidgetArea(inspector) == Qt::LeftDockWidgetArea;
  if (narrow == together) return;
  window_->addDockWidget(narrow ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea, inspector);
  if (narrow) {
    window_->tabifyDockWidget(runs, inspector);
    runs->raise();
  }
}

}  // namespace vitrine::app
