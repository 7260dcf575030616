#include "app/shell/bars/menu_row.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"

namespace vitrine::app {

using kit::theme;

namespace {

void rounded(QPainter& painter, const QRect& box, const QColor& fill) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  painter.drawRoundedRect(box, theme().radius(), theme().radius());
}

}  // namespace

LayoutSwitch::LayoutSwitch(const QStringList& names, QWidget* parent) : QWidget(parent), names_(names) {
  setAccessibleName("Layout");
  setToolTip("Layouts (Alt+1 to Alt+9)");
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void LayoutSwitch::setNames(const QStringList& names) {
  names_ = names;
  updateGeometry();
  update();
}

void LayoutSwitch::setCurrent(const QString& name) {
  current_ = name;
  update();
}

void LayoutSwitch::setNarrow(bool narrow) {
  narrow_ = narrow;
  updateGeometry();
  update();
}

QRect LayoutSwitch::box(int index) const {
  int x = 0;
  for (int i = 0; i <= index; ++i) {
    const int width = kit::textWidth(theme().ui(12, 500), names_[i]) + theme().px(20);
    if (i == index) return {x, 0, width, height()};
    x += width;
  }
  return {};
}

QSize LayoutSwitch::sizeHint() const {
  if (narrow_) return {theme().px(96), theme().px(24)};
  int width = 0;
  for (const QString& name : names_) width += kit::textWidth(theme().ui(12, 500), name) + theme().px(20);
  return {width, theme().px(24)};
}

void LayoutSwitch::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  rounded(painter, rect(), theme().bg0);
  if (narrow_) {
    kit::drawText(painter, rect().adjusted(theme().px(10), 0, -theme().px(20), 0), current_,
                  theme().ui(12, 500), theme().text1);
    kit::drawIcon(painter, "chevron-down",
                  QRect(width() - theme().px(18), theme().px(6), theme().px(12), theme().px(12)),
                  theme().text2);
    return;
  }
  for (int i = 0; i < names_.size(); ++i) {
    const bool on = names_[i] == current_;
    if (on) rounded(painter, box(i), theme().bg3);
    kit::drawText(painter, box(i), names_[i], theme().ui(12, 500), on ? theme().text1 : theme().text2,
                  Qt::AlignHCenter);
  }
}

void LayoutSwitch::mousePressEvent(QMouseEvent* event) {
  if (!narrow_) {
    for (int i = 0; i < names_.size(); ++i)
      if (box(i).contains(event->position().toPoint())) Q_EMIT chosen(names_[i]);
    return;
  }
  QMenu menu(this);
  for (const QString& name : names_)
    connect(menu.addAction(name), &QAction::triggered, this, [this, name] { Q_EMIT chosen(name); });
  menu.exec(mapToGlobal(QPoint(0, height())));
}

PaletteField::PaletteField(QWidget* parent) : QWidget(parent) {
  setCursor(Qt::IBeamCursor);
  setAccessibleName("Go to anything, run a command");
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize PaletteField::sizeHint() const {
  return {theme().px(270), theme().px(24)};
}

void PaletteField::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().hullLine, 1));
  painter.setBrush(theme().bg1);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme().radius(), theme().radius());
  kit::drawIcon(painter, "search", QRect(theme().px(7), theme().px(5), theme().px(14), theme().px(14)),
                theme().text2);
  kit::drawText(painter, rect().adjusted(theme().px(28), 0, -theme().px(56), 0),
                "Go to anything, run a command", theme().ui(12), theme().text2);
  const QRect key(width() - theme().px(54), theme().px(4), theme().px(48), theme().px(16));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme().line, 1));
  painter.drawRoundedRect(QRectF(key).adjusted(0.5, 0.5, -0.5, -0.5), theme().px(3), theme().px(3));
  kit::drawText(painter, key, "Ctrl K", theme().mono(11), theme().text2, Qt::AlignHCenter);
}

