#include "views/source/source_view.h"

#include <QPainter>
#include <QScrollBar>

#include "views/kit/painting/paint.h"
#include "views/kit/selection/link_letters.h"
#include "views/kit/session/frames.h"
#include "views/kit/session/missing.h"
#include "views/kit/session/verdict.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {
constexpr int kLinesAbove = 1;  // of the line that raised
}

SourceView::SourceView(Jobs* jobs, QWidget* parent) : View(jobs, parent), pane_(new CodePane(this)) {
  connect(pane_, &CodePane::activate, this, &SourceView::activate);
  connect(pane_, &CodePane::toggle, this, &SourceView::toggle);
  connect(pane_, &CodePane::hover, this, &SourceView::hover);
  connect(pane_, &CodePane::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, QString(), other); });
  pane_->setMarks(&selection());
  connect(pane_->verticalScrollBar(), &QScrollBar::valueChanged, this, &SourceView::headerChanged);
  setFocusProxy(pane_);
}

QString SourceView::title() const {
  return session() && file_ ? session()->fileName(file_) : QStringLiteral("Source");
}

// The function that the active expression stands in, else the one in sight.
QString SourceView::subtitle() const {
  if (!session()) return {};
  const SpanRow* span = session()->spans.find(canShow(selection().active));
  if (!span) span = running();
  const int64_t line = span && span->file == file_ ? span->line : pane_->middleLine() + 1;
  const CodeRow* inner = nullptr;
  for (const CodeRow& row : session()->codes.of(file_))
    if (row.first_line <= line && line <= row.last_line && (!inner || row.first_line >= inner->first_line))
      inner = &row;
  QStringList out;
  if (inner) out << QString::fromStdString(inner->qualname).remove(QStringLiteral("<locals>."));
  if (file_ && session()->imported()) out << QStringLiteral("only the lines that the record names");
  return out.join(QStringLiteral("; "));
}

void SourceView::zoom(Zoom how) {
  pane_->zoom(how == Zoom::In ? 1.1 : how == Zoom::Out ? 1 / 1.1 : 0);
}

// Where the user's code raised what ended the first run that failed.
const SpanRow* SourceView::raised() const {
  for (const RunRow& run : session()->runs)
    if (const MessageRow* error = errorOf(*session(), run))
      if (const SpanRow* span = session()->spans.find(error->entity)) return span;
  return nullptr;
}

// The file of the active thing: the user's, else a library's that is nearest; without an active thing the one
// that raised, that of the function that is shown, else the user's first.
Id SourceView::wantedFile() const {
  if (!session()) return 0;
  if (const SpanRow* span = session()->spans.find(selection().active)) return span->file;
  Id nearest = 0;
  if (selection().relatives && selection().relatives->of == selection().active)
    for (Id id : selection().relatives->origins)
      if (const SpanRow* span = session()->spans.find(id)) {
        const FileRow* file = session()->files.find(span->file);
        if (file && file->user) return span->file;
        if (file && file->text.row && !nearest) nearest = span->file;
      }
  if (nearest) return nearest;
  if (const SpanRow* span = running(); span && !selection().active) return span->file;
  if (const SpanRow* span = raised()) return span->file;
  const CodeRow* code = session()->codes.find(shownCode());
  const FileRow* file = code ? session()->files.find(code->file) : nullptr;
  if (file && file->user) return file->id;
  if (const Id caller = callingFile()) return caller;
  if (file && file->text.row) return file->id;
  for (const FileRow& each : session()->files)
    if (each.user && each.text.row) return each.id;
  return file ? file->id : 0;
}

// Of a library's function that was compiled: the user's file that the first of its operators came from.
Id SourceView::callingFile() const {
  const GraphRow* graph = session()->lastGraph(compilation(), "captured");
  if (!graph) return 0;
  for (const NodeRow& node : session()->nodes.of(graph->id)) {
    const SpanRow* span = session()->spans.find(node.kind == "op" ? nearestSpan(*session(), node.id) : 0);
    const FileRow* file = span ? session()->files.find(span->file) : nullptr;
    if (file && file->user && file->text.row) return file->id;
  }
  return 0;
}

