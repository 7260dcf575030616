// What crosses from forward to backward: saved, computed again, or there anyway.
#include <algorithm>

#include "views/kit/session/partition_price.h"
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

MeasureUnit saved_unit(const TableScope& s) {
  return bytesUnit(extent(crossings_of(s), [](const CrossingRow& row) { return row.bytes; }));
}

// What it would take to compute each again, by what else is kept.
std::vector<AgainPrice> again_prices(const TableScope& s) {
  const PartitionPrice price(s.data, s.data.forwardOf(s.compilation));
  std::vector<AgainPrice> out;
  for (const CrossingRow& row : crossings_of(s))
    out.push_back(row.bytes > 0 ? price.again(row.name) : AgainPrice{.why_not = {}});
  return out;
}

MeasureUnit again_unit(const std::vector<AgainPrice>& prices) {
  return timeUnit(extent(prices, [](const AgainPrice& price) { return std::max(0.0, price.ns); }));
}

std::vector<Column> saved_columns(const TableScope& s, const std::vector<AgainPrice>& prices) {
  return {{"tensor", 130, false, true, true},
          {"kept", 112},
          {"type", 150, false, true},
          {saved_unit(s).name, 110, true, false, false, true},
          {"again, " + again_unit(prices).name, 84, true},
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

std::vector<Item> saved_rows(const TableScope& s, const std::vector<AgainPrice>& prices) {
  std::vector<Item> out;
  const MeasureUnit unit = saved_unit(s);
  const MeasureUnit times = again_unit(prices);
  size_t at = 0;
  double most = 1;
  for (const CrossingRow& row : crossings_of(s)) most = std::max(most, static_cast<double>(row.bytes));
  for (const CrossingRow& row : crossings_of(s)) {
    const NodeRow* node = s.data.nodes.find(row.node);
    Id span = node ? node->span : 0;
    if (node && !span)  // of what it came from, the nearest expression
      for (Id id : relativesOf(s.data, node->id).origins)
        if (!span && kind_of(id) == Kind::Span) span = id;
    Cell bytes{row.bytes ? unit.format(static_cast<double>(row.bytes)) : unknown()};
    bytes.sort = static_cast<double>(row.bytes);
    if (row.bytes) bytes.bar = static_cast<double>(row.bytes) / most;
    bytes.hollow = row.kind == "recomputed";
    Cell name{q(row.name)};
    if (node && node->kind == "op") name.family = familyOf(node->family);
    Item item;
    item.id = row.node ? row.node : row.backward_node;
    item.cells = {name,
                  kept_cell(row),
                  {s.data.type(row.type)},
                  bytes,
                  again_cell(prices[at++], times),
                  {span ? s.data.place(span) : unknown()}};
    if (!row.reason.empty()) item.detail = QStringLiteral("<p>%1</p>").arg(q(row.reason).toHtmlEscaped());
    out.push_back(std::move(item));
  }
  return out;
}

QString saved_subtitle(const TableScope& s) {
  const PartitionRow* p = partition_of(s);
  if (!p) return {};
  QString out = bytesText(static_cast<double>(p->saved_bytes)) + QStringLiteral(" kept");
  if (p->eager_bytes) out += QStringLiteral(" of ") + bytesText(static_cast<double>(p->eager_bytes));
  return out + ", " + QString::number(p->recomputed) + QStringLiteral(" computed again");
}

TableContent saved_content(const TableScope& s) {
  const std::vector<AgainPrice> prices = again_prices(s);
  return {saved_columns(s, prices), saved_rows(s, prices)};
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
