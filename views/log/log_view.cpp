#include "views/log/log_view.h"

#include <QVBoxLayout>
#include <algorithm>

#include "core/session/stages.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using kit::Cell;
using kit::Item;
using kit::Tone;

namespace {

constexpr int64_t kUnknownTime = -1;

struct LogLine {
  int64_t time_ns;
  Item item;
};

// Another tool's record mostly tells no time of a stage, and what is said of it was said at none.
int64_t timeOf(const kit::SessionData& d, int64_t ns) {
  return d.imported() && !ns ? kUnknownTime : ns;
}

size_t rankOf(const session::StageRow& row) {
  const auto& all = session::kTimedStages;
  return static_cast<size_t>(
      std::find_if(all.begin(), all.end(), [&](const auto& stage) { return stage.name == row.name; }) -
      all.begin());
}

LogLine line(int64_t time_ns, Id id, const QString& who, const QString& text, const QString& icon,
             Tone tone) {
  Item item;
  item.id = id;
  Cell what{text, {}, icon};
  what.tone = tone == Tone::Info ? Tone::None : tone;
  Cell from{who};
  from.quiet = true;
  item.cells = {{time_ns != kUnknownTime ? kit::fixed(static_cast<double>(time_ns) / 1e6, 1) : kit::unknown(),
                 static_cast<double>(time_ns)},
                from,
                what};
  return {time_ns, std::move(item)};
}

// As the strip names it.
QString stageTitle(const kit::SessionData& d, const session::StageRow& row) {
  if (const session::StageInfo* stage = session::find_timed_stage(row.name))
    return s(std::string(session::stage_title(*stage, d.isGpu(row.compilation))));
  return s(row.name);
}

}  // namespace

std::vector<Item> logItems(const kit::SessionData& d) {
  std::vector<LogLine> lines;
  for (const auto& row : d.messages) {
    const Tone tone = row.severity == "error"     ? Tone::Err
                      : row.severity == "warning" ? Tone::Warn
                                                  : Tone::Info;
    lines.push_back(line(timeOf(d, row.time_ns), row.id, s(row.origin), s(row.text),
                         tone == Tone::Err    ? "error"
                         : tone == Tone::Warn ? "warning"
                                              : "",
                         tone));
    if (!row.detail.empty()) lines.back().item.detail = "<pre>" + s(row.detail).toHtmlEscaped() + "</pre>";
  }
  // Of one time, or of none, they stand in the order of the pipeline.
  std::vector<const session::StageRow*> stages;
  for (const auto& row : d.stages) stages.push_back(&row);
  std::stable_sort(stages.begin(), stages.end(), [](const auto* a, const auto* b) {
    return std::pair(a->compilation, rankOf(*a)) < std::pair(b->compilation, rankOf(*b));
  });
  for (const session::StageRow* each : stages) {
    const session::StageRow& row = *each;
    if (row.state == "none") continue;
    QString text = stageTitle(d, row) + ": " + s(row.state);
    if (row.duration_ns > 0) text += " in " + kit::timeText(static_cast<double>(row.duration_ns));
    if (!row.note.empty()) text += ", " + s(row.note);
    lines.push_back(line(timeOf(d, row.start_ns), row.compilation, kit::compilationName(d, row.compilation),
                         text, "", row.state == "failed" ? Tone::Err : Tone::Info));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const LogLine& a, const LogLine& b) { return a.time_ns < b.time_ns; });
  std::vector<Item> out;
  for (LogLine& each : lines) out.push_back(std::move(each.item));
  return out;
}

LogView::LogView(kit::Jobs* jobs, QWidget* parent) : View(jobs, parent), table_(new kit::ItemView(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(table_);
  table_->setColumns({{"ms", 76, true}, {"from", 150}, {"message", 200, false, false, true}});
  table_->setMarks(&selection());
  setFocusProxy(table_);
  connect(table_, &kit::ItemView::activate, this, &View::activate);
  connect(table_, &kit::ItemView::hover, this, &View::hover);
}

int LogView::find(const QString& text) {
  table_->setFilter(text);
  return static_cast<int>(table_->shown().size());
}

void LogView::sessionChanged() {
  table_->setItems(session() ? logItems(*session()) : std::vector<Item>());
}

}  // namespace vitrine::views