Id SourceView::shownCode() const {
  if (shown_of_ != session().get() || shown_compilation_ != compilation()) {
    shown_of_ = session().get(), shown_compilation_ = compilation();
    shown_code_ = readCode(*session(), shown_compilation_);
  }
  return shown_code_;
}

// Where the capture stands: of the functions that call each other there the innermost of the user's own, else
// of the file that is shown at first, else the innermost of all.
const SpanRow* SourceView::running() const {
  const StepRow* step = session()->steps.find(selection().film.step);
  if (!step) return nullptr;
  const CodeRow* work = session()->codes.find(session()->workCodeOf(compilation()));
  const SpanRow *innermost = nullptr, *ours = nullptr;
  for (Id id : instructionsAt(*session(), *step)) {
    const InstructionRow* ins = session()->instructions.find(id);
    const SpanRow* span = ins ? session()->spans.find(ins->span) : nullptr;
    const FileRow* file = span ? session()->files.find(span->file) : nullptr;
    if (!file || !file->text.row) continue;
    if (file->user) return span;
    if (!ours && work && span->file == work->file) ours = span;
    if (!innermost) innermost = span;
  }
  return ours ? ours : innermost;
}

void SourceView::sessionChanged() {
  shown_of_ = nullptr;
  const Id wanted = wantedFile();
  const FileRow* file = session() ? session()->files.find(wanted) : nullptr;
  without_text_ = file && !file->text.row ? wanted : 0;
  if (!file || without_text_) {
    file_ = 0;
    pane_->setText({});
    pane_->hide();
    return update();
  }
  withText(QStringLiteral("source"), file->text,
           [this, wanted](Text text) { showFile(wanted, std::move(text)); });
}

// The line of `def`: a function's first line may be its first decorator's.
static int headLine(const QStringList& lines, int first) {
  first = std::max(first, 0);  // a function whose line is not known
  for (int line = first; line < lines.size() && line < first + 40; ++line) {
    const QString text = lines[line].trimmed();
    if (text.startsWith("def ") || text.startsWith("async def ") || text.contains("lambda")) return line;
  }
  return first;
}

// A record of another tool has the lines that it names, and blank ones between.
static int firstKnown(const QStringList& lines) {
  const auto known =
      std::find_if(lines.begin(), lines.end(), [](const QString& line) { return !line.trimmed().isEmpty(); });
  return known == lines.end() ? 0 : static_cast<int>(known - lines.begin());
}

void SourceView::showFile(Id file, Text text) {
  const bool other = file != file_;
  file_ = file;
  CodeText code;
  code.text = QString::fromStdString(*text);
  code.language = Language::Python;
  lines_ = code.text.split('\n');
  code.spans = spans(lines_);
  code.marks = breakMarks();
  for (CodeMark& mark : errorMarks()) code.marks.push_back(std::move(mark));
  pane_->setText(std::move(code));
  pane_->show();
  if (other) {
    const CodeRow* row = session()->codes.find(shownCode());
    const SpanRow* error = raised();
    if (error && error->file == file_)
      pane_->startAtLine(std::max(0, static_cast<int>(error->line) - 1 - kLinesAbove));
    else if (const int head =
                 row && row->file == file_ ? headLine(lines_, static_cast<int>(row->first_line) - 1) : -1;
             head >= 0 && !lines_.value(head).trimmed().isEmpty())
      pane_->startAtLine(head);
    else if (session()->imported())
      pane_->startAtLine(firstKnown(lines_));
    revealLetters();
  }
  markRunning();
  if (Id id = canShow(selection().active)) pane_->reveal(id);
  Q_EMIT headerChanged();
  update();
}

void SourceView::markRunning() {
  const SpanRow* at = running();
  pane_->setRunning(at && at->file == file_ ? static_cast<int>(at->line) - 1 : -1);
}

// The expressions of the kernel in focus, as far as the first of them is not in sight already.
void SourceView::revealLetters() {
  const CodeSpan* first = nullptr;
  const std::vector<CodeSpan> all = spans(lines_);
  for (const CodeSpan& span : all)
    if (span.letter >= 0 && (!first || span.line < first->line)) first = &span;
  if (first) pane_->reveal(first->id);
}

