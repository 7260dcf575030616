// What crosses from forward to backward: saved, computed again, or there anyway. What each of equal layers
// keeps is one row with its count; they stand below it.
#include <algorithm>

#include "views/kit/session/alike.h"
#include "views/kit/session/partition_price.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

const PartitionRow* partition_of(const TableScope& s) {
  const auto rows = s.data.partitions.of(s.data.forwardOf(s.compilation));
  return rows.empty() ? nullptr : &rows.front();
}
std::span<const CrossingRow> crossings_of(const TableScope& s) {
  return s.data.crossings.of(s.data.forwardOf(s.compilation));
}

// What crosses, with what it would take to compute it again, by what else is kept. Equal ones: one or more.
struct MetCrossing {
  const CrossingRow* row = nullptr;
  AgainPrice again;
  Id span = 0;
};
using EqualCrossings = std::vector<MetCrossing>;

// Of what it came from, the nearest expression.
Id span_of(const TableScope& s, const CrossingRow& row) {
  const NodeRow* node = s.data.nodes.find(row.node);
  if (!node || node->span) return node ? node->span : 0;
  for (Id id : relativesOf(s.data, node->id).origins)
    if (kind_of(id) == Kind::Span) return id;
  return 0;
}

std::vector<EqualCrossings> equal_crossings(const TableScope& s) {
  const PartitionPrice price(s.data, s.data.forwardOf(s.compilation));
  EqualCrossings all;
  for (const CrossingRow& row : crossings_of(s))
    all.push_back({&row, row.bytes > 0 ? price.again(row.name) : AgainPrice{.why_not = {}}, span_of(s, row)});
  return groupedBy(all, [&](const MetCrossing& each) {
    const CrossingRow& row = *each.row;
    const NodeRow* node = s.data.nodes.find(row.node);
    return QStringList{q(row.kind),
                       unnumbered(q(row.name)),
                       q(row.type),
                       QString::number(row.bytes),
                       unnumbered(q(row.reason)),
                       QString::number(each.span),
                       node ? q(node->kind) + anyLayer(q(node->module)) : QString(),
                       each.again.ns >= 0 ? QString() : each.again.why_not};
  });
}

// A session's integers are added as doubles, which do not overflow.
double bytes_of(const EqualCrossings& equal) {
  double out = 0;
  for (const MetCrossing& each : equal) out += static_cast<double>(each.row->bytes);
  return out;
}
// Of each by itself, added up.
AgainPrice again_of(const EqualCrossings& equal) {
  AgainPrice out = equal.front().again;
  for (size_t i = 1; i < equal.size() && out.ns >= 0; ++i) {
    const AgainPrice& again = equal[i].again;
    out.ns += again.ns, out.bytes_read += again.bytes_read;
    out.operators += again.operators, out.library_calls += again.library_calls;
  }
  return out;
}

struct CrossingUnits {
  MeasureUnit bytes, time;
  double most = 1;
};
CrossingUnits crossing_units(const std::vector<EqualCrossings>& all) {
  Extent bytes, times;
  for (const EqualCrossings& equal : all) {
    bytes.add(bytes_of(equal));
    times.add(std::max(0.0, again_of(equal).ns));
    for (const MetCrossing& each : equal) {
      bytes.add(static_cast<double>(each.row->bytes));
      times.add(std::max(0.0, each.again.ns));
    }
  }
  return {bytesUnit(bytes), timeUnit(times), std::max(1.0, bytes.largest)};
}

std::vector<Column> saved_columns(const CrossingUnits& units) {
  return {{"tensor", 130, false, true, true},
          {"kept", 112, false, false, false, false, true},
          {"type", 150, false, true},
          {units.bytes.name, 110, true, false, false, true},
          {"again, " + units.time.name, 84, true},
          {"line", 60, false, true}};
}

// Estimated, and said so.
Cell again_cell(const AgainPrice& price, const MeasureUnit& unit) {
  Cell out{price.ns >= 0 ? unit.format(price.ns) : unknown()};
  out.sort = price.ns;
  out.tooltip =
      price.ns >= 0
          ? QStringLiteral("estimated: %1 to compute it again, of them %2; %3 to read; %4")
                .arg(countText(price.operators, "operator"), countText(price.library_calls, "library call"),
                     bytesText(price.bytes_read), timeText(price.ns))
          : price.why_not;
  return out;
}

Cell kept_cell(const CrossingRow& row) {
  Cell cell{q(row.kind)};
  cell.icon = row.kind == "saved" ? "tick" : row.kind == "recomputed" ? "refresh" : "";
  cell.tone = row.kind == "saved" ? Tone::Ok : row.kind == "recomputed" ? Tone::Info : Tone::None;
  cell.quiet = row.kind != "saved" && row.kind != "recomputed";
  return cell;
}

Item saved_row(const TableScope& s, const EqualCrossings& equal, const CrossingUnits& units) {
  const CrossingRow& row = *equal.front().row;
  const NodeRow* node = s.data.nodes.find(row.node);
  const double size = bytes_of(equal);
  const Id span = equal.front().span;
  const bool many = equal.size() > 1;
  Cell bytes{size > 0 ? units.bytes.format(size) : unknown(), size};
  if (size > 0) bytes.bar = size / units.most;
  bytes.hollow = row.kind == "recomputed";
  Cell name{many ? timesText(unnumbered(q(row.name)), equal.size()) : q(row.name)};
  if (node && node->kind == "op") name.family = familyOf(node->family);
  if (many && node && !node->module.empty()) name.tooltip = "of " + anyLayer(q(node->module));
  Item item;
  item.id = row.node ? row.node : row.backward_node;
  item.cells = {name,
                kept_cell(row),
                {s.data.type(row.type)},
                bytes,
                again_cell(again_of(equal), units.time),
                {span ? s.data.place(span) : unknown()}};
  if (!many && !row.reason.empty())
    item.detail = QStringLiteral("<p>%1</p>").arg(q(row.reason).toHtmlEscaped());
  return item;
}

QString saved_subtitle(const TableScope& s) {
  const PartitionRow* p = partition_of(s);
  if (!p) return {};
  QString out = bytesText(static_cast<double>(p->saved_bytes)) + QStringLiteral(" kept");
  if (p->eager_bytes) out += QStringLiteral(" of ") + bytesText(static_cast<double>(p->eager_bytes));
  out += ", " + QString::number(p->recomputed) + QStringLiteral(" computed again");
  const auto crossings = s.data.crossings.of(s.data.forwardOf(s.compilation));
  const auto views = std::count_if(crossings.begin(), crossings.end(), [](const CrossingRow& row) {
    return row.kind == "recomputed" && row.reason.starts_with("a view");
  });
  return views ? out + QStringLiteral(" besides ") + countText(views, "view") : out;
}

TableContent saved_content(const TableScope& s) {
  const std::vector<EqualCrossings> all = equal_crossings(s);
  const CrossingUnits units = crossing_units(all);
  TableContent out{saved_columns(units), {}};
  for (const EqualCrossings& equal : all)
    out.rows.push_back(
        rowTogether(equal, [&](const EqualCrossings& some) { return saved_row(s, some, units); }));
  return out;
}

}  // namespace

const TableSpec kSavedTable{
    .id = "saved",
    .title = "Saved tensors",
    .columns = nullptr,
    .rows = nullptr,
    .subtitle = saved_subtitle,
    .empty = "Nothing is saved for backward: this graph was not divided into forward and backward.",
    .sort = 3,
    .stage = "joint",
    .content = saved_content};

}  // namespace vitrine::views
