#include "app/shell/panes/dock.h"

#include <QHBoxLayout>
#include <QMainWindow>
#include <QMouseEvent>
#include <QPainter>

#include "views/kit/painting/paint.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;

Dock::Dock(Document* document, const kit::ViewInfo& info, QMainWindow* window)
    : QDockWidget(QString::fromUtf8(info.title), window), host_(new ViewHost(document, info, this)) {
  setObjectName(QString::fromLatin1(info.id));
  setFeatures(DockWidgetMovable | DockWidgetFloatable | DockWidgetClosable);
  setWidget(host_);
  header_ = new DockHeader(this, window);
  setTitleBarWidget(header_);
  connect(header_, &DockHeader::grabbed, this, &Dock::grabbed);
  connect(host_, &ViewHost::headerChanged, header_, &DockHeader::refresh);
  connect(host_, &ViewHost::focusedByKey, header_, &DockHeader::setFocused);
  connect(this, &QDockWidget::visibilityChanged, header_, &DockHeader::refresh);
  connect(this, &QDockWidget::visibilityChanged, this, &Dock::look);
  connect(this, &QDockWidget::topLevelChanged, this, &Dock::look);
  connect(this, &QDockWidget::dockLocationChanged, header_, &DockHeader::refresh);
}

void Dock::hold(bool on) {
  held_ = on;
  look();
}

// QMainWindow puts the docks behind a tab to the left of the window.
void Dock::look() {
  host_->view()->setCovered(held_ || (!isFloating() && geometry().right() < 0));
}

DockHeader::DockHeader(Dock* dock, QMainWindow* window) : QWidget(dock), dock_(dock), window_(window) {
  setAccessibleName(dock->windowTitle());
}

QSize DockHeader::sizeHint() const {
  return {theme().px(120), theme().header()};
}

QSize DockHeader::minimumSizeHint() const {
  return {theme().px(60), theme().header()};
}

QList<Dock*> DockHeader::group() const {
  QList<QDockWidget*> found = window_->tabifiedDockWidgets(dock_);
  found << dock_;
  QList<Dock*> out;
  for (const kit::ViewInfo& info : views::registry())
    for (QDockWidget* each : found)
      if (each->objectName() == QLatin1String(info.id) && (each == dock_ || !each->isHidden()))
        if (auto* dock = qobject_cast<Dock*>(each)) out << dock;
  return out;
}

QString DockHeader::textOf(Dock* dock) const {
  return dock->host()->view()->title();
}

void DockHeader::refresh() {
  if (!controls_) {
    const QList<QWidget*> controls = dock_->host()->view()->headerControls();
    if (!controls.isEmpty()) {
      controls_ = new QWidget(this);
      auto* row = new QHBoxLayout(controls_);
      row->setContentsMargins(0, 0, 0, 0);
      row->setSpacing(theme().px(2));
      for (QWidget* control : controls) row->addWidget(control);
      controls_->show();
    }
  }
  resizeEvent(nullptr);
  update();
}

void DockHeader::setFocused(bool focused) {
  focused_ = focused;
  update();
}

void DockHeader::resizeEvent(QResizeEvent*) {
  if (!controls_) return;
  const int room = std::min(controls_->sizeHint().width(), width() * 2 / 3);
  controls_->setGeometry(width() - room - theme().px(4), theme().px(2), room, theme().px(24));
}

void DockHeader::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  const QList<Dock*> docks = group();
  const int right = controls_ ? controls_->x() - theme().px(8) : width() - theme().px(8);
  int x = 0;
  for (Dock* dock : docks) {
    const bool current = dock == dock_;
    const QString count = docks.size() > 1 ? dock->host()->view()->subtitle().section(',', 0, 0) : QString();
    const bool number = !count.isEmpty() && count[0].isDigit() && !count.contains(' ');
    const QFont font = theme().ui(12, current ? 600 : 400);
    const int text = kit::textWidth(font, textOf(dock));
    const int extra = number ? kit::textWidth(theme().mono(11), count) + theme().px(6) : 0;
    const QRect tab(x, 0, text + extra + theme().px(20), height());
    if (x > 0 && tab.right() > right) break;
    if (current && docks.size() > 1) painter.fillRect(tab, theme().bg1);
    QRect box = tab.adjusted(theme().padding(), 0, 0, 0);
    box.setRight(std::min(box.right(), right));
    kit::drawText(painter, box, textOf(dock), font, current ? theme().text1 : theme().text2);
    if (number)
      kit::drawText(painter, box.adjusted(text + theme().px(6), 0, 0, 0), count, theme().mono(11),
                    theme().text3);
    x = tab.right() + 1;
  }
  if (focused_) painter.fillRect(QRect(0, 0, width(), theme().px(2)), theme().accent);
  const QString subtitle = dock_->host()->view()->subtitle();
  // Beside several tabs what stands in the current one's has been said.
  const int from = x + (docks.size() > 1 ? theme().px(12) : 0);
  const bool said = docks.size() > 1 && !subtitle.contains(',') && !subtitle.contains(';');
  if (!said && from + theme().px(docks.size() > 1 ? 120 : 30) < right)
    kit::drawText(painter, QRect(from, 0, right - from, height()), subtitle, theme().mono(11), theme().text2);
}

void DockHeader::mousePressEvent(QMouseEvent* event) {
  int x = 0;
  const QList<Dock*> docks = group();
  for (Dock* dock : docks) {
    const QString count = docks.size() > 1 ? dock->host()->view()->subtitle().section(',', 0, 0) : QString();
    const bool number = !count.isEmpty() && count[0].isDigit() && !count.contains(' ');
    const int extra = number ? kit::textWidth(theme().mono(11), count) + theme().px(6) : 0;
    const int width =
        kit::textWidth(theme().ui(12, dock == dock_ ? 600 : 400), textOf(dock)) + extra + theme().px(20);
    if (event->position().x() >= x && event->position().x() < x + width &&
        (dock != dock_ || event->button() == Qt::MiddleButton)) {
      if (event->button() == Qt::MiddleButton) {
        Q_EMIT grabbed();
        dock->hide();
      } else {
        dock->raise();
      }
      event->accept();
      return;
    }
    x += width;
  }
  Q_EMIT grabbed();
  event->ignore();  // QDockWidget drags
}

void DockHeader::mouseDoubleClickEvent(QMouseEvent* event) {
  Q_EMIT grabbed();
  event->ignore();  // QDockWidget floats it, or puts it back
}

}  // namespace vitrine::app
