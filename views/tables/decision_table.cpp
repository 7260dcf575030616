// Fusion decisions: what may be one kernel and is, or is not, and why. Those that say the same of the same
// operators, as each of twelve equal layers does, are one row with their count; they stand below it.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "profiler/analysis/fusion_price.h"
#include "views/kit/selection/link_letters.h"
#include "views/kit/session/alike.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;
using namespace session;
using namespace profiler;

namespace {

// Those that are alike, in the order of decision: one or more.
using Alike = std::vector<const DecisionRow*>;

// What stands in columns of its own is not said again.
QString bare_reason(const std::string& reason) {
  return q(reason).section(QStringLiteral(", saves "), 0, 0);
}

// The line of the first expression that the pair's second half came from.
QString source_of(const SessionData& d, Id node) {
  const Id span = nearestSpan(d, node);
  return span ? d.place(span) : unknown();
}

QString work_of(const SessionData& d, Id id) {
  const NodeRow* node = d.nodes.find(id);
  return node ? q(node->op.empty() ? node->name : node->op) + ' ' + q(node->type) : QString();
}

std::vector<Alike> alike_of(const TableScope& s) {
  Alike all;
  for (const DecisionRow& row : s.data.decisions.of(s.compilation)) all.push_back(&row);
  return groupedBy(all, [&](const DecisionRow* row) {
    return QStringList{q(row->verdict),
                       q(row->kind),
                       unnumbered(bare_reason(row->reason)),
                       work_of(s.data, row->a),
                       work_of(s.data, row->b),
                       source_of(s.data, row->b),
                       QString::number(row->bytes_saved),
                       QString::number(row->launches_saved)};
  });
}

struct DecisionSum {
  int64_t bytes = 0, launches = 0;
  double est_ns = 0;
};
FusionRates rates_of(const TableScope& s) {
  const auto launches = s.data.launches.of(s.compilation);
  return fusion_rates(s.data.ceilings, {launches.begin(), launches.end()});
}
DecisionSum sum_of(const Alike& rows, const FusionRates& rates) {
  DecisionSum out;
  for (const DecisionRow* row : rows) {
    out.bytes += row->bytes_saved;
    out.launches += row->launches_saved;
    out.est_ns += estimated_ns(*row, rates);
  }
  return out;
}

// What the columns of numbers share.
struct ColumnScale {
  MeasureUnit bytes, time;
  double most = 0;
  bool estimates = false;
  FusionRates rates;
};
ColumnScale scale_of(const std::vector<Alike>& all, const FusionRates& rates) {
  Extent bytes, times;
  for (const Alike& rows : all) {
    bytes.add(static_cast<double>(rows[0]->bytes_saved));
    bytes.add(static_cast<double>(sum_of(rows, rates).bytes));
    times.add(estimated_ns(*rows[0], rates));
    times.add(sum_of(rows, rates).est_ns);
  }
  // Estimates: three digits of the largest are more than is known.
  return {bytesUnit(bytes), timeUnit(Extent(times.largest)), bytes.largest, times.largest > 0, rates};
}

std::vector<Column> decision_columns(const TableScope& s) {
  const ColumnScale scale = scale_of(alike_of(s), rates_of(s));
  std::vector<Column> out{{"#", 52, true},
                          {"pair", 150, false, true, true},
                          {"kind", 80},
                          {"verdict", 92, false, false, false, false, true},
                          {"reason", 220, false, false, true},
                          {"kernel", 60, false, true},
                          {"source", 70, false, true},
                          {unit_title("traffic saved", scale.bytes), 180, true, false, false, true},
                          {"launches", 66, true}};
  if (scale.estimates) out.push_back({unit_title("time, est.", scale.time), 92, true});
  return out;
}

// "K5 +3": the first of four.
Cell kernels_of(const SessionData& d, const Alike& rows) {
  QStringList labels;
  for (const DecisionRow* row : rows)
    if (const KernelRow* kernel = d.kernels.find(row->kernel); kernel && !labels.contains(q(kernel->label)))
      labels << q(kernel->label);
  return firstOf(labels);
}

// Of one or more.
Item decision_row(const TableScope& s, const Alike& rows, const ColumnScale& scale) {
  const DecisionRow& first = *rows[0];
  const DecisionSum sum = sum_of(rows, scale.rates);
  const bool fused = first.verdict == "fused", many = rows.size() > 1;
  Cell verdict{fused ? QStringLiteral("fused") : QStringLiteral("not fused")};
  verdict.icon = fused ? "check" : "minus";
  verdict.tone = fused ? Tone::Ok : Tone::None;
  Cell saved = number(static_cast<double>(sum.bytes), scale.bytes);
  saved.bar = scale.most > 0 ? static_cast<double>(sum.bytes) / scale.most : 0;
  saved.hollow = !fused;
  const QString pair = s.data.label(first.id), reason = bare_reason(first.reason);
  Item item;
  item.id = first.id;
  item.cells = {number(first.ordinal + 1),
                {many ? timesText(unnumbered(pair), rows.size()) : pair},
                {q(first.kind)},
                verdict,
                {many ? unnumbered(reason) : reason},
                kernels_of(s.data, rows),
                {source_of(s.data, first.b)},
                saved,
                number(sum.launches)};
  if (scale.estimates)
    item.cells.push_back(
        {sum.est_ns != 0 ? signedText(scale.time.format(std::abs(sum.est_ns)), sum.est_ns) : unknown(),
         sum.est_ns});
  const QString change = q(what_would_change(first));
  if (!change.isEmpty()) {
    item.cells[4].tooltip = QStringLiteral("Would change it: %1").arg(change);
    if (!many) item.detail = item.cells[4].tooltip.toHtmlEscaped() + '.';
  }
  return item;
}

Item decision_item(const TableScope& s, const Alike& rows, const ColumnScale& scale) {
  return rowTogether(rows, [&](const Alike& some) { return decision_row(s, some, scale); });
}

std::vector<Item> decision_rows(const TableScope& s) {
  const std::vector<Alike> all = alike_of(s);
  const ColumnScale scale = scale_of(all, rates_of(s));
  std::vector<Item> out;
  for (const Alike& rows : all) out.push_back(decision_item(s, rows, scale));
  return out;
}

QString decision_subtitle(const TableScope& s) {
  auto rows = s.data.decisions.of(s.compilation);
  size_t fused = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const DecisionRow& d) { return d.verdict == "fused"; }));
  return rows.empty() ? QString() : QStringLiteral("%1 considered, %2 fused").arg(rows.size()).arg(fused);
}

