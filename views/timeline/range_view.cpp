#include "views/timeline/range_view.h"

#include <QPainter>
#include <algorithm>

#include "views/kit/painting/paint.h"
#include "views/kit/session/range_work.h"
#include "views/kit/session/run_times.h"
#include "views/kit/text/copied.h"
#include "views/kit/text/numbers.h"

namespace vitrine::views {

using namespace kit;

namespace {
constexpr int kTitle = 190, kColumn = 100;

using TotalsMember = double RangeSide::*;
// One unit for both sides; what is not known of a side is "–".
RangeView::Row row_of(const char* title, const RangeTotals& totals, TotalsMember value,
                      MeasureUnit (*unit_of)(Extent), bool zero) {
  const bool idle = value == &RangeSide::idle_ns || value == &RangeSide::longest_gap_ns;
  Extent both;
  for (const RangeSide* side : {&totals.eager, &totals.compiled}) both.add(side->*value);
  const MeasureUnit unit = unit_of(both);
  auto text = [&](const RangeSide& side) {
    return !side.known || (idle && !side.all_kept) || (!zero && side.*value <= 0) ? unknown()
                                                                                  : unit.format(side.*value);
  };
  return {QString::fromLatin1(title) + ", " + unit.name, text(totals.eager), text(totals.compiled)};
}
}  // namespace

RangeView::RangeView(Jobs* jobs, QWidget* parent) : View(jobs, parent) {}

Id RangeView::run() const {
  if (!session()) return 0;
  if (selection().film.run) return selection().film.run;
  return session()->runs.empty() ? 0 : session()->runs[0].id;
}

QString RangeView::subtitle() const {
  if (!timeline_ || timeline_->empty()) return {};
  const QString doubt = shortDoubt(*session(), run(), session::TimesOf::ShownCall);
  const QString before = doubt.isEmpty() ? doubt : doubt + "; ";
  const QString basis = QString::fromStdString(timeline_->times.basis("compiled"));
  QString of = basis.isEmpty() ? basis : "; compiled: " + basis;
  const QString kept = keptCalls(*session(), run());
  if (timeline_->script && !kept.isEmpty()) of += "; " + kept;
  if (whole()) return before + QStringLiteral("all of the time; a drag on the ruler selects a part") + of;
  const TimeRange& range = selection().range;
  return before + rangeText(range.from_ns, range.to_ns) + of;
}

void RangeView::sessionChanged() {
  timeline_.reset();
  update();
  if (!session() || !session()->texts) return;
  jobs()->run<TimelinePtr>(
      this, QStringLiteral("range"),
      [data = session(), id = run()](const Cancel&) { return load_timeline(*data, id); },
      [this](TimelinePtr loaded) {
        timeline_ = std::move(loaded);
        Q_EMIT headerChanged();
        update();
      });
}

void RangeView::selectionChanged(ChangeMask mask) {
  if ((mask & ChangeFilm) && timeline_ && timeline_->run != run()) return sessionChanged();
  Q_EMIT headerChanged();
  update();
}

std::vector<RangeView::Row> RangeView::rows() const {
  if (!timeline_ || timeline_->empty()) return {};
  const RangeTotals totals = totals_of(*session(), *timeline_, selection().range);
  auto counted = [](const RangeSide& side) { return side.known ? QString::number(side.slices) : unknown(); };
  std::vector<Row> out{row_of("busy", totals, &RangeSide::busy_ns, timeUnit, true),
                       row_of("idle", totals, &RangeSide::idle_ns, timeUnit, true),
                       row_of("longest gap", totals, &RangeSide::longest_gap_ns, timeUnit, true),
                       {"operators, launches", counted(totals.eager), counted(totals.compiled)}};
  const double bytes = std::max(totals.eager.bytes, totals.compiled.bytes);
  if (bytes > 0) out.push_back(row_of("traffic", totals, &RangeSide::bytes, bytesUnit, false));
  auto rate = [](const RangeSide& side) {
    return side.flops > 0 && side.busy_ns > 0 ? flopsText(side.flops, side.busy_ns) : unknown();
  };
  if (totals.eager.flops + totals.compiled.flops > 0)
    out.push_back({"rate while busy", rate(totals.eager), rate(totals.compiled)});
  return out;
}

QString RangeView::copy(CopyAs as) const {
  const bool csv = as == CopyAs::Csv;
  QStringList lines{kit::separated({"", "eager", "compiled"}, csv)};
  for (const Row& row : rows()) lines << kit::separated({row.title, row.eager, row.compiled}, csv);
  return lines.join('\n');
}

void RangeView::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter p(this);
  p.fillRect(rect(), t.bg1);
  const std::vector<Row> all = rows();
  if (all.empty())
    return paintEmpty(p, rect(),
                      session() ? QStringLiteral("No range: this run has no timeline.")
                                : QStringLiteral("The totals of a selected piece of time stand here."));
  int y = t.px(4);
  auto line = [&](const Row& row, bool head) {
    const QRect title(t.padding(), y, t.px(kTitle), t.row());
    drawText(p, title, row.title, t.ui(head ? 11 : 12), t.text2);
    const QFont font = head ? t.ui(11) : t.mono(12);
    drawText(p, QRect(title.right(), y, t.px(kColumn), t.row()), row.eager, font, head ? t.text2 : t.text1,
             Qt::AlignRight);
    drawText(p, QRect(title.right() + t.px(kColumn + 12), y, t.px(kColumn), t.row()), row.compiled, font,
             head ? t.text2 : t.text1, Qt::AlignRight);
    y += t.row();
  };
  line({QString(), "eager", "compiled"}, true);
  for (const Row& row : all) line(row, false);
}

}  // namespace vitrine::views
