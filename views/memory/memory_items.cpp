#include "views/memory/memory_items.h"

#include <algorithm>

#include "views/kit/session/sources.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

constexpr size_t kMostRows = 60;  // of a side; the others are one row

struct MemoryUnits {
  const SessionData& data;
  MeasureUnit bytes, time;
  double most = 1;
};

Cell bytes_cell(const MemoryUnits& units, double bytes) {
  Cell out{units.bytes.format(bytes)};
  out.sort = bytes, out.bar = bytes / units.most;
  return out;
}

// The node whose value it is: the buffer's; of a launch that one of its kernel's which is as large.
const NodeRow* node_of(const SessionData& data, const AllocationRow& row) {
  if (const BufferRow* buffer = data.buffers.find(row.entity)) return data.nodes.find(buffer->node);
  const LaunchRow* launch = data.launches.find(row.entity);
  if (!launch) return data.nodes.find(row.entity);
  for (const Id id : data.links.origins(launch->kernel ? launch->kernel : launch->id))
    if (const NodeRow* node = data.nodes.find(id); node && node->kind == "op" && node->bytes == row.bytes)
      return node;
  return nullptr;
}

Item row_of(const MemoryUnits& units, const AllocationRow& row) {
  const NodeRow* node = node_of(units.data, row);
  const BufferRow* buffer = units.data.buffers.find(row.entity);
  const Id span = spanNear(units.data, node ? node->id : row.entity);
  Cell name{node ? s(node->name) : row.op.empty() ? QStringLiteral("of no operator") : s(row.op)};
  name.mono = true;
  if (node) name.family = familyOf(node->family);
  Item out;
  out.id = row.entity;
  out.cells = {
      name,
      bytes_cell(units, static_cast<double>(row.bytes)),
      {buffer ? s(buffer->name) : unknown()},
      {row.op.empty() ? unknown() : s(row.op)},
      {span ? units.data.label(span) : unknown()},
      {units.time.format(static_cast<double>(row.start_ns))},
      {row.freed_ns < 0 ? QStringLiteral("held") : units.time.format(static_cast<double>(row.freed_ns))}};
  out.cells[5].sort = static_cast<double>(row.start_ns);
  out.cells[6].sort = static_cast<double>(row.freed_ns < 0 ? INT64_MAX : row.freed_ns);
  return out;
}

Item heading_of(const MemoryUnits& units, const MemorySide& side, const QString& who, int64_t at) {
  const int64_t when = at < 0 ? side.peak_ns : at;
  const auto held = side.blocks_at(when);
  Item out;
  out.heading = out.open = true;
  if (!side.recorded) {
    out.cells = {{who}, {}, {}, {QStringLiteral("not recorded")}};
    return out;
  }
  const double bytes = side.held_at(when);
  out.cells = {{who}, bytes_cell(units, bytes), {}, {at < 0 ? QStringLiteral("at its peak") : QString()}, {}};
  out.cells.push_back({units.time.format(static_cast<double>(when))});
  double others = 0;
  for (size_t i = 0; i < held.size(); ++i)
    if (i < kMostRows)
      out.children.push_back(row_of(units, *held[i]));
    else
      others += static_cast<double>(held[i]->bytes);
  if (held.size() > kMostRows)
    out.children.push_back(
        {0, {{QStringLiteral("%1 smaller ones").arg(held.size() - kMostRows)}, bytes_cell(units, others)}});
  return out;
}

}  // namespace

std::vector<Column> memory_columns(const MemoryUse& use) {
  const MeasureUnit time = timeUnit(static_cast<double>(use.end_ns()));
  return {{"held", 160, false, false, true}, {bytesUnit(use.most()).name, 96, true, false, false, true},
          {"buffer", 64, false, true},       {"made by", 150, false, true},
          {"line", 190, false, true},        {"from, " + time.name, 76, true},
          {"until, " + time.name, 76, true}};
}

std::vector<Item> memory_items(const SessionData& data, const MemoryUse& use, int64_t at) {
  const MemoryUnits units{data, bytesUnit(use.most()), timeUnit(static_cast<double>(use.end_ns())),
                          std::max(1.0, use.most())};
  return {heading_of(units, use.compiled, QStringLiteral("Compiled"), at),
          heading_of(units, use.eager, QStringLiteral("Eager"), at)};
}

QString memory_summary(const MemoryUse& use) {
  if (use.empty()) return {};
  auto side = [](const MemorySide& s) { return s.recorded ? bytesText(s.peak) : unknown(); };
  QString out =
      QStringLiteral("compiled %1, eager %2 at their peaks").arg(side(use.compiled), side(use.eager));
  if (use.eager.peak > 0 && use.compiled.recorded)
    out += QStringLiteral(" (%1)").arg(ratioText(use.compiled.peak / use.eager.peak));
  return out + QStringLiteral("; what a call takes itself, weights and inputs apart");
}

}  // namespace vitrine::views
