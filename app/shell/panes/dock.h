// A dock with the design's header: its title, or the tabs of its group, then the view's controls.
// QMainWindow's own tab bars are hidden by the style.
#pragma once

#include <QDockWidget>
#include <QMenu>

#include "app/shell/panes/view_host.h"

namespace vitrine::app {

class DockHeader;

class Dock : public QDockWidget {
  Q_OBJECT
 public:
  Dock(Document* document, const kit::ViewInfo& info, QMainWindow* window);
  ViewHost* host() const { return host_; }
  QString viewId() const { return QString::fromLatin1(host_->info().id); }
  QSize startSize;  // logical, used until the user drags
  // While docks are arranged none is told anything: each would be shown, if only for that long.
  void hold(bool on);
  bool isBehind() const;  // another tab

 Q_SIGNALS:
  void grabbed();  // by its header: from here on the user may move, float or hide it

 private:
  void look();
  ViewHost* host_;
  DockHeader* header_;
  bool held_ = false;
};

class DockHeader : public QWidget {
  Q_OBJECT
 public:
  DockHeader(Dock* dock, QMainWindow* window);
  void refresh();
  void setFocused(bool focused);  // 2 px accent line above, after a key
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  QMenu* moreMenu();  // of the tabs that stand behind "…"; deletes itself when it closes

 Q_SIGNALS:
  void grabbed();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QList<Dock*> group() const;  // the docks in one place, in the order of the registry
  QString textOf(Dock* dock) const;
  int room() const;
  struct Tab {
    Dock* dock;
    QRect box;
    QString count;
    int text;  // width of its title
  };
  struct Tabs {
    QList<Tab> shown;
    QList<Dock*> behind;
    QRect more;
  };
  Tabs tabs(int right) const;
  Dock* dock_;
  QMainWindow* window_;
  QWidget* controls_ = nullptr;
  bool focused_ = false;
};

}  // namespace vitrine::app
