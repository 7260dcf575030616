#include "views/capture/bytecode_view.h"

#include <algorithm>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/text/qt_text.h"
#include "views/kit/widgets/widgets.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// Columns, in logical pixels.
constexpr int kLineRight = 34, kPcRight = 74, kChevron = 80, kName = 96, kIndent = 14, kArgument = 112,
              kWidestName = 200;
constexpr int kGap = 10, kLeastArgument = 60;

}  // namespace

BytecodeView::BytecodeView(Jobs* jobs, QWidget* parent) : View(jobs, parent), pane_(new RowPane(this)) {
  pane_->setMarks(&selection());
  setFocusProxy(pane_);
  connect(pane_, &RowPane::clicked, this, &BytecodeView::click);
  connect(pane_, &RowPane::hovered, this, &View::hover);
  connect(pane_, &RowPane::toggled, this,
          [this](int row) { Q_EMIT toggle(pane_->rows()[size_t(row)].ids[0]); });
  connect(pane_, &RowPane::opened, this, [this](int row, bool other) {
    Q_EMIT openIn(pane_->rows()[size_t(row)].ids[0], QString(), other);
  });
}

QString BytecodeView::subtitle() const {
  if (!session() || trace_.empty()) return {};
  const CodeRow* code = session()->codes.find(session()->codeOf(compilation()));
  auto python = session()->meta.find("python");
  return (code ? s(code->qualname) : QString()) +
         (python == session()->meta.end() ? QString() : QStringLiteral(", CPython ") + s(python->second));
}

QList<QWidget*> BytecodeView::headerControls() {
  auto* inlined =
      new MenuButton(QStringLiteral("Inlined"), {QStringLiteral("fold"), QStringLiteral("show")}, this);
  inlined->setToolTip(QStringLiteral("Instructions of the functions that capture went into"));
  connect(inlined, &MenuButton::chosen, this, [this](int index) {
    open_.clear();
    for (const TraceRow& row : trace_)
      if (index == 1 && !row.inlined.empty()) open_.insert(row.first);
    layoutRows();
  });
  return {inlined};
}

void BytecodeView::sessionChanged() {
  if (!session() || shown_ != compilation()) open_.clear();
  shown_ = session() ? compilation() : 0;
  trace_ = shown_ ? trace_rows(*session(), shown_) : std::vector<TraceRow>();
  follow();
  layoutRows();
  Q_EMIT headerChanged();
}

void BytecodeView::selectionChanged(ChangeMask mask) {
  if (!session()) return;
  if (mask & ChangeFilm) {
    if (shown_ != compilation()) return sessionChanged();
    follow();
    layoutRows();
  }
  if (mask & (ChangeActive | ChangeRelatives)) reveal(selection().active);
  pane_->viewport()->update();
}

// Where the film stands; the frame of the step is unfolded and its row in sight.
void BytecodeView::follow() {
  at_ = session() ? step_index(*session(), shown_, selection().film.step) : -1;
  const StepRow* step = session() ? session()->steps.find(selection().film.step) : nullptr;
  if (!step) return;
  auto unfold = [&](auto& self, const std::vector<TraceRow>& rows) -> bool {
    for (const TraceRow& row : rows) {
      if (row.level == step->depth && row.instruction == step->instruction && current(row)) return true;
      if (self(self, row.inlined)) {
        open_.insert(row.first);
        return true;
      }
    }
    return false;
  };
  unfold(unfold, trace_);
}

// An operation that capture does not interpret by itself belongs to the next one.
bool BytecodeView::later(size_t index) const {
  const TraceRow& row = *lines_[index].row;
  if (row.first >= 0) return row.first > at_;
  const InstructionRow* ins = session()->instructions.find(row.instruction);
  const bool prefix = ins && (ins->op == "PRECALL" || ins->op == "KW_NAMES" || ins->op == "EXTENDED_ARG" ||
                              ins->op == "RESUME");
  return !prefix || index + 1 >= lines_.size() || later(index + 1);
}

bool BytecodeView::current(const TraceRow& row) const {
  const StepRow* step = session()->steps.find(selection().film.step);
  if (!step || row.instruction != step->instruction) return false;
  return row.level == 0 ? step->depth == 0 : row.first == at_;
}

