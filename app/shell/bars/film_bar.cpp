#include "app/shell/bars/film_bar.h"

#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/numbers.h"

namespace vitrine::app {

using kit::theme;

namespace {
constexpr int kPlayMs = 700;
constexpr size_t kMostDots = 24;  // more frames are a line with ticks

const char* iconOf(kit::Tone tone) {
  const char* const icons[] = {"", "check", "warning", "error", "info"};
  return icons[static_cast<int>(tone)];
}
}  // namespace

FilmSlider::FilmSlider(QWidget* parent) : QWidget(parent) {
  setAccessibleName("Position of the film");
}

void FilmSlider::set(const std::vector<FilmFrame>& frames, int position) {
  changed_.clear();
  for (const FilmFrame& frame : frames) changed_.push_back(frame.changed);
  position_ = position;
  updateGeometry();
  update();
}

QSize FilmSlider::sizeHint() const {
  const size_t frames = changed_.size();
  const int width = frames > kMostDots ? 352 : std::max<int>(24, static_cast<int>(frames) * 21);
  return {theme().px(width), theme().px(28)};
}

double FilmSlider::xOf(size_t index) const {
  const double inset = theme().px(9);
  if (changed_.size() < 2) return inset;
  return inset +
         (width() - 2 * inset) * static_cast<double>(index) / static_cast<double>(changed_.size() - 1);
}

void FilmSlider::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (changed_.empty()) return;
  const double y = height() / 2.0;
  const auto at = static_cast<size_t>(std::max(position_, 0));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().hullLine, 2));
  painter.drawLine(QPointF(xOf(0), y), QPointF(xOf(changed_.size() - 1), y));
  const bool many = changed_.size() > kMostDots;
  if (many) {
    painter.setPen(QPen(theme().accent, 2));
    painter.drawLine(QPointF(xOf(0), y), QPointF(xOf(at), y));
  }
  double last = -10;
  for (size_t i = 0; i < changed_.size(); ++i) {
    const double x = xOf(i);
    if (many) {
      if (!changed_[i] || x - last < 4) continue;
      painter.fillRect(QRectF(x - 0.5, y - theme().px(4), 1, theme().px(8)), theme().text3);
      last = x;
      continue;
    }
    const double r = theme().px(5) / 2.0;
    painter.setPen(changed_[i] ? QPen(Qt::NoPen) : QPen(theme().text2, 1.2));
    painter.setBrush(changed_[i] ? theme().text2 : theme().bg2);
    painter.drawEllipse(QPointF(x, y), r, r);
  }
  painter.setPen(QPen(theme().accent, 2));
  painter.setBrush(theme().bg2);
  painter.drawEllipse(QPointF(xOf(at), y), theme().px(5), theme().px(5));
}

void FilmSlider::mousePressEvent(QMouseEvent* event) {
  mouseMoveEvent(event);
}

void FilmSlider::mouseMoveEvent(QMouseEvent* event) {
  if (changed_.empty() || !(event->buttons() & Qt::LeftButton)) return;
  const double inset = theme().px(9), span = std::max(1.0, width() - 2 * inset);
  const double part = std::clamp((event->position().x() - inset) / span, 0.0, 1.0);
  const int index = static_cast<int>(std::lround(part * static_cast<double>(changed_.size() - 1)));
  if (index != position_) Q_EMIT moved(index);
}

FilmBar::FilmBar(Document* document, QWidget* parent) : QWidget(parent), document_(document) {
  setFixedHeight(theme().px(28));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme().px(8), 0, theme().px(8), 0);
  row->setSpacing(0);
  struct Button {
    const char *icon, *tip;
    std::function<void()> act;
  };
  const Button buttons[] = {
      {"first", "First (Home)", [this] { document_->stepTo(0); }},
      {"back", "Previous step (,)", [this] { document_->step(-1); }},
      {"play", "Play or pause (Space)", [this] { togglePlay(); }},
      {"forward", "Next step (.)", [this] { document_->step(1); }},
      {"last", "Last (End)", [this] { document_->stepTo(static_cast<int>(document_->frames().size()) - 1); }},
  };
  for (const Button& b : buttons) {
    auto* button = kit::iconButton(b.icon, b.tip, this);
    connect(button, &QToolButton::clicked, this, b.act);
    row->addWidget(button);
    buttons_ << button;
  }
  QStringList units;
  for (int i = 0; i < kFilmUnits; ++i) units << unitTitle(static_cast<FilmUnit>(i));
  unit_ = new kit::MenuButton("", units, this);
  unit_->setToolTip("What one step is");
  connect(unit_, &kit::MenuButton::chosen, this,
          [this](int index) { document_->setUnit(static_cast<FilmUnit>(index)); });
  row->addWidget(unit_);
  slider_ = new FilmSlider(this);
  connect(slider_, &FilmSlider::moved, document_, &Document::stepTo);
  row->addWidget(slider_);
  row->addStretch(1);
  play_.setInterval(kPlayMs);
  connect(&play_, &QTimer::timeout, this, [this] {
    document_->step(1);
    if (document_->position() + 1 >= static_cast<int>(document_->frames().size())) togglePlay();
  });
  connect(document_, &Document::filmChanged, this, &FilmBar::refresh);
  refresh();
}

