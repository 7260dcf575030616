#include "views/capture/stack_view.h"

#include <QTextDocument>
#include <algorithm>

#include "views/capture/trace_rows.h"
#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/tables/item_delegate.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// What stands before a value that is no tensor.
struct KindGlyph {
  const char *kind, *icon;
};
constexpr KindGlyph kGlyphs[] = {{"module", "module"}, {"function", "function"}, {"method", "function"},
                                 {"tuple", "stack"},   {"list", "stack"},        {"dict", "stack"}};

// CPython's names of types that say less than they are long.
struct ShortType {
  const char *type, *says;
};
constexpr ShortType kShortTypes[] = {{"builtin_function_or_method", "builtin"},
                                     {"method_descriptor", "method"},
                                     {"wrapper_descriptor", "method"},
                                     {"method-wrapper", "method"},
                                     {"getset_descriptor", "attribute"}};

// The right-hand fact of a value: its type, or for what is no tensor where it came from.
QString fact_of(const StackValue& v) {
  for (const ShortType& row : kShortTypes)
    if (v.type == QLatin1String(row.type)) return QString::fromLatin1(row.says);
  if (!v.type.isEmpty() && v.type != v.text) return v.type;
  return v.source == v.text ? QString() : v.source;
}

}  // namespace

StackView::StackView(Jobs* jobs, QWidget* parent) : View(jobs, parent), pane_(new RowPane(this)) {
  pane_->setMarks(&selection());
  setFocusProxy(pane_);
  connect(pane_, &RowPane::clicked, this, [this](int row) { Q_EMIT activate(lines_[size_t(row)].id); });
  connect(pane_, &RowPane::toggled, this, [this](int row) { Q_EMIT toggle(lines_[size_t(row)].id); });
  connect(pane_, &RowPane::hovered, this, &View::hover);
  connect(pane_, &RowPane::opened, this,
          [this](int row, bool other) { Q_EMIT openIn(lines_[size_t(row)].id, QString(), other); });
}

int StackView::at() const {
  return session() ? step_index(*session(), compilation(), selection().film.step) : -1;
}

QString StackView::subtitle() const {
  return state_.known ? QStringLiteral("depth %1 → %2").arg(state_.before).arg(state_.after) : QString();
}

void StackView::sessionChanged() {
  filled_ = {};
  fill();
}

void StackView::selectionChanged(ChangeMask mask) {
  if ((mask & ChangeFilm) && filled_ != std::pair(compilation(), selection().film.step)) fill();
  if (mask & ChangeActive) reveal(selection().active);
  pane_->viewport()->update();
}

void StackView::fill() {
  lines_.clear();
  state_ = {};
  const int index = at();
  filled_ = {session() ? compilation() : 0, selection().film.step};
  if (index >= 0) {
    state_ = stack_after(*session(), compilation(), index);
    const StepRow& step = session()->steps.of(compilation())[size_t(index)];
    const InstructionRow* ins = session()->instructions.find(step.instruction);
    if (ins) {
      add({Line::What::Caption,
           0,
           {},
           QStringLiteral("after %1 %2").arg(ins->pc).arg(s(ins->op)),
           {},
           NodeFamily::None,
           {}});
      addValues(Line::What::Put, state_.put, state_.after - 1);
      if (state_.put.empty())
        add({Line::What::Caption,
             0,
             {},
             QStringLiteral("puts nothing on the stack"),
             {},
             NodeFamily::None,
             {}});
    }
    if (!state_.taken.empty()) {
      add({Line::What::Caption, 0, {}, QStringLiteral("taken from the stack"), {}, NodeFamily::None, {}});
      addValues(Line::What::Taken, state_.taken, state_.before - 1);
    }
    if (!state_.below.empty()) {
      add({Line::What::Caption, 0, {}, QStringLiteral("below"), {}, NodeFamily::None, {}});
      addValues(Line::What::Kept, state_.below, static_cast<int>(state_.below.size()) - 1);
    }
    addProse();
    addLocals();
    addFrames();
  }
  std::vector<RowPane::Row> rows;
  const QStringList words = lines();
  for (size_t i = 0; i < lines_.size(); ++i) {
    RowPane::Row row;
    if (lines_[i].id) row.ids = {lines_[i].id};
    row.height = heightOf(lines_[i]);
    row.words = words[static_cast<int>(i)];
    if (lines_[i].id) row.tooltip = (lines_[i].text + QStringLiteral("  ") + lines_[i].right).trimmed();
    rows.push_back(std::move(row));
  }
  pane_->setRows(std::move(rows), [this](QPainter& p, int i, const QRect& box) { paintLine(p, i, box); });
  pane_->setVisible(!lines_.empty());
  Q_EMIT headerChanged();
  update();
}