// The `self` of `self.fc(x)` became an instruction that loads it, perhaps a guard, and nothing else.
static bool isLoaded(const LinkIndex& links, Id id, int depth = 3) {
  if (depth == 0) return false;
  const auto derived = links.derived(id);
  return std::all_of(derived.begin(), derived.end(), [&](Id each) {
    const Kind kind = kind_of(each);
    return kind == Kind::Guard ||
           ((kind == Kind::Instruction || kind == Kind::Step) && isLoaded(links, each, depth - 1));
  });
}

std::vector<CodeSpan> SourceView::spans(const QStringList& lines) const {
  std::vector<CodeSpan> out;
  const LinkLetters letters = lettersOf(*session(), kernelInFocus(*session(), selection(), compilation()));
  for (const SpanRow& span : session()->spans.of(file_)) {
    // An expression that became nothing cannot be clicked.
    const auto derived = session()->links.derived(span.id);
    if (derived.empty() || span.line < 1 || span.line > lines.size()) continue;
    CodeSpan s;
    s.id = span.id;
    s.quiet = isLoaded(session()->links, span.id);
    s.line = static_cast<int>(span.line) - 1;
    s.end_line = std::clamp(static_cast<int>(span.end_line) - 1, s.line, static_cast<int>(lines.size()) - 1);
    s.col = characterColumn(lines[s.line], static_cast<int>(span.col));
    s.end_col = characterColumn(lines[s.end_line], static_cast<int>(span.end_col));
    if (auto it = letters.by_span.find(span.id); it != letters.by_span.end()) s.letter = it->second;
    out.push_back(s);
  }
  return out;
}

std::vector<CodeMark> SourceView::breakMarks() const {
  std::vector<CodeMark> out;
  for (const BreakCause& place : breakCauses(*session(), 0)) {
    const BreakRow& b = *place.rows[0];
    const InstructionRow* i = session()->instructions.find(place_of(place));
    const SpanRow* span = i ? session()->spans.find(i->span) : nullptr;
    if (!span || span->file != file_) continue;
    const int line = static_cast<int>(span->line) - 1;
    const QString reason = QString::fromStdString(b.reason);
    auto same = std::find_if(out.begin(), out.end(), [&](const CodeMark& mark) { return mark.line == line; });
    if (same == out.end())
      out.push_back({line, QStringLiteral("scissors"), Tone::Warn, reason, b.id});
    else
      same->tooltip += '\n' + reason;  // a line has room for one mark
  }
  return out;
}

std::vector<CodeMark> SourceView::errorMarks() const {
  std::vector<CodeMark> out;
  for (const MessageRow& row : session()->messages) {
    const SpanRow* span = session()->spans.find(row.entity);
    if (!span || span->file != file_ || row.severity == "info") continue;
    const bool error = row.severity == "error";
    out.push_back({static_cast<int>(span->line) - 1,
                   error ? QStringLiteral("error") : QStringLiteral("warning"),
                   error ? Tone::Err : Tone::Warn, QString::fromStdString(row.text), row.id});
  }
  return out;
}

void SourceView::selectionChanged(ChangeMask mask) {
  if (!session()) return;
  if (mask & (ChangeActive | ChangeRelatives | ChangeFilm)) {
    if (wantedFile() != file_) return sessionChanged();
    if (file_) pane_->setSpans(spans(lines_));
    if (mask & ChangeFilm) markRunning();
    if (Id id = canShow(selection().active)) pane_->reveal(id);
    if (mask & (ChangeActive | ChangeRelatives)) Q_EMIT headerChanged();  // names the function it stands in
  }
  pane_->viewport()->update();
}

Id SourceView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Origins,
                      [this](Id wanted) { return pane_->lineOf(wanted) >= 0; });
}

void SourceView::reveal(Id id) {
  if (Id shown = canShow(id)) pane_->reveal(shown);
}

void SourceView::resizeEvent(QResizeEvent*) {
  pane_->setGeometry(rect());
}

QString SourceView::whyEmpty() const {
  if (!session()) return QStringLiteral("Your Python stands here.");
  if (without_text_)
    return QStringLiteral("No source: of %1 the session has no text.")
        .arg(session()->fileName(without_text_));
  return QStringLiteral("No source: this run recorded no file of yours. ") +
         whyMissing(*session(), compilation(), "source");
}

void SourceView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.fillRect(rect(), t.bg1);
  paintEmpty(painter, rect(), whyEmpty());
}

}  // namespace vitrine::views