void BytecodeView::addLine(const TraceRow& row) {
  const InstructionRow* ins = session()->instructions.find(row.instruction);
  if (!ins) return;
  Line line;
  line.row = &row;
  line.pc = QString::number(ins->pc);
  line.op = s(ins->op);
  line.arg = ins->argrepr.empty() && ins->arg ? QString::number(ins->arg) : s(ins->argrepr);
  const SpanRow* span = session()->spans.find(ins->span);
  if (span && row.line_start) line.line = QString::number(span->line);
  line.open = open_.contains(row.first);
  line.caused = row.caused.text;
  if (row.inlined_steps) {
    const QString what = row.caused.text.isEmpty() ? row.inlined_name : row.caused.text;
    line.caused = QStringLiteral("%1 inlined  ").arg(row.inlined_steps) + what;
  }
  lines_.push_back(line);
  if (line.open)
    for (const TraceRow& inner : row.inlined) addLine(inner);
}

void BytecodeView::layoutRows() {
  lines_.clear();
  for (const TraceRow& row : trace_) addLine(row);
  widest_name_ = 0;
  for (const Line& line : lines_)
    widest_name_ = std::max(widest_name_, textWidth(theme().mono(12, 600), line.op));
  std::vector<RowPane::Row> rows;
  for (const Line& line : lines_) {
    RowPane::Row row;
    row.ids = {line.row->instruction};
    if (line.row->caused.id && line.row->inlined.empty())
      row.ids.insert(row.ids.begin(), line.row->caused.id);
    row.height = theme().codeRow();
    row.words = QStringList{line.line, line.pc, line.op, line.arg, line.caused}.join(QStringLiteral(" "));
    if (line.row->step_count > 1)
      row.tooltip = QStringLiteral("interpreted %1 times").arg(line.row->step_count);
    if (line.row->first < 0 && !session()->steps.of(shown_).empty())
      row.tooltip = QStringLiteral("not reached by this capture");
    rows.push_back(std::move(row));
  }
  pane_->setRows(std::move(rows), [this](QPainter& p, int i, const QRect& box) { paintLine(p, i, box); });
  pane_->setVisible(!lines_.empty());
  for (size_t i = 0; i < lines_.size(); ++i)
    if (selection().film.step && current(*lines_[i].row)) pane_->revealRow(static_cast<int>(i));
  update();
}

int BytecodeView::paintCaused(QPainter& painter, const Line& line, const QRect& box,
                              const QColor& colour) const {
  if (line.caused.isEmpty()) return 0;
  const Theme& t = theme();
  const Caused& caused = line.row->caused;
  const bool bare = line.row->inlined_steps == 0 || caused.text.isEmpty();
  QString text = line.row->inlined_steps && !bare ? caused.text : line.caused, before;
  if (line.row->inlined_steps) {
    before = QStringLiteral("%1 inlined").arg(line.row->inlined_steps);
    if (bare) text = line.row->inlined_name;
  }
  const QColor tone = caused.what == Caused::What::Break ? t.warn : colour;
  const int glyphs = t.px(20), whole = textWidth(t.mono(12), text);
  int count_width = before.isEmpty() ? 0 : textWidth(t.mono(11), before) + t.px(6);
  if (count_width && box.width() - count_width - glyphs < std::min(whole, t.px(56))) {
    before.clear();  // the name says more than the count
    count_width = 0;
  }
  const int width = std::min(box.width() - count_width - glyphs, whole), left = count_width + glyphs;
  // Of a text that would be next to nothing only the glyph stands there; the tooltip says the rest.
  const bool glyph_only = width < std::min(whole, t.px(48));
  if (glyph_only && box.width() < glyphs) return 0;
  const QRect name(glyph_only ? box.right() + 1 : box.right() - width + 1, box.y(), glyph_only ? 0 : width,
                   box.height());
  if (!glyph_only) drawText(painter, name, text, t.mono(12), tone, Qt::AlignLeft, Elide::Middle);
  const QRect glyph(name.left() - t.px(19), box.y() + (box.height() - t.px(14)) / 2, t.px(14), t.px(14));
  if (caused.what == Caused::What::Node && caused.family != NodeFamily::None)
    drawFamily(painter, caused.family, glyph);
  else
    drawIcon(painter,
             caused.what == Caused::What::Break   ? QStringLiteral("scissors")
             : caused.what == Caused::What::Guard ? QStringLiteral("guard")
                                                  : QStringLiteral("function"),
             glyph, tone);
  if (!before.isEmpty()) {
    const QRect count(box.x(), box.y(), glyph.left() - t.px(6) - box.x(), box.height());
    drawText(painter, count, before, t.mono(11), t.text3, Qt::AlignRight);
  }
  return glyph_only ? glyphs : width + left;
}

// Of the longest name, where that leaves half of the room to arguments and causes.
int BytecodeView::nameWidth() const {
  const Theme& t = theme();
  return std::clamp(widest_name_ + t.px(10), t.px(kArgument),
                    std::max(t.px(kArgument), std::min(t.px(kWidestName), (width() - t.px(kName)) / 3)));
}

