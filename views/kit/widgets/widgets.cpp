#include "views/kit/widgets/widgets.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>

#include "views/kit/painting/facts.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/shown.h"

namespace vitrine::kit {

QToolButton* iconButton(const QString& name, const QString& tooltip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setIcon(icon(name));
  button->setToolTip(tooltip);
  button->setAccessibleName(tooltip);
  button->setAutoRaise(true);
  button->setFixedSize(theme().px(24), theme().px(24));
  button->setIconSize(QSize(theme().icon(), theme().icon()));
  return button;
}

MenuButton::MenuButton(const QString& prefix, const QStringList& choices, QWidget* parent)
    : QToolButton(parent), prefix_(prefix), choices_(choices) {
  setAutoRaise(true);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName(prefix.isEmpty() ? choices.value(0) : prefix);
  connect(this, &QToolButton::clicked, this, [this] {
    QMenu menu(this);
    for (int i = 0; i < choices_.size(); ++i) {
      QAction* action = menu.addAction(choices_[i]);
      action->setCheckable(true);
      action->setChecked(i == current_);
      connect(action, &QAction::triggered, this, [this, i] {
        setCurrent(i);
        Q_EMIT chosen(i);
      });
    }
    menu.exec(mapToGlobal(QPoint(0, height())));
  });
}

QString MenuButton::label() const {
  return prefix_.isEmpty() ? choices_.value(current_) : prefix_ + ": " + choices_.value(current_);
}

void MenuButton::setCurrent(int index) {
  current_ = index;
  updateGeometry();
  update();
}

QSize MenuButton::sizeHint() const {
  return {textWidth(theme().ui(12), label()) + theme().px(32), theme().px(24)};
}

QSize MenuButton::minimumSizeHint() const {
  return {textWidth(theme().ui(12), choices_.value(current_)) + theme().px(32), theme().px(24)};
}

void MenuButton::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QString text = width() < sizeHint().width() ? choices_.value(current_) : label();
  if (underMouse() || isDown()) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().bg3);
    painter.drawRoundedRect(rect(), theme().radius(), theme().radius());
  }
  drawText(painter, rect().adjusted(theme().px(8), 0, -theme().px(20), 0), text, theme().ui(12),
           theme().text2);
  drawIcon(painter, "chevron-down",
           QRect(width() - theme().px(19), (height() - theme().px(12)) / 2, theme().px(12), theme().px(12)),
           theme().text2);
}

QLineEdit* searchField(const QString& placeholder, const QString& name, QWidget* parent) {
  auto* field = new QLineEdit(parent);
  field->setPlaceholderText(placeholder);
  field->setAccessibleName(placeholder);
  field->setClearButtonEnabled(false);
  field->addAction(icon(name), QLineEdit::LeadingPosition);
  field->setFixedHeight(theme().px(24));
  field->setFont(theme().ui(12));
  return field;
}

HeaderBar::HeaderBar(QWidget* parent) : QWidget(parent) {
  setFixedHeight(theme().header());
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, theme().px(4), 0);
  row->addStretch(1);
}

// Controls take their short form before the sub-title goes, and that before the title is cut.
void HeaderBar::makeRoom() {
  const int text = textLeft() + textWidth(theme().ui(12, 600), title_) +
                   textWidth(theme().mono(11), subtitle_) + theme().px(20);
  if (controls_) {
    const int full = controls_->sizeHint().width();
    const int least = controls_->minimumSizeHint().width(), room = width() - text;
    const bool elastic = controls_->property("elastic").toBool();  // shows as much as there is room for
    controls_->setFixedWidth(room >= full ? full : elastic ? std::max(room, least) : least);
  }
  layout()->invalidate();
}

QSize HeaderBar::minimumSizeHint() const {
  return {theme().px(60), theme().header()};
}

void HeaderBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  makeRoom();
}

void HeaderBar::setTitle(const QString& title, const QString& subtitle) {
  if (title == title_ && subtitle == subtitle_) return makeRoom();  // the controls may have changed
  title_ = title;
  subtitle_ = subtitle;
  setAccessibleName(title);
  setToolTip(tip(subtitle));
  makeRoom();
  update();
}

void HeaderBar::setLetter(QChar letter) {
  letter_ = letter;
  makeRoom();
  update();
}

void HeaderBar::setControls(const QList<QWidget*>& controls) {
  delete controls_;
  controls_ = new QWidget(this);
  auto* row = new QHBoxLayout(controls_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme().px(2));
  for (QWidget* control : controls) {
    row->addWidget(control);
    if (control->property("elastic").toBool()) controls_->setProperty("elastic", true);
  }
  layout()->addWidget(controls_);
  makeRoom();
}

void HeaderBar::setFocused(bool focused) {
  focused_ = focused;
  update();
}

int HeaderBar::textLeft() const {
  return theme().padding() + (letter_.isNull() ? 0 : theme().px(22));
}

void HeaderBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  if (focused_) painter.fillRect(QRect(0, 0, width(), theme().px(2)), theme().accent);
  if (!letter_.isNull()) {
    const QRect box(theme().padding(), (height() - theme().px(14)) / 2, theme().px(14), theme().px(14));
    hairlineBox(painter, box, letter_ == 'A' ? theme().accent : theme().ctl);
    drawText(painter, box, QString(letter_), theme().mono(11),
             letter_ == 'A' ? theme().accent : theme().text2, Qt::AlignHCenter);
  }
  const int right = controls_ ? controls_->x() - theme().px(8) : width() - theme().px(8);
  QRect box(textLeft(), 0, right - textLeft(), height());
  const int used =
      drawText(painter, box, title_, theme().ui(12, 600), theme().text1, Qt::AlignLeft, Elide::Middle);
  box.setLeft(box.left() + used + theme().px(8));
  const QString facts = wholeFacts(subtitle_, theme().mono(11), box.width());
  const bool clipped = facts == subtitle_ && textWidth(theme().mono(11), facts) > box.width();
  // A name is cut rather than left out, a number never.
  if (!facts.isEmpty() && (!clipped || (!facts[0].isDigit() && box.width() > theme().px(60))))
    drawText(painter, box, facts, theme().mono(11), theme().text2);
}

void HeaderBar::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Q_EMIT titleClicked();
}

void HeaderBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::StyleChange) setFixedHeight(theme().header());
}

Banner::Banner(QWidget* parent)
    : QWidget(parent), title_(new QLabel(this)), detail_(new QLabel(this)), actions_(new QWidget(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().px(34), theme().px(8), theme().px(10), theme().px(8));
  column->setSpacing(theme().px(4));
  for (QLabel* label : {title_, detail_}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(label);
  }
  column->addWidget(actions_);
  new QHBoxLayout(actions_);
  actions_->layout()->setContentsMargins(0, 0, 0, 0);
  setVisible(false);
}

static QString linkText(const QString& title, const QString& command) {
  return QStringLiteral("<a href=\"%1\" style=\"color:%2;text-decoration:none\">%3</a>")
      .arg(command, theme().accent.name(), title);
}

void Banner::show(Tone tone, const QString& text, const QString& detail,
                  const QList<QPair<QString, QString>>& actions) {
  tone_ = tone;
  text_ = text;
  title_->setFont(theme().ui(12, 600));
  title_->setText(unitsKept(shown(text, true)));
  detail_->setFont(theme().mono(11));
  detail_->setText(shown(detail, true));
  detail_->setVisible(!detail.isEmpty());
  offered_ = actions;
  qDeleteAll(links_);
  links_.clear();
  auto* row = static_cast<QHBoxLayout*>(actions_->layout());
  while (QLayoutItem* item = row->takeAt(0)) delete item;
  for (const auto& [title, command] : offered_) {
    auto* link = new QLabel(linkText(title, command), actions_);
    link->setFont(theme().ui(12));
    connect(link, &QLabel::linkActivated, this, &Banner::commandRequested);
    row->addWidget(link);
    links_ << link;
  }
  row->addStretch(1);
  actions_->setVisible(!offered_.isEmpty());
  setVisible(true);
  update();
}

// The colour of a link stands in its text.
void Banner::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::StyleChange) return;
  for (qsizetype i = 0; i < links_.size(); ++i)
    links_[i]->setText(linkText(offered_[i].first, offered_[i].second));
}

void Banner::clear() {
  text_.clear();
  setVisible(false);
}

void Banner::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().softTone(tone_));
  drawIcon(painter,
           tone_ == Tone::Err    ? "error"
           : tone_ == Tone::Warn ? "warning"
                                 : "info",
           QRect(theme().px(10), theme().px(8), theme().icon(), theme().icon()), theme().tone(tone_));
}

EmptyState::EmptyState(QWidget* parent) : QWidget(parent), label_(new QLabel(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme().padding(), theme().px(8), theme().padding(), theme().px(8));
  label_->setWordWrap(true);
  label_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  column->addWidget(label_);
  column->addStretch(1);
  connect(label_, &QLabel::linkActivated, this, [this] { Q_EMIT commandRequested(command_); });
}

void EmptyState::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::StyleChange) set(sentence_, link_, command_);
}

void EmptyState::set(const QString& sentence, const QString& link, const QString& command) {
  sentence_ = sentence;
  link_ = link;
  command_ = command;
  QString html = QStringLiteral("<span style=\"color:%1\">%2</span>")
                     .arg(theme().text2.name(), unitsKept(shown(sentence, true)).toHtmlEscaped());
  if (!link.isEmpty())
    html += QStringLiteral("&nbsp; <a href=\"#\" style=\"color:%1;text-decoration:none\">%2</a>")
                .arg(theme().accent.name(), link.toHtmlEscaped());
  label_->setFont(theme().ui(12));
  label_->setText(html);
}

void drawProgress(QPainter& painter, const QRect& box, double part) {
  if (part < 0) return;
  const int width = static_cast<int>(box.width() * std::min(part, 1.0));
  painter.fillRect(QRect(box.x(), box.bottom() - theme().px(2) + 1, width, theme().px(2)), theme().accent);
}

}  // namespace vitrine::kit
