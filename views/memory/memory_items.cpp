#include "views/memory/memory_items.h"

#include <algorithm>

#include "views/kit/session/alike.h"
#include "views/kit/session/sources.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

constexpr int kBufferColumn = 2;
constexpr int64_t kAlignment = 512;  // to which PyTorch's allocator rounds what it is asked for
constexpr size_t kMostRows = 60;     // of a side; the others are one row

struct MemoryUnits {
  const SessionData& data;
  MeasureUnit bytes, time;
  bool buffers = false;  // some block is one of the plan's; else that column is not there
  double most = 1;
};

bool any_buffer(const SessionData& data, const MemoryUse& use) {
  for (const MemorySide* side : {&use.compiled, &use.eager})
    for (const AllocationRow& block : side->blocks)
      if (data.buffers.find(block.entity)) return true;
  return false;
}

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

// A block with what it is of. Those of equal layers: one or more.
struct HeldBlock {
  const AllocationRow* row = nullptr;
  const NodeRow* node = nullptr;
  bool arena = false;  // in which temporaries have their places
};
using EqualBlocks = std::vector<HeldBlock>;

QString name_of(const HeldBlock& block) {
  return block.node              ? s(block.node->name)
         : block.arena           ? QStringLiteral("temporaries")
         : block.row->op.empty() ? QStringLiteral("of no operator")
                                 : s(block.row->op);
}

double bytes_of(const EqualBlocks& equal) {
  return static_cast<double>(equal.front().row->bytes) * static_cast<double>(equal.size());
}

// Bytes of each compilation's arena: a call allocates it in one piece, which is of no launch.
std::vector<int64_t> arenas(const SessionData& data) {
  std::vector<int64_t> out;
  for (const CompilationRow& compilation : data.compilations) {
    int64_t end = 0;
    for (const BufferRow& buffer : data.buffers.of(compilation.id))
      if (buffer.offset >= 0) end = std::max(end, buffer.offset + buffer.bytes);
    if (end) out.push_back(end);
  }
  return out;
}

// The largest together first.
std::vector<EqualBlocks> equal_blocks(const SessionData& data,
                                      const std::vector<const AllocationRow*>& held) {
  EqualBlocks all;
  const std::vector<int64_t> known = arenas(data);
  for (const AllocationRow* row : held) {
    const bool arena = row->side == "compiled" && !row->entity &&
                       std::any_of(known.begin(), known.end(), [&](int64_t bytes) {
                         return row->bytes >= bytes && row->bytes < bytes + kAlignment;
                       });
    all.push_back({row, node_of(data, *row), arena});
  }
  std::vector<EqualBlocks> out = groupedBy(all, [](const HeldBlock& block) {
    if (!block.node) return QStringList{QString::number(block.row->ordinal)};  // equal to what, nobody knows
    return QStringList{unnumbered(name_of(block)), QString::number(block.row->bytes), s(block.node->type),
                       anyLayer(s(block.node->module)), QString::number(block.node->span)};
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const EqualBlocks& a, const EqualBlocks& b) { return bytes_of(a) > bytes_of(b); });
  return out;
}

Cell until_cell(const MemoryUnits& units, int64_t freed_ns) {
  Cell out{freed_ns < 0 ? QStringLiteral("held") : units.time.format(static_cast<double>(freed_ns))};
  out.sort = static_cast<double>(freed_ns < 0 ? INT64_MAX : freed_ns);
  return out;
}

// Of several: from when the first of them is held until the last is free.
Item row_of(const MemoryUnits& units, const EqualBlocks& equal) {
  const HeldBlock& first = equal.front();
  QStringList buffers, makers;
  int64_t from = first.row->start_ns, until = first.row->freed_ns;
  for (const HeldBlock& block : equal) {
    if (const BufferRow* buffer = units.data.buffers.find(block.row->entity)) buffers << s(buffer->name);
    if (!block.row->op.empty()) makers << s(block.row->op);
    from = std::min(from, block.row->start_ns);
    until = until < 0 || block.row->freed_ns < 0 ? -1 : std::max(until, block.row->freed_ns);
  }
  const QString words = name_of(first);
  const Id span = first.node && first.node->span
                      ? first.node->span
                      : spanNear(units.data, first.node ? first.node->id : first.row->entity);
  Cell name{equal.size() > 1 ? timesText(unnumbered(words), equal.size()) : words};
  name.mono = true;
  if (first.node) name.family = familyOf(first.node->family);
  makers.removeDuplicates();
  Item out;
  out.id = first.row->entity;
  out.cells = {name,
               bytes_cell(units, bytes_of(equal)),
               firstOf(makers),
               {span ? units.data.label(span) : unknown()},
               {units.time.format(static_cast<double>(from)), static_cast<double>(from)},
               until_cell(units, until)};
  if (units.buffers) out.cells.insert(out.cells.begin() + kBufferColumn, firstOf(buffers));
  return out;
}

Item heading_of(const MemoryUnits& units, const MemorySide& side, const QString& who, int64_t at) {
  const int64_t when = at < 0 ? side.peak_ns : at;
  const std::vector<EqualBlocks> held = equal_blocks(units.data, side.blocks_at(when));
  Item out;
  out.heading = out.open = true;
  if (!side.recorded) {
    out.cells = {{who}, {}, {QStringLiteral("not recorded")}};
    if (units.buffers) out.cells.insert(out.cells.begin() + kBufferColumn, Cell{});
    return out;
  }
  const double bytes = side.held_at(when);
  out.cells = {{who}, bytes_cell(units, bytes), {at < 0 ? QStringLiteral("at its peak") : QString()}, {}};
  out.cells.push_back({units.time.format(static_cast<double>(when))});
  if (units.buffers) out.cells.insert(out.cells.begin() + kBufferColumn, Cell{});
  double others = 0;
  for (size_t i = 0; i < held.size(); ++i)
    if (i < kMostRows)
      out.children.push_back(
          rowTogether(held[i], [&](const EqualBlocks& some) { return row_of(units, some); }));
    else
      others += bytes_of(held[i]);
  if (held.size() > kMostRows)
    out.children.push_back(
        {0, {{QStringLiteral("%1 smaller ones").arg(held.size() - kMostRows)}, bytes_cell(units, others)}});
  return out;
}

}  // namespace

std::vector<Column> memory_columns(const SessionData& data, const MemoryUse& use) {
  const MeasureUnit time = timeUnit(static_cast<double>(use.end_ns()));
  std::vector<Column> out{
      {"held", 160, false, false, true}, {bytesUnit(use.most()).name, 96, true, false, false, true},
      {"made by", 150, false, true},     {"line", 190, false, true},
      {"from, " + time.name, 76, true},  {"until, " + time.name, 76, true}};
  if (any_buffer(data, use)) out.insert(out.begin() + kBufferColumn, {"buffer", 64, false, true});
  return out;
}

std::vector<Item> memory_items(const SessionData& data, const MemoryUse& use, int64_t at) {
  const MemoryUnits units{data, bytesUnit(use.most()), timeUnit(static_cast<double>(use.end_ns())),
                          any_buffer(data, use), std::max(1.0, use.most())};
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
