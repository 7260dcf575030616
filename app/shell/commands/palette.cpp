#include "app/shell/commands/palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

#include "app/shell/commands/own_keys.h"
#include "app/shell/panes/layouts.h"
#include "core/session/stages.h"
#include "views/kit/keys.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/qt_text.h"
#include "views/registry.h"

namespace vitrine::app {

using kit::theme;

namespace {

constexpr size_t kRows = 12, kMostThings = 200;

// What a prefix asks for; null: anything.
QChar signOf(const QString& typed) {
  return !typed.isEmpty() && QStringLiteral(">@:#/?").contains(typed[0]) ? typed[0] : QChar();
}
QString textOf(const QString& typed) {
  return (signOf(typed).isNull() ? typed : typed.mid(1)).trimmed();
}

// From here on a match is what was meant: at the beginning of a word.
constexpr int kMeant = 55;
constexpr int kOfMenu = 50;  // the score of a command whose menu is named
// What is put first of equal matches, in steps that no bonus of an entity reaches.
constexpr int kFirst = 500, kLast = -10'000;

// How well a text names what is called so, or one of the other words for it: their beginnings only.
int namedScore(const QString& text, const QString& name, const char* words) {
  int score = matchScore(text, name);
  for (const QString& word : QString::fromUtf8(words).split(QStringLiteral(", "), Qt::SkipEmptyParts))
    if (const int other = matchScore(text, word); other >= kMeant) score = std::max(score, other - 5);
  return score;
}

// Views, stages and layouts stand first: a person who types "memory" wants to see it.
void addNamed(std::vector<std::pair<int, PaletteRow>>& out, const QString& text) {
  auto add = [&](int score, const QString& icon, const QString& name, const QString& context,
                 const QString& named, int less) {
    if (!score) return;
    PaletteRow row{icon, name, context, {}, true, 0, {}, {}, named};
    out.emplace_back(score * 10 + (score >= kMeant ? kFirst - less : 0), row);
  };
  auto words = [](std::string_view view) { return vitrine::s(view); };
  for (const views::ViewRow& row : views::registry()) {
    if (!*row.menu) continue;
    const QString title = QString::fromUtf8(row.title), id = QString::fromLatin1(row.id);
    add(std::max(namedScore(text, title, row.words), matchScore(text, id)), QString::fromLatin1(row.icon),
        title, QString::fromUtf8(row.about), "view:" + id, 0);
  }
  for (const LayoutInfo& layout : layouts())
    add(matchScore(text, layout.name), "layers", layout.name, "layout: " + layout.about,
        "layout:" + layout.name, 1);
  auto isView = [](std::string_view title) {
    const auto all = views::registry();
    return std::any_of(all.begin(), all.end(), [&](const auto& row) { return title == row.title; });
  };
  for (const session::StageInfo& stage : session::kStages)
    if (!isView(stage.title))
      add(matchScore(text, words(stage.title)), "graph", words(stage.title), "stage: " + words(stage.about),
          "stage:" + words(stage.name), 2);
}

// Below what was not found: what was looked at.
PaletteRow nothingFound(const kit::SessionData* session, const QString& typed) {
  const QString text = textOf(typed);
  const QChar sign = signOf(typed);
  PaletteRow row;
  row.icon = "info";
  row.name = QStringLiteral("Nothing is called “%1”").arg(text);
  row.context = sign == '>'   ? "of commands; without > it looks everywhere"
                : !session    ? "views and commands; no session is open"
                : sign == ':' ? "of lines; without : it looks everywhere"
                : sign == '#' ? "of breaks, recompilations and messages; without # it looks everywhere"
                              : "views, commands, kernels, operators, breaks, guards, launches, lines";
  row.enabled = false;
  return row;
}

// explain: with what each is about, as help.
void addCommands(std::vector<std::pair<int, PaletteRow>>& out, const Actions& actions, const QString& text,
                 bool explain) {
  for (const kit::CommandInfo& info : kit::commands()) {
    QAction* action = *info.id ? actions[QString::fromLatin1(info.id)] : nullptr;
    if (!action) continue;
    const QString title = QString(action->text()).remove(QChar(0x2026));
    // By its menu too: "film" finds what the film can do.
    const QString menu = QString::fromLatin1(info.menu).section(' ', 0, 0).section('/', -1);
    const int score = std::max(matchScore(text, title), matchScore(text, menu) == 100 ? kOfMenu : 0);
    if (!score) continue;
    PaletteRow row;
    row.icon = "chevron-right";
    row.name = title;
    row.context = !action->isEnabled() ? "not available now" : explain ? QString::fromUtf8(info.about) : menu;
    row.key = QString::fromLatin1(info.keys).section(' ', 0, 0);
    row.enabled = action->isEnabled();
    row.command = QString::fromLatin1(info.id);
    const bool settings = score >= kMeant && row.command.contains(QLatin1String("settings"));
    out.emplace_back(score * 10 + (row.enabled ? 5 : 0) + (settings ? kFirst : 0), row);
  }
}

}  // namespace

std::vector<FoundEntity> paletteThings(const kit::SessionData& session, const QString& typed,
                                       const std::string& stage) {
  const QChar sign = signOf(typed);
  const QString text = textOf(typed);
  if (sign == '/' || sign == '>' || sign == '?' || (text.isEmpty() && sign.isNull())) return {};
  std::vector<FoundEntity> found = findEntities(session, text, stage, kMostThings);
  std::erase_if(found, [&](const FoundEntity& f) {
    const Kind kind = kind_of(f.id);
    if (sign == ':') return kind != Kind::Span;
    return sign == '#' && kind != Kind::Break && kind != Kind::Message && kind != Kind::Recompilation;
  });
  return found;
}

std::vector<PaletteRow> paletteRowsOf(const kit::SessionData* session, const Actions* actions,
                                      const QString& typed, const std::vector<FoundEntity>& things,
                                      size_t most) {
  const QChar sign = signOf(typed);
  const QString text = textOf(typed);
  std::vector<std::pair<int, PaletteRow>> found;
  if (actions && (sign.isNull() || sign == '>' || sign == '?'))
    addCommands(found, *actions, text, sign == '?');
  if (sign == '/')
    return {{"search",
             QStringLiteral("/%1/").arg(text),
             "find in this view",
             {},
             !text.isEmpty(),
             0,
             {},
             QStringLiteral("/%1/").arg(text)}};
  if (session && sign.isNull() && !text.isEmpty()) addNamed(found, text);
  for (const FoundEntity& f : things) {
    const int last = kind_of(f.id) == Kind::Guard ? kLast : 0;
    found.emplace_back(f.score + last, PaletteRow{f.icon, f.label, f.context, {}, true, f.id, {}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PaletteRow> out;
  for (auto& [score, row] : found)
    if (out.size() < most) out.push_back(std::move(row));
  return out;
}

std::vector<PaletteRow> paletteRows(const kit::SessionData* session, const Actions* actions,
                                    const QString& typed, const std::string& stage, size_t most) {
  auto out =
      paletteRowsOf(session, actions, typed,
                    session ? paletteThings(*session, typed, stage) : std::vector<FoundEntity>(), most);
  if (out.empty() && !textOf(typed).isEmpty()) out.push_back(nothingFound(session, typed));
  return out;
}

Palette::Palette(Document* document, Actions* actions, QWidget* parent)
    : QFrame(parent), document_(document), actions_(actions), field_(new QLineEdit(this)) {
  hide();
  field_->setPlaceholderText("Go to anything:  > command   @ name   : line   # problem   / find   ? help");
  field_->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &Palette::refresh);
}

void Palette::open(const QString& text, const std::string& stage) {
  if (!isVisible()) before_ = QApplication::focusWidget();
  stage_ = stage;
  field_->setText(text);
  refresh();
  const int width = std::min(theme().px(560), parentWidget()->width() - theme().px(40));
  setGeometry((parentWidget()->width() - width) / 2, theme().px(38), width,
              theme().px(44) + static_cast<int>(kRows) * theme().px(28));
  field_->setGeometry(theme().px(8), theme().px(8), width - theme().px(16), theme().px(28));
  show();
  raise();
  field_->setFocus();
}

void Palette::refresh() {
  const QString typed = field_->text();
  const kit::SessionPtr& session = document_->session();
  // Views and commands at once; the session's things stream in.
  rows_ = paletteRowsOf(session.get(), actions_, typed, {}, kRows);
  current_ = 0;
  go_.reset();
  searching_ = session != nullptr;
  update();
  using Found = std::shared_ptr<std::vector<FoundEntity>>;
  document_->jobs()->run<Found>(
      this, QStringLiteral("palette"),
      [session, typed, stage = stage_](const kit::Cancel&) {
        return std::make_shared<std::vector<FoundEntity>>(session ? paletteThings(*session, typed, stage)
                                                                  : std::vector<FoundEntity>());
      },
      [this, session, typed](const Found& found) {
        searching_ = false;
        const size_t moved = current_;
        rows_ = paletteRowsOf(session.get(), actions_, typed, *found, kRows);
        if (rows_.empty() && !textOf(typed).isEmpty()) rows_.push_back(nothingFound(session.get(), typed));
        current_ = std::min(moved, rows_.empty() ? 0 : rows_.size() - 1);
        update();
        if (go_) take(current_, *go_ & Qt::ControlModifier);
      });
}

void Palette::leave() {
  document_->jobs()->cancel(QStringLiteral("palette"), this);
  go_.reset();
  hide();
  (before_ ? before_.data() : parentWidget())->setFocus();
}

void Palette::take(size_t row, bool other) {
  if (row >= rows_.size() || !rows_[row].enabled) return;
  const PaletteRow chosen = rows_[row];
  leave();
  if (!chosen.find.isEmpty())
    Q_EMIT findWanted(chosen.find);
  else if (!chosen.named.isEmpty())
    Q_EMIT namedWanted(chosen.named, other);
  else if (chosen.id && other)
    Q_EMIT openIn(chosen.id, {}, true);
  else if (chosen.id)
    document_->activate(chosen.id);
  else if (QAction* action = (*actions_)[chosen.command])
    action->trigger();
}

bool Palette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) hide();
  if (keeps_escape_and_enter(event)) return true;
  if (event->type() == QEvent::KeyPress) {
    switch (static_cast<QKeyEvent*>(event)->key()) {
      case Qt::Key_Down:
        current_ = std::min(current_ + 1, rows_.empty() ? 0 : rows_.size() - 1);
        update();
        return true;
      case Qt::Key_Up:
        current_ = current_ ? current_ - 1 : 0;
        update();
        return true;
      case Qt::Key_Return:
      case Qt::Key_Enter:
        go_ = static_cast<QKeyEvent*>(event)->modifiers();
        if (!searching_) take(current_, *go_ & Qt::ControlModifier);
        return true;
      case Qt::Key_Escape:
        leave();
        return true;
      default:
        break;
    }
  }
  return QFrame::eventFilter(watched, event);
}

void Palette::mousePressEvent(QMouseEvent* event) {
  const double y = event->position().y() - theme().px(40);
  if (y >= 0) take(static_cast<size_t>(y / theme().px(28)), event->modifiers() & Qt::ControlModifier);
}

void Palette::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().hullLine, 1));
  painter.setBrush(theme().bg2);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme().px(6), theme().px(6));
  for (size_t i = 0; i < rows_.size(); ++i) {
    const PaletteRow& row = rows_[i];
    const QRect box(theme().px(4), theme().px(40) + static_cast<int>(i) * theme().px(28),
                    width() - theme().px(8), theme().px(28));
    painter.setOpacity(1);
    if (i == current_) painter.fillRect(box, theme().sel);
    painter.setOpacity(row.enabled ? 1 : 0.5);
    kit::drawIcon(painter, row.icon,
                  QRect(box.x() + theme().px(8), box.y() + theme().px(7), theme().px(14), theme().px(14)),
                  theme().text2);
    QRect text = box.adjusted(theme().px(32), 0, -theme().px(100), 0);
    const int used = kit::drawText(painter, text, row.name, row.id ? theme().mono(12) : theme().ui(13),
                                   theme().text1, Qt::AlignLeft, kit::Elide::Middle);
    text.setLeft(text.left() + used + theme().px(10));
    kit::drawText(painter, text, row.context, theme().ui(11), theme().text2);
    kit::drawText(painter, box.adjusted(0, 0, -theme().px(10), 0), row.key, theme().mono(11), theme().text2,
                  Qt::AlignRight);
  }
}

}  // namespace vitrine::app