void StackView::addValues(Line::What what, const std::vector<StackValue>& values, int top) {
  for (const StackValue& v : values)
    add({what, v.from, QString::number(top--), v.text.isEmpty() ? QStringLiteral("not recorded") : v.text,
         fact_of(v), v.family, v.kind});
}

void StackView::addProse() {
  const StepRow& step = session()->steps.of(compilation())[size_t(at())];
  const Id made = entity_of(*session(), step);
  QString text;
  if (kind_of(made) == Kind::Node)
    text = QStringLiteral("Recorded as a node of the graph; nothing was computed.");
  if (kind_of(made) == Kind::Guard)
    text = QStringLiteral("A guard was recorded: it is checked at each call.");
  if (const BreakRow* b = session()->breaks.find(made)) text = s(b->reason);
  if (!text.isEmpty()) add({Line::What::Prose, 0, {}, text, {}, NodeFamily::None, {}});
}

void StackView::addLocals() {
  if (state_.locals.empty()) return;
  add({Line::What::Gap, 0, {}, {}, {}, NodeFamily::None, {}});
  add({Line::What::Caption, 0, {}, QStringLiteral("Locals"), {}, NodeFamily::None, {}});
  for (const auto& [name, v] : state_.locals)
    add({Line::What::Local, v.from, name, v.text, fact_of(v), v.family, v.kind});
}

void StackView::addFrames() {
  if (state_.frames.empty()) return;
  add({Line::What::Gap, 0, {}, {}, {}, NodeFamily::None, {}});
  add({Line::What::Caption, 0, {}, QStringLiteral("Frames"), {}, NodeFamily::None, {}});
  for (const FrameAt& f : state_.frames) {
    const CodeRow* code = session()->codes.find(f.code);
    const InstructionRow* ins = session()->instructions.find(f.instruction);
    const QString where = ins ? (ins->span ? session()->place(ins->span) + QStringLiteral(", ") : QString()) +
                                    QStringLiteral("pc %1").arg(ins->pc)
                              : QString();
    add({Line::What::Frame,
         f.instruction,
         {},
         code ? s(code->qualname) : unknown(),
         where,
         NodeFamily::None,
         QStringLiteral("function")});
  }
}

int StackView::heightOf(const Line& line) const {
  const Theme& t = theme();
  if (line.what == Line::What::Gap) return t.px(8);
  if (line.what != Line::What::Prose) return t.row();
  QTextDocument document;
  layoutRichText(document, line.text.toHtmlEscaped(), std::max(t.px(80), width() - 2 * t.padding()));
  return static_cast<int>(document.size().height()) + t.px(16);
}

int StackView::paintGlyph(QPainter& painter, const Line& line, const QRect& box, const QColor& colour) const {
  const Theme& t = theme();
  const QRect glyph(box.x(), box.y() + (box.height() - t.px(14)) / 2, t.px(14), t.px(14));
  if (line.family != NodeFamily::None) {
    drawFamily(painter, line.family, glyph);
    return t.px(22);
  }
  for (const KindGlyph& row : kGlyphs)
    if (line.kind == QLatin1String(row.kind)) {
      drawIcon(painter, QLatin1String(row.icon), glyph, colour);
      return t.px(22);
    }
  return t.px(22);  // texts stay on one edge
}

int factWidth(const QString& name, const QString& fact, int room) {
  const Theme& t = theme();
  const int left = room - textWidth(t.mono(12), name) - t.px(10);
  return std::min(textWidth(t.mono(11), fact), std::max(room / 2, left));
}

// Of the locals' names: the longest, up to a third.
int StackView::leadWidth(int room) const {
  const Theme& t = theme();
  int longest = 0;
  for (const Line& line : lines_)
    if (line.what == Line::What::Local) longest = std::max(longest, textWidth(t.mono(12), line.lead));
  return std::clamp(longest + t.px(12), t.px(64), std::max(t.px(64), room / 3));
}