// What stands apart, dearest first: pairs alike are one row.
struct Missed {
  std::vector<Alike> rows;
  FusionRates rates;
};
Missed missed_of(const TableScope& s) {
  Missed out{alike_of(s), rates_of(s)};
  std::erase_if(out.rows, [](const Alike& rows) { return rows[0]->verdict == "fused"; });
  auto price = [&](const Alike& rows) {
    const DecisionSum sum = sum_of(rows, out.rates);
    return std::tuple(-sum.est_ns, sum.bytes, sum.launches);
  };
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [&](const Alike& a, const Alike& b) { return price(a) > price(b); });
  return out;
}

std::vector<Column> missed_columns(const ColumnScale& scale) {
  std::vector<Column> out{{"#", 52, true},
                          {"pair", 150, false, true, true},
                          {"why not", 160, false, false, true},
                          {"would change it", 260, false, false, true},
                          {"source", 70, false, true},
                          {unit_title("traffic", scale.bytes), 110, true, false, false, true},
                          {"launches", 66, true}};
  if (scale.estimates) out.push_back({unit_title("would save, est.", scale.time), 128, true});
  return out;
}

Item missed_row(const TableScope& s, const Alike& rows, const ColumnScale& scale, int64_t rank) {
  const Item known = decision_row(s, rows, scale);
  const DecisionSum sum = sum_of(rows, scale.rates);
  const QString change = q(what_would_change(*rows[0]));
  Item item;
  item.id = known.id;
  Cell why = known.cells[4];
  why.tooltip.clear();
  Cell saved = known.cells[7];
  saved.hollow = false;
  Cell would{change.isEmpty() ? unknown() : change};
  would.tooltip = change;
  item.cells = {number(rank), known.cells[1], why, would, known.cells[6], saved, known.cells[8]};
  if (scale.estimates)
    item.cells.push_back(
        {sum.est_ns != 0 ? scale.time.format(std::abs(sum.est_ns)) : unknown(), -sum.est_ns});
  // Longer than its column mostly: in place it is read whole.
  if (!change.isEmpty()) item.detail = QStringLiteral("<p>%1.</p>").arg(change.toHtmlEscaped());
  return item;
}

TableContent missed_content(const TableScope& s) {
  const Missed missed = missed_of(s);
  const ColumnScale scale = scale_of(missed.rows, missed.rates);
  TableContent out{missed_columns(scale), {}};
  for (const Alike& rows : missed.rows) {
    const auto rank = static_cast<int64_t>(out.rows.size()) + 1;
    out.rows.push_back(
        rowTogether(rows, [&](const Alike& some) { return missed_row(s, some, scale, rank); }));
  }
  return out;
}

size_t missed_count(const SessionData& data, Id compilation) {
  auto rows = data.decisions.of(compilation);
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const DecisionRow& d) { return d.verdict != "fused"; }));
}

QString missed_subtitle(const TableScope& s) {
  DecisionSum sum;
  for (const FusionRates rates = rates_of(s); const DecisionRow& row : s.data.decisions.of(s.compilation))
    if (row.verdict != "fused") {
      const DecisionSum one = sum_of({&row}, rates);
      sum.bytes += one.bytes, sum.launches += one.launches, sum.est_ns += one.est_ns;
    }
  const size_t count = missed_count(s.data, s.compilation);
  if (!count) return {};
  QString out = QStringLiteral("%1 pairs, %2").arg(count).arg(bytesText(sum.bytes));
  if (sum.est_ns < 0) out += QStringLiteral(", %1 est.").arg(timeText(-sum.est_ns));
  return out;
}

size_t decision_count(const SessionData& data, Id compilation) {
  return data.decisions.of(compilation).size();
}

}  // namespace

const TableSpec kDecisionsTable{.id = "decisions",
                                .title = "Fusion decisions",
                                .columns = decision_columns,
                                .rows = decision_rows,
                                .subtitle = decision_subtitle,
                                .empty = "No fusion decisions: no pair was considered in this compilation.",
                                .sort = 7,
                                .stage = "fused",
                                .split = 3,
                                .count = decision_count,
                                .in_range = true};

const TableSpec kMissedTable{
    .id = "missed",
    .title = "Missed fusions",
    .columns = nullptr,
    .rows = nullptr,
    .subtitle = missed_subtitle,
    .empty = "No missed fusions: every pair that was considered in this compilation is one kernel.",
    .sort = 0,
    .order = Qt::AscendingOrder,
    .stage = "fused",
    .count = missed_count,
    .in_range = true,
    .content = missed_content};

}  // namespace vitrine::views
