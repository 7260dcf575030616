#include "app/shell/panes/dock.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMainWindow>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/kit/painting/paint.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;

namespace {
constexpr int kMore = 28;  // the button of the tabs for which there is no room
}

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
bool Dock::isBehind() const {
  return !isFloating() && geometry().right() < 0;
}

void Dock::look() {
  host_->view()->setCovered(held_ || isBehind());
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

// Up to where tabs and the subtitle may stand.
int DockHeader::room() const {
  return (controls_ ? controls_->x() : width()) - theme().px(8);
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

// The tabs for which there is room up to `right`, the current one always among them; the others stand behind
// "…".
DockHeader::Tabs DockHeader::tabs(int right) const {
  const QList<Dock*> docks = group();
  QList<Tab> all;
  int total = 0, own = 0;
  for (Dock* dock : docks) {
    Tab tab{dock, {}, {}, 0};
    const QString count = docks.size() > 1 ? dock->host()->view()->subtitle().section(',', 0, 0) : QString();
    if (!count.isEmpty() && count[0].isDigit() && !count.contains(' ')) tab.count = count;
    tab.text = kit::textWidth(theme().ui(12, dock == dock_ ? 600 : 400), textOf(dock));
    const int extra = tab.count.isEmpty() ? 0 : kit::textWidth(theme().mono(11), tab.count) + theme().px(6);
    tab.box = QRect(0, 0, tab.text + extra + theme().px(20), height());
    total += tab.box.width();
    if (dock == dock_) own = tab.box.width();
    all << tab;
  }
  Tabs out;
  const int most = total > right ? right - theme().px(kMore) : right;
  int x = 0;
  bool full = false;
  for (Tab& tab : all) {
    const bool current = tab.dock == dock_;
    const int kept = current ? 0 : own;  // for the current one, which is still to come or stands already
    full = full || (!current && x + tab.box.width() + kept > most);
    if (full && !current) {
      out.behind << tab.dock;
      continue;
    }
    if (current) own = 0;
    tab.box.moveLeft(x);
    x = tab.box.right() + 1;
    out.shown << tab;
  }
  if (!out.behind.isEmpty()) out.more = QRect(x, 0, theme().px(kMore), height());
  return out;
}

void DockHeader::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  const int right = room();
  const Tabs all = tabs(right);
  const bool several = all.shown.size() + all.behind.size() > 1;
  int x = 0;
  for (const Tab& tab : all.shown) {
    const bool current = tab.dock == dock_;
    if (current && several) painter.fillRect(tab.box, theme().bg1);
    QRect box = tab.box.adjusted(theme().padding(), 0, 0, 0);
    box.setRight(std::min(box.right(), right));
    kit::drawText(painter, box, textOf(tab.dock), theme().ui(12, current ? 600 : 400),
                  current ? theme().text1 : theme().text2);
    kit::drawText(painter, box.adjusted(tab.text + theme().px(6), 0, 0, 0), tab.count, theme().mono(11),
                  theme().text3);
    x = tab.box.right() + 1;
  }
  if (!all.behind.isEmpty())
    kit::drawText(painter, all.more, QStringLiteral("…"), theme().ui(12, 600), theme().text2,
                  Qt::AlignHCenter);
  if (focused_) painter.fillRect(QRect(0, 0, width(), theme().px(2)), theme().accent);
  const QString subtitle = dock_->host()->view()->subtitle();
  // Beside several tabs what stands in the current one's has been said.
  const int from = x + (several ? theme().px(12) : 0);
  const bool said = several && !subtitle.contains(',') && !subtitle.contains(';');
  if (!said && all.behind.isEmpty() && from + theme().px(several ? 120 : 30) < right)
    kit::drawText(painter, QRect(from, 0, right - from, height()), subtitle, theme().mono(11), theme().text2);
}

QMenu* DockHeader::moreMenu() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (Dock* dock : tabs(room()).behind)
    connect(menu->addAction(textOf(dock)), &QAction::triggered, dock, [dock] { dock->raise(); });
  return menu;
}

void DockHeader::mousePressEvent(QMouseEvent* event) {
  const Tabs all = tabs(room());
  const QPoint at = event->position().toPoint();
  if (!all.behind.isEmpty() && all.more.contains(at)) {
    moreMenu()->popup(mapToGlobal(all.more.bottomLeft()));
    return event->accept();
  }
  for (const Tab& tab : all.shown) {
    if (!tab.box.contains(at) || (tab.dock == dock_ && event->button() != Qt::MiddleButton)) continue;
    if (event->button() == Qt::MiddleButton) {
      Q_EMIT grabbed();
      tab.dock->hide();
    } else {
      tab.dock->raise();
    }
    return event->accept();
  }
  Q_EMIT grabbed();
  event->ignore();  // QDockWidget drags
}

bool DockHeader::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const Tabs all = tabs(room());
    if (!all.behind.isEmpty() && all.more.contains(help->pos())) {
      QToolTip::showText(help->globalPos(), QStringLiteral("More tabs, for which there is no room here"),
                         this);
      return true;
    }
  }
  return QWidget::event(event);
}

void DockHeader::mouseDoubleClickEvent(QMouseEvent* event) {
  Q_EMIT grabbed();
  event->ignore();  // QDockWidget floats it, or puts it back
}

}  // namespace vitrine::app