namespace {

// Whole facts, never a cut one; whether the outputs are right stays longest.
QString factsFor(const QString& all, int width) {
  QStringList facts = all.split(QStringLiteral(", "));
  while (facts.size() > 1 && kit::textWidth(theme().mono(11), facts.join(QStringLiteral(", "))) > width)
    facts.removeAt(facts.size() > 2 ? 1 : 0);
  const QString out = facts.join(QStringLiteral(", "));
  return kit::textWidth(theme().mono(11), out) > width ? QString() : out;
}

}  // namespace

void FilmBar::togglePlay() {
  if (play_.isActive()) {
    play_.stop();
  } else {
    if (document_->position() + 1 >= static_cast<int>(document_->frames().size())) document_->stepTo(0);
    play_.start();
  }
  buttons_[2]->setIcon(kit::icon(play_.isActive() ? "pause" : "play"));
}

void FilmBar::setStatus(kit::Tone tone, const QString& text, const QString& numbers) {
  tone_ = tone;
  status_ = text;
  numbers_ = numbers;
  update();
}

void FilmBar::setBusy(const QString& text) {
  busy_ = text;
  update();
}

void FilmBar::refresh() {
  const auto& frames = document_->frames();
  const int at = document_->position(), last = static_cast<int>(frames.size()) - 1;
  unit_->setCurrent(static_cast<int>(document_->unit()));
  slider_->set(frames, at);
  slider_->setVisible(!frames.empty());
  buttons_[0]->setEnabled(at > 0);
  buttons_[1]->setEnabled(at > 0);
  buttons_[2]->setEnabled(last > 0);
  buttons_[3]->setEnabled(at >= 0 && at < last);
  buttons_[4]->setEnabled(at >= 0 && at < last);
  update();
}

void FilmBar::resizeEvent(QResizeEvent*) {
  update();
}

int FilmBar::nameWidth() const {
  const auto& frames = document_->frames();
  if (document_->position() < 0 || frames.empty()) return 0;
  const QString position = QStringLiteral("%1/%2").arg(document_->position() + 1).arg(frames.size());
  const QString& name = frames[static_cast<size_t>(document_->position())].name;
  return kit::textWidth(theme().mono(12), position) + theme().px(12) +
         std::min(kit::textWidth(theme().mono(12, 600), name), theme().px(240)) + theme().px(8);
}

void FilmBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().bg2);
  int right = width() - theme().px(12);
  const QWidget* before = slider_->isVisible() ? static_cast<QWidget*>(slider_) : unit_;
  // Where the film stands and its name are whole; the numbers leave room for them.
  const int left = before->geometry().right() + theme().px(8);
  const int status = status_.isEmpty() ? 0 : kit::textWidth(theme().ui(12), status_) + theme().px(36);
  const int most = std::min(width() / 3, right - left - status - nameWidth() - theme().px(20));
  if (!numbers_.isEmpty() && most > theme().px(60)) {
    const QString numbers = factsFor(numbers_, most);
    const int w = std::min(kit::textWidth(theme().mono(11), numbers), most);
    kit::drawText(painter, QRect(right - w, 0, w + 1, height()), numbers, theme().mono(11), theme().text2);
    right -= w + theme().px(10);
  }
  if (!status_.isEmpty()) {
    const int w = kit::textWidth(theme().ui(12), status_);
    kit::drawText(painter, QRect(right - w, 0, w + 1, height()), status_, theme().ui(12),
                  tone_ == kit::Tone::Warn ? theme().warn : theme().text2);
    right -= w + theme().px(20);
    kit::drawIcon(painter, iconOf(tone_),
                  QRect(right, (height() - theme().px(14)) / 2, theme().px(14), theme().px(14)),
                  theme().tone(tone_));
    right -= theme().px(16);
  }
  QRect box(left, 0, 0, height());
  box.setRight(right);
  if (!busy_.isEmpty()) {
    kit::drawText(painter, box, busy_, theme().ui(12), theme().text1);
    return;
  }
  const auto& frames = document_->frames();
  if (document_->position() < 0 || frames.empty()) return;
  const FilmFrame& frame = frames[static_cast<size_t>(document_->position())];
  const QString position = QStringLiteral("%1/%2").arg(document_->position() + 1).arg(frames.size());
  box.setLeft(box.left() + kit::drawText(painter, box, position, theme().mono(12), theme().text2) +
              theme().px(12));
  // A step that changed nothing stands back.
  const QFont font = theme().mono(12, frame.changed ? 600 : 400);
  const QColor colour = frame.changed ? theme().text1 : theme().text2;
  box.setLeft(box.left() +
              kit::drawText(painter, box, frame.name, font, colour, Qt::AlignLeft, kit::Elide::Middle) +
              theme().px(8));
  kit::drawText(painter, box, frame.sentence, theme().ui(12), theme().text2);
}

}  // namespace vitrine::app