void PaletteField::mousePressEvent(QMouseEvent*) {
  Q_EMIT clicked();
}

RunButton::RunButton(QWidget* parent) : QWidget(parent) {
  setAccessibleName("Run");
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void RunButton::setState(State state) {
  state_ = state;
  update();
}

void RunButton::setWatching(bool on) {
  watching_ = on;
  updateGeometry();
  update();
}

QString RunButton::chip() const {
  return watching_ ? where_ + QStringLiteral(" · watching") : where_;
}

bool RunButton::onWhere(const QPoint& at) const {
  return state_ != Cancelling && at.x() >= theme().px(72);
}

bool RunButton::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(),
                     onWhere(help->pos()) ? "Run… (Ctrl+F5): file, entry, inputs, mode, device"
                     : state_ == Running  ? "Cancel the run (Shift+F5)"
                                          : "Record the file again (F5)",
                     this);
  return true;
}

void RunButton::setWhere(const QString& where) {
  const QFontMetrics metrics(theme().ui(12));
  where_ = metrics.elidedText(where, Qt::ElideMiddle, theme().px(150));
  setAccessibleDescription(where);
  updateGeometry();
  update();
}

QSize RunButton::sizeHint() const {
  return {theme().px(76) + kit::textWidth(theme().ui(12), chip()) + theme().px(32), theme().px(24)};
}

void RunButton::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  rounded(painter, rect(), theme().bg3);
  if (state_ == Disabled) painter.setOpacity(0.5);
  const bool running = state_ == Running || state_ == Cancelling;
  const QString word = state_ == Cancelling ? "Cancelling" : running ? "Cancel" : "Run";
  const QColor colour = running ? theme().text1 : theme().accent;
  kit::drawIcon(painter, running ? "stop" : "play",
                QRect(theme().px(9), theme().px(5), theme().px(14), theme().px(14)), colour);
  kit::drawText(painter, rect().adjusted(theme().px(28), 0, 0, 0), word, theme().ui(12, 500), theme().text1);
  if (state_ == Cancelling) return;
  painter.setOpacity(1);  // the chip opens the dialog whatever is open
  const int x = theme().px(72);
  kit::hairline(painter, QPointF(x, theme().px(1)), QPointF(x, height() - theme().px(2)), theme().bg2);
  kit::drawText(painter, rect().adjusted(x + theme().px(10), 0, -theme().px(20), 0), chip(), theme().ui(12),
                theme().text2);
  kit::drawIcon(painter, "chevron-down",
                QRect(width() - theme().px(18), theme().px(6), theme().px(12), theme().px(12)),
                theme().text2);
}

void RunButton::mousePressEvent(QMouseEvent* event) {
  if (onWhere(event->position().toPoint())) return void(Q_EMIT whereClicked());
  if (state_ == Ready || state_ == Running) Q_EMIT clicked();
}

MenuRow::MenuRow(const QStringList& names, QWidget* parent)
    : QWidget(parent),
      menus(new QMenuBar(this)),
      layouts(new LayoutSwitch(names, this)),
      palette(new PaletteField(this)),
      run(new RunButton(this)) {
  setFixedHeight(theme().px(36) + 1);  // the menu bar hides its menus where it is lower than 36
  menus->setNativeMenuBar(false);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme().px(12), 0, theme().px(8), 1);  // the line below stays whole
  row->setSpacing(theme().px(10));
  row->addSpacing(theme().px(28));  // the logo, which is painted
  row->addWidget(menus);
  row->addStretch(1);
  row->addWidget(layouts);
  row->addWidget(palette);
  row->addWidget(run);
}

void MenuRow::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  const int icon = theme().icon();
  kit::drawIcon(painter, "logo", QRect(theme().px(13), (height() - 1 - icon) / 2, icon, icon), theme().text1);
  kit::hairline(painter, QPointF(0, height() - 1), QPointF(width(), height() - 1), theme().line);
}

}  // namespace vitrine::app
