#include "views/memory/memory_view.h"

#include <QBoxLayout>

#include "views/kit/text/qt_text.h"
#include "views/memory/memory_items.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr double kBeside = 1.6;  // as wide as that against its height, the table stands beside the chart

constexpr int64_t kLookedAt = 6;

// No more steps than the calls of what is called most.
int64_t most_steps(const SessionData& data, Id run) {
  int64_t most = 0;
  for (const session::FrameRow& frame : data.frames.of(run))
    for (const session::SegmentRow& segment : data.segments.of(frame.id)) {
      int64_t calls = 0;
      for (const session::CompilationRow& row : data.compilations.of(segment.id))
        if (!row.label.ends_with(" backward")) calls += row.calls;
      most = std::max(most, calls);
    }
  return most;
}

// A script of less steps is no other when it is recorded again.
bool has_too_few(const SessionData& data, Id run) {
  const auto* row = data.runs.find(run);
  const int64_t steps = most_steps(data, run);
  return row && row->entry == "script" && steps > 0 && steps < kLookedAt;
}

// Of a script the engine says what kept it from it; else the step that is recorded compiled something, or the
// script has less steps.
QString why_none(const SessionData& data, Id run) {
  if (data.imported()) return QStringLiteral("No memory over time. What was imported holds none.");
  const auto* row = data.runs.find(run);
  if (!row || row->entry != "script")
    return QStringLiteral(
        "Not recorded: this session holds no allocations. `vitrine run FILE` records them with a model and "
        "its inputs, unless it is given --repeats 0.");
  for (const session::MessageRow& message : data.messages)
    if (message.run == run && message.about == "memory") return vitrine::s(message.text);
  if (has_too_few(data, run))
    return QStringLiteral("Not recorded: a script is looked at in its sixth step, and this one has %1.")
        .arg(most_steps(data, run));
  return QStringLiteral(
      "Not recorded: a script is looked at in its sixth step, if a seventh follows and nothing is "
      "compiled in it.");
}
}  // namespace

MemoryView::MemoryView(Jobs* jobs, QWidget* parent)
    : View(jobs, parent),
      pages_(new QStackedWidget(this)),
      chart_(new MemoryChart),
      table_(new ItemView),
      empty_(new EmptyState) {
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(pages_);
  auto* both = new QWidget;
  halves_ = new QBoxLayout(QBoxLayout::TopToBottom, both);
  halves_->setContentsMargins(0, 0, 0, 0);
  halves_->setSpacing(0);
  halves_->addWidget(chart_, 4);
  halves_->addWidget(table_, 5);
  pages_->addWidget(both);
  pages_->addWidget(empty_);
  empty_->setBackgroundRole(QPalette::Base);
  empty_->setAutoFillBackground(true);
  table_->setMarks(&selection());
  setFocusProxy(table_);
  connect(chart_, &MemoryChart::picked, this, &MemoryView::lookAt);
  connect(table_, &ItemView::activate, this, &View::activate);
  connect(table_, &ItemView::selectAll, this, &View::selectAll);
  connect(table_, &ItemView::toggle, this, &View::toggle);
  connect(table_, &ItemView::hover, this, &View::hover);
  connect(table_, &ItemView::open, this, [this](Id id, bool other) { Q_EMIT openIn(id, {}, other); });
  connect(empty_, &EmptyState::commandRequested, this, &View::commandRequested);
}

Id MemoryView::run() const {
  if (!session()) return 0;
  if (selection().film.run) return selection().film.run;
  return session()->runs.empty() ? 0 : session()->runs[0].id;
}

QString MemoryView::subtitle() const {
  return use_ ? memory_summary(*use_) : QString();
}

int MemoryView::find(const QString& text) {
  table_->setFilter(text);
  return static_cast<int>(table_->shown().size());
}

Id MemoryView::canShow(Id id) const {
  return nearestShown(selection(), id, Toward::Derived,
                      [this](Id wanted) { return wanted && table_->items()->indexOf(wanted).isValid(); });
}

void MemoryView::sessionChanged() {
  if (!session()) return take(nullptr);
  jobs()->run<MemoryUsePtr>(
      this, QStringLiteral("memory"),
      [data = session(), id = run()](const Cancel&) { return memory_use(*data, id); },
      [this](MemoryUsePtr use) { take(std::move(use)); });
}

void MemoryView::take(MemoryUsePtr use) {
  use_ = std::move(use);
  at_ = -1;
  const bool none = !use_ || use_->empty();
  if (!session())
    empty_->set(QStringLiteral("What a call holds of memory over its time stands here."));
  else if (none)
    empty_->set(
        why_none(*session(), run()),
        session()->imported() || has_too_few(*session(), run()) ? QString() : QStringLiteral("Record again"),
        QStringLiteral("run.start"));
  pages_->setCurrentIndex(none ? 1 : 0);
  chart_->set(none ? nullptr : use_);
  if (!none) table_->setColumns(memory_columns(*session(), *use_));
  fill();
  Q_EMIT headerChanged();
}

void MemoryView::lookAt(qint64 ns) {
  at_ = ns;
  chart_->setAt(ns);
  fill();
}

// Names of lines are looked for along the links, which takes its time of a large session.
void MemoryView::fill() {
  if (!session() || !use_ || use_->empty()) return table_->setItems({});
  jobs()->run<std::vector<Item>>(
      this, QStringLiteral("memory rows"),
      [data = session(), use = use_, at = at_](const Cancel&) { return memory_items(*data, *use, at); },
      [this](std::vector<Item> items) { table_->setItems(std::move(items)); });
}

void MemoryView::selectionChanged(ChangeMask mask) {
  if ((mask & ChangeFilm) && use_ && use_->run != run()) return sessionChanged();
  if (mask & (ChangeActive | ChangeRelatives)) table_->reveal(canShow(selection().active));
  table_->viewport()->update();
}

void MemoryView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  halves_->setDirection(width() > kBeside * height() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

}  // namespace vitrine::views