void BytecodeView::paintLine(QPainter& painter, int index, const QRect& box) const {
  const Theme& t = theme();
  const Line& line = lines_[size_t(index)];
  const bool quiet = later(size_t(index)), now = selection().film.step && current(*line.row);
  const bool active = pane_->markOf(index) == Emphasis::Ring || now;
  if (line.row->line_start && line.row->level == 0 && index)
    hairline(painter, QPointF(0, box.top()), QPointF(box.right() + 1, box.top()), t.line);
  const QColor text = quiet ? t.text3 : t.text1;
  const int indent = t.px(kIndent) * line.row->level;
  auto right = [&](int edge, const QString& s) {
    drawText(painter, QRect(t.px(4), box.y(), t.px(edge) - t.px(4), box.height()), s, t.mono(11), t.text3,
             Qt::AlignRight);
  };
  right(kLineRight, line.line);
  right(kPcRight, line.pc);
  if (now && line.line.isEmpty())
    drawIcon(painter, QStringLiteral("play"), QRect(t.px(10), box.y() + t.px(3), t.px(12), t.px(12)),
             t.text1);
  if (!line.row->inlined.empty())
    drawIcon(painter, line.open ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right"),
             QRect(t.px(kChevron) + indent, box.y() + t.px(3), t.px(12), t.px(12)), t.text2);
  const int name = t.px(kName) + indent, argument = name + nameWidth();
  const int edge = box.right() - t.padding();
  // A long argument leaves the cause two thirds of the room, a short one all it does not need.
  const int wanted = std::min(textWidth(t.mono(12), line.arg) + t.px(kGap),
                              std::max(t.px(kLeastArgument), (edge - argument) / 3));
  const QRect caused(argument + wanted, box.y(), edge - argument - wanted, box.height());
  const int used = paintCaused(painter, line, caused, text);
  drawText(painter, QRect(name, box.y(), nameWidth() - t.px(6), box.height()), line.op,
           t.mono(12, active ? 600 : 400), quiet ? t.text3 : t.code.keyword, Qt::AlignLeft, Elide::Middle);
  const int room = edge - argument - (used ? used + t.px(kGap) : 0);
  drawText(painter, QRect(argument, box.y(), room, box.height()), line.arg, t.mono(12, active ? 600 : 400),
           text, Qt::AlignLeft, Elide::Middle);
}

void BytecodeView::click(int index, int x) {
  const TraceRow& row = *lines_[size_t(index)].row;
  const int chevron = theme().px(kChevron) + theme().px(kIndent) * row.level;
  if (!row.inlined.empty() && x >= chevron - theme().px(4) && x < chevron + theme().px(16)) {
    if (!open_.erase(row.first)) open_.insert(row.first);
    return layoutRows();
  }
  const Id id = pane_->rows()[size_t(index)].ids[0];
  Film film = selection().film;
  film.compilation = shown_;
  auto steps = session()->steps.of(shown_);
  if (row.first >= 0 && static_cast<size_t>(row.last) < steps.size()) {
    film.step = steps[size_t(row.last)].id;
    Q_EMIT filmWanted(film);
  }
  Q_EMIT activate(id);
}

Id BytecodeView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Origins,
                      [this](Id wanted) { return pane_->rowOf(wanted) >= 0; });
}

void BytecodeView::reveal(Id id) {
  pane_->revealRow(pane_->rowOf(canShow(id)));
}

std::vector<Id> BytecodeView::shown() const {
  std::vector<Id> out;
  for (const Line& line : lines_) out.push_back(line.row->instruction);
  return out;
}

QStringList BytecodeView::lines() const {
  QStringList out;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    out << QString(line.row->level * 2, ' ') +
               QStringList{line.line, line.pc, line.op, line.arg, line.caused}.join(QStringLiteral(" | ")) +
               (later(i) ? QStringLiteral(" (later)") : QString());
  }
  return out;
}

QString BytecodeView::copy(CopyAs) const {
  return lines().join('\n');
}

void BytecodeView::resizeEvent(QResizeEvent*) {
  pane_->setGeometry(rect().adjusted(0, theme().px(4), 0, 0));
}

void BytecodeView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  if (!lines_.empty()) return;
  drawText(painter, QRect(t.padding(), t.px(8), width() - 2 * t.padding(), t.row()),
           session() ? QStringLiteral("No bytecode: this run recorded no captured frame.")
                     : QStringLiteral("Open a session to see what capture interpreted."),
           t.ui(13), t.text2);
}

}  // namespace vitrine::views
