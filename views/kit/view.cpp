#include "views/kit/view.h"

#include "views/kit/accessible.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"

namespace vitrine::kit {

View::View(Jobs* jobs, QWidget* parent) : QWidget(parent), jobs_(jobs) {
  setFocusPolicy(Qt::StrongFocus);
}

void View::setEdits(KernelEdits* edits) {
  edits_ = edits;
  connect(edits, &KernelEdits::changed, this, [this](Id kernel) { editsChanged(kernel); });
}

void View::setSession(SessionPtr session) {
  session_ = std::move(session);
  session_pending_ = true;
  deliver();
}

void View::setSelection(const Selection& selection, ChangeMask mask) {
  selection_ = selection;
  pending_ |= mask;
  deliver();
}

void View::setStage(const std::string& stage) {
  if (stage == stage_) return;
  stage_ = stage;
  stage_pending_ = true;
  deliver();
}

void View::setCovered(bool covered) {
  covered_ = covered;
  deliver();
}

// A hidden view keeps only the newest of everything.
void View::deliver() {
  if (!isVisible() || covered_) return;
  const bool session = std::exchange(session_pending_, false);
  const bool stage = std::exchange(stage_pending_, false);
  const ChangeMask mask = std::exchange(pending_, 0);
  const std::string path = session_ ? session_->path : std::string();
  if (session && std::exchange(shown_path_, path) != path) forgetPlaces();
  if (session)
    sessionChanged();
  else if (stage)
    stageChanged();
  if (mask) selectionChanged(mask);
  if (session || stage) Q_EMIT headerChanged();
}

NextAct View::nextAct() const {
  return kit::nextAct(session_.get());
}

void View::paintEmpty(QPainter& painter, const QRect& box, const QString& why) {
  const QRect taken = drawEmpty(painter, box, why);
  const NextAct act = nextAct();
  if (act.command.isEmpty()) return;
  const QFont font = theme().ui(13);
  link_ = QRect(taken.left(), taken.bottom() + theme().px(6), textWidth(font, act.text) + 2, theme().row());
  link_command_ = act.command;
  drawText(painter, link_, act.text, font, theme().accent);
}

// Whether the link of an empty view took it.
bool View::link_event(const QEvent& event) {
  const bool pressed = event.type() == QEvent::MouseButtonPress;
  if (!pressed && event.type() != QEvent::MouseMove) return false;
  const bool over = link_.contains(static_cast<const QMouseEvent&>(event).pos());
  if (over != testAttribute(Qt::WA_SetCursor)) over ? setCursor(Qt::PointingHandCursor) : unsetCursor();
  if (!pressed || !over) return false;
  follow(link_command_);
  return true;
}

bool View::event(QEvent* event) {
  if (event->type() == QEvent::Paint) link_ = {};
  if (!link_.isEmpty() && link_event(*event)) return true;
  const bool done = QWidget::event(event);
  if (event->type() == QEvent::Show) deliver();
  if (event->type() == QEvent::StyleChange) themeChanged();
  return done;
}

void View::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (!enter || event->modifiers() & ~Qt::KeypadModifier) return QWidget::keyPressEvent(event);
  Q_EMIT commandRequested(QStringLiteral("go.open"));
}

Id View::compilation() const {
  if (selection_.film.compilation) return selection_.film.compilation;
  return session_ ? session_->main : 0;
}

const session::GraphRow* View::graph() const {
  if (!session_) return nullptr;
  const auto* film = session_->graphs.find(selection_.film.graph);
  if (film && film->stage == stage_ && film->compilation == compilation()) return session_->withNodes(*film);
  return session_->lastGraph(compilation(), stage_);
}

void View::withText(const QString& tag, session::BlobRef ref, std::function<void(Text)> done) {
  if (!session_ || !session_->texts) return;
  if (Text known = session_->texts->cached(ref)) {
    jobs_->cancel(tag, this);
    done(std::move(known));
    return;
  }
  jobs_->run<Text>(
      this, tag, [texts = session_->texts, ref](const Cancel&) { return texts->load(ref); },
      [this, data = session_, done = std::move(done)](Text text) {
        if (data == session_) done(std::move(text));
      });
}

QString View::spoken(Id id) const {
  return session_ ? spokenText(*session_, selection_, id) : QString();
}

QImage View::grabTo(const QSize& size, double dpr) {
  resize(size);
  QImage image(size * dpr, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(dpr);
  image.fill(theme().bg1);
  render(&image);
  return image;
}

}  // namespace vitrine::kit