void StackView::paintValue(QPainter& painter, const Line& line, int index, const QRect& box) const {
  const Theme& t = theme();
  const bool put = line.what == Line::What::Put, taken = line.what == Line::What::Taken;
  if ((put || taken) && pane_->markOf(index) == Emphasis::None && !selection().isHovered(line.id))
    painter.fillRect(box, put ? t.softOk : t.softErr);
  const QRect sign(t.padding(), box.y(), t.px(12), box.height());
  if (put) drawText(painter, sign, QStringLiteral("+"), t.mono(12, 600), t.ok);
  if (taken) drawText(painter, sign, QString(QChar(0x2212)), t.mono(12, 600), t.err);
  const QRect place(t.px(22), box.y(), t.px(20), box.height());
  drawText(painter, place, line.lead, t.mono(11), t.text3, Qt::AlignRight);
  int left = t.px(52);
  left += paintGlyph(painter, line, QRect(left, box.y(), t.px(16), box.height()), t.text2);
  const int right = box.right() - t.padding();
  const int fact = factWidth(line.text, line.right, right - left);
  drawText(painter, QRect(right - fact, box.y(), fact + 1, box.height()), line.right, t.mono(11), t.text2,
           Qt::AlignRight, Elide::Middle);
  QFont font = t.mono(12, pane_->markOf(index) == Emphasis::Ring ? 600 : 400);
  font.setStrikeOut(taken);
  drawText(painter, QRect(left, box.y(), right - fact - left - t.px(10), box.height()), line.text, font,
           line.text == QLatin1String("not recorded") ? t.text3 : t.text1, Qt::AlignLeft, Elide::Middle);
}

void StackView::paintLine(QPainter& painter, int index, const QRect& box) const {
  const Theme& t = theme();
  const Line& line = lines_[size_t(index)];
  const QRect inner(t.padding(), box.y(), box.width() - 2 * t.padding(), box.height());
  switch (line.what) {
    case Line::What::Caption:
      drawText(painter, inner, line.text, t.ui(11), t.text2);
      return;
    case Line::What::Gap:
      hairline(painter, QPointF(0, box.center().y()), QPointF(box.right() + 1, box.center().y()), t.line);
      return;
    case Line::What::Prose: {
      QTextDocument document;
      layoutRichText(document, line.text.toHtmlEscaped(), inner.width());
      painter.save();
      painter.translate(inner.x(), box.y() + t.px(8));
      document.drawContents(&painter);
      painter.restore();
      return;
    }
    case Line::What::Local:
    case Line::What::Frame: {
      const bool local = line.what == Line::What::Local;
      const int name = local ? leadWidth(inner.width()) : 0;
      if (local)
        drawText(painter, QRect(inner.x(), box.y(), name - t.px(6), box.height()), line.lead, t.mono(12),
                 t.text1, Qt::AlignLeft, Elide::Middle);
      int left = inner.x() + name;
      left += paintGlyph(painter, line, QRect(left, box.y(), t.px(16), box.height()), t.text2);
      const int fact = factWidth(line.text, line.right, inner.right() - left);
      drawText(painter, QRect(inner.right() - fact, box.y(), fact + 1, box.height()), line.right, t.mono(11),
               t.text2, Qt::AlignRight, Elide::Middle);
      drawText(painter, QRect(left, box.y(), inner.right() - fact - left - t.px(10), box.height()), line.text,
               t.mono(12), t.text1, Qt::AlignLeft, Elide::Middle);
      return;
    }
    default:
      return paintValue(painter, line, index, box);
  }
}

Id StackView::canShow(Id id) const {
  return id && pane_->rowOf(id) >= 0 ? id : 0;
}

std::vector<Id> StackView::shown() const {
  std::vector<Id> out;
  for (const Line& line : lines_)
    if (line.id) out.push_back(line.id);
  return out;
}

QStringList StackView::lines() const {
  QStringList out;
  for (const Line& line : lines_) {
    QStringList parts;
    if (line.what == Line::What::Put) parts << QStringLiteral("+");
    if (line.what == Line::What::Taken) parts << QString(QChar(0x2212));
    for (const QString& part : {line.lead, line.text, line.right})
      if (!part.isEmpty()) parts << part;
    out << parts.join(' ');
  }
  return out;
}

void StackView::resizeEvent(QResizeEvent*) {
  pane_->setGeometry(rect().adjusted(0, theme().px(4), 0, 0));
  if (std::any_of(lines_.begin(), lines_.end(), [](const Line& l) { return l.what == Line::What::Prose; }))
    fill();
}

QString StackView::whyEmpty() const {
  if (!session()) return QStringLiteral("Open a session to see capture's symbolic stack.");
  return QStringLiteral("No stack: the steps of this capture were not recorded.");
}

void StackView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  if (lines_.empty()) paintEmpty(painter, rect(), whyEmpty());
}

}  // namespace vitrine::views
