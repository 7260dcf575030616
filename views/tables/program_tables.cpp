// Launches, buffers, and what became of each eager operator.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/session/launches.h"
#include "core/session/sized_memory.h"
#include "views/kit/session/alike.h"
#include "views/kit/session/became.h"
#include "views/kit/session/eager_points.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"
#include "views/tables/time_cells.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// --- launch plan ---

MeasureUnit launch_bytes_unit(const TableScope& s) {
  return bytesUnit(extent(s.data.launches.of(s.compilation),
                          [&](const LaunchRow& l) { return bytes_moved(l, s.data.kernels.find(l.kernel)); }));
}
MeasureUnit launch_time_unit(const TableScope& s) {
  return timeUnit(extent(s.data.launches.of(s.compilation), [](const LaunchRow& l) { return l.median_ns; }));
}

// A script's launches are seldom timed, another tool's are not weighed.
struct LaunchFacts {
  bool times = false, bytes = false;
};

LaunchFacts launch_facts(const TableScope& s) {
  LaunchFacts out;
  for (const LaunchRow& l : s.data.launches.of(s.compilation)) {
    out.times |= l.median_ns > 0;
    out.bytes |= bytes_moved(l, s.data.kernels.find(l.kernel)) > 0;
  }
  return out;
}

std::vector<Column> launch_columns(const TableScope& s) {
  std::vector<Column> out{{"#", 40, true},
                          {"launch", 220, false, true, true},
                          {"kind", 80},
                          {"arguments", 260, false, true, true}};
  const LaunchFacts known = launch_facts(s);
  if (known.bytes) out.push_back({unit_title("traffic", launch_bytes_unit(s)), 90, true});
  if (!known.times) return out;
  out.push_back({launch_time_title(s, launch_time_unit(s)), 84, true});
  out.push_back({half_title(s.data.launches.of(s.compilation)), 130, true, false, false, false, true});
  return out;
}

std::vector<Item> launch_rows(const TableScope& s) {
  std::vector<Item> out;
  const MeasureUnit bytes_unit = launch_bytes_unit(s), time_unit = launch_time_unit(s);
  const auto plan = s.data.launches.of(s.compilation);
  const LaunchFacts known = launch_facts(s);
  for (const LaunchRow& l : plan) {
    const KernelRow* kernel = s.data.kernels.find(l.kernel);
    Cell text{q(l.text)};
    if (kernel) text.family = familyOf(kernel->family);
    Cell args{q(l.args)};
    args.quiet = true;
    const Cell bytes = number(static_cast<double>(bytes_moved(l, kernel)), bytes_unit),
               time = number(l.median_ns, time_unit);
    Cell place{launches_something(l) ? QString::number(launch_number(plan, l.ordinal)) : QString()};
    place.sort = static_cast<double>(l.ordinal);
    const Cell half = spread_cell(kernel ? l.median_ns : 0, l.lower_ns, l.upper_ns, l.calls);
    Item item{l.id, {place, text, {q(l.kind)}, args}, {}, {}, false, false};
    if (known.bytes) item.cells.push_back(bytes);
    if (known.times) item.cells.insert(item.cells.end(), {time, half});
    out.push_back(std::move(item));
  }
  return out;
}

QString launch_subtitle(const TableScope& s) {
  qint64 launched = 0, views = 0;
  for (const LaunchRow& row : s.data.launches.of(s.compilation)) (row.kind == "view" ? views : launched) += 1;
  if (launched + views == 0) return {};
  return with_times(s, QString::number(launched) + (views ? ", " + countText(views, "view") : QString()));
}

// --- memory plan ---

using EqualBuffers = std::vector<const BufferRow*>;

// Inputs of equal layers by their names, what operators make by those and their modules.
QStringList equal_by(const TableScope& s, const BufferRow& b) {
  QStringList out{q(b.kind), q(b.type), QString::number(b.bytes), QString::number(b.offset >= 0)};
  const NodeRow* node = s.data.nodes.find(b.node);
  const bool made = node && node->kind == "op";
  return out << (made ? q(node->op) : unnumbered(q(b.name)))
             << (made ? anyLayer(q(node->module)) : QString::number(b.node && !node));
}

std::vector<EqualBuffers> equal_buffers(const TableScope& s) {
  EqualBuffers all;
  for (const BufferRow& b : s.data.buffers.of(s.compilation)) all.push_back(&b);
  return groupedBy(all, [&](const BufferRow* b) { return equal_by(s, *b); });
}

MeasureUnit buffer_unit(const std::vector<EqualBuffers>& all) {
  Extent bytes;
  for (const EqualBuffers& equal : all) {
    double all = 0;
    for (const BufferRow* each : equal) {
      bytes.add(static_cast<double>(each->bytes));
      all += static_cast<double>(each->bytes);
    }
    bytes.add(all);
  }
  return bytesUnit(bytes);
}

// PyTorch places most temporaries of a GPU, and few things are written over others: then names have the room.
struct Placed {
  bool offsets = false, reuses = false;
};

Placed placed(const TableScope& s) {
  Placed out;
  for (const BufferRow& b : s.data.buffers.of(s.compilation))
    out.offsets |= b.offset >= 0, out.reuses |= s.data.buffers.find(b.reuses) != nullptr;
  // What is planned for any size has both columns.
  if (!s.data.sized_buffers.of(s.compilation).empty()) out = {true, true};
  return out;
}

// What no launch reads or writes has neither a first nor a last.
Cell launch_cell(std::span<const LaunchRow> plan, int64_t step) {
  return step < 0 ? Cell{unknown(), -1.0} : number(launch_number(plan, step));
}

// The last sizes for which the program of expressions gave a plan.
const InstanceRow* last_instance(const TableScope& s) {
  const InstanceRow* out = nullptr;
  for (const InstanceRow& row : s.data.instances.of(s.compilation))
    if (!row.buffer_bytes.empty()) out = &row;
  return s.data.sized_buffers.of(s.compilation).empty() ? nullptr : out;
}

std::vector<int64_t> last_bytes(const TableScope& s) {
  const InstanceRow* last = last_instance(s);
  return last ? session::buffer_bytes(*last) : std::vector<int64_t>();
}
MeasureUnit last_unit(const TableScope& s) {
  return bytesUnit(extent(last_bytes(s), [](int64_t bytes) { return bytes; }));
}

std::vector<Column> memory_columns(const TableScope& s, const MeasureUnit& unit, const Placed& known) {
  std::vector<Column> out{{"buffer", 190, false, true, true}, {"kind", 90},
                          {"type", 200, false, true, true},   {unit_title("size", unit), 90, true},
                          {"first launch", 90, true},         {"last launch", 90, true}};
  if (known.offsets) out.push_back({"offset, B", 100, true});
  if (known.reuses) out.push_back({"reuses", 90, false, true});
  if (const InstanceRow* last = last_instance(s))
    out.push_back({unit_title(("at " + last->sizes).c_str(), last_unit(s)), 130, true});
  return out;
}

// The memory of the program from which plans for new sizes are made: sizes are expressions, in bytes, and
// what the last sizes that were met gave has a column of its own.
Item sized_item(const TableScope& s, const MeasureUnit& unit) {
  Item heading{0, {{QStringLiteral("for any size")}}, {}, {}, true, true};
  const auto plan = s.data.launches.of(s.compilation);
  const std::vector<int64_t> bytes = last_bytes(s);
  const MeasureUnit now_unit = last_unit(s);
  for (const SizedBufferRow& b : s.data.sized_buffers.of(s.compilation)) {
    const auto at = static_cast<size_t>(b.ordinal);
    const bool view = b.kind == "view", changes = b.size.find('s') != std::string::npos;
    const double value = at < bytes.size() ? static_cast<double>(bytes[at]) : 0;
    const Cell size = view || !changes ? number(value, unit) : Cell{q(b.size) + " B", value};
    const Cell now = changes && !view && value > 0 ? number(value, now_unit) : Cell();
    const Cell place{b.place.empty() ? unknown() : q(b.place)};
    Item item{0,
              {{q(b.name)},
               {q(b.kind)},
               {q(b.type)},
               size,
               launch_cell(plan, b.first),
               launch_cell(plan, b.last),
               place,
               {},
               now},
              {},
              {},
              false,
              false};
    heading.children.push_back(std::move(item));
  }
  return heading;
}

Cell buffer_name(const TableScope& s, const EqualBuffers& equal) {
  QStringList names;
  for (const BufferRow* each : equal) names << q(each->name);
  const NodeRow* node = s.data.nodes.find(equal.front()->node);
  Cell out = firstOf(names);
  if (equal.size() == 1) return out;
  if (!node || node->kind != "op")
    out.text = timesText(unnumbered(names.front()), equal.size());
  else if (!node->module.empty())
    out.text += QStringLiteral(", ") + anyLayer(q(node->module));
  return out;
}

// Equal ones with the bytes of all, from the first that is live to the last.
Item memory_row(const TableScope& s, const EqualBuffers& equal, const MeasureUnit& unit,
                const Placed& known) {
  const auto plan = s.data.launches.of(s.compilation);
  const BufferRow& b = *equal.front();
  double bytes = 0;
  int64_t first = b.first, last = b.last;
  for (const BufferRow* each : equal) {
    bytes += static_cast<double>(each->bytes);
    if (each->first >= 0) first = first < 0 ? each->first : std::min(first, each->first);
    last = std::max(last, each->last);
  }
  Item out{b.id,
           {buffer_name(s, equal),
            {q(b.kind)},
            {s.data.type(b.type)},
            b.kind == "view" ? Cell{unknown(), 0.0} : number(bytes, unit),
            launch_cell(plan, first),
            launch_cell(plan, last)},
           {},
           {},
           false,
           false};
  const bool one = equal.size() == 1;
  const BufferRow* reused = one ? s.data.buffers.find(b.reuses) : nullptr;
  const bool offset = one && b.offset >= 0;
  if (known.offsets)
    out.cells.push_back({offset ? QString::number(b.offset) : unknown(), static_cast<double>(b.offset)});
  if (known.reuses) out.cells.push_back({reused ? q(reused->name) : QString()});
  return out;
}

TableContent memory_content(const TableScope& s) {
  const std::vector<EqualBuffers> all = equal_buffers(s);
  const MeasureUnit unit = buffer_unit(all);
  const Placed known = placed(s);
  TableContent out{memory_columns(s, unit, known), {}};
  for (const EqualBuffers& equal : all)
    out.rows.push_back(
        rowTogether(equal, [&](const EqualBuffers& some) { return memory_row(s, some, unit, known); }));
  if (Item any = sized_item(s, unit); !any.children.empty()) out.rows.push_back(std::move(any));
  return out;
}

// Most temporaries of a GPU have no place in the arena: what they take at once was counted with the plan.
QString memory_subtitle(const TableScope& s) {
  int64_t temporary = 0, most = 0;
  for (const BufferRow& b : s.data.buffers.of(s.compilation))
    if (b.kind == "temporary") temporary += b.bytes;
  for (const StageRow& stage : s.data.stages.of(s.compilation))
    if (stage.name == "memory") most = std::max(most, stage.count);
  if (!temporary) return {};
  const QString all = bytesText(static_cast<double>(temporary)) + QStringLiteral(" of temporaries");
  return most ? all + QStringLiteral(" take up to ") + bytesText(static_cast<double>(most)) : all;
}

// --- what became what: ATen nodes by the launch that runs them ---

// What eager took for the operators, where both sides of a model's call were profiled: a script's calls are
// no pairs.
std::unordered_map<Id, double> eager_side(const TableScope& s) {
  const RunRow* run = s.data.runs.find(s.data.runOf(s.compilation));
  return run && run->eager_ns > 0 && run->compiled_ns > 0 ? eager_times(s.data, run->id)
                                                          : std::unordered_map<Id, double>();
}

using EqualGroups = std::vector<BecameGroup>;

// What the operators took in eager, and by how much the launches are shorter.
void add_eager(const EqualGroups& equal, const std::unordered_map<Id, double>& eager, double ns,
               const MeasureUnit& unit, Item& item) {
  double was = 0;
  for (const BecameGroup& group : equal)
    for (Id id : group.nodes)
      if (const auto time = eager.find(id); time != eager.end()) was += time->second;
  const double gain = ns - was;
  Cell cell{was > 0 ? signedText(unit.format(std::abs(gain)), gain) : unknown(), gain};
  cell.tone = was <= 0 ? Tone::None : gain < 0 ? Tone::Ok : Tone::Warn;
  item.cells.push_back(number(was, unit));
  item.cells.push_back(cell);
}

QString operators_of(const TableScope& s, const BecameGroup& group) {
  QStringList names;
  for (Id id : group.nodes) names << s.data.label(id);
  return names.join(QStringLiteral(", "));
}

// Without their numbers: of all equal layers the same.
QString kinds_of(const TableScope& s, const BecameGroup& group) {
  QStringList names;
  for (Id id : group.nodes)
    if (const NodeRow* node = s.data.nodes.find(id)) names << operatorName(*node);
  return names.join(QStringLiteral(", "));
}

// Of equal layers: the same operators became equal kernels.
QStringList equal_by(const TableScope& s, const BecameGroup& group) {
  QStringList out{kinds_of(s, group)};
  for (Id id : group.launches) {
    const LaunchRow* l = s.data.launches.find(id);
    const KernelRow* kernel = l ? s.data.kernels.find(l->kernel) : nullptr;
    if (kernel)
      out << equalBy(s.data, *kernel);
    else
      out << (l ? unnumbered(q(l->text)) : QString());
  }
  return out;
}

struct BecameRows {
  const TableScope& s;
  const std::unordered_map<Id, double>& eager;
  MeasureUnit unit;
  bool timed = launch_facts(s).times;

  double time_of(Id launch) const {
    const LaunchRow* l = s.data.launches.find(launch);
    return l ? l->median_ns : 0;
  }
  Item launch_item(Id id, const Cell& operators, const Cell& count, double ns) const {
    const LaunchRow* l = s.data.launches.find(id);
    const KernelRow* kernel = l ? s.data.kernels.find(l->kernel) : nullptr;
    Cell text{l ? q(l->text) : QString()};
    if (kernel) text.family = familyOf(kernel->family);
    Item item{id, {text, operators, count}, {}, {}, false, false};
    if (timed) item.cells.push_back(number(ns, unit));
    return item;
  }
  // One row a group: what the waterfall of the speed-up adds up, too. The launches of a group stand below it.
  Item row(const EqualGroups& equal) const {
    const BecameGroup& group = equal.front();
    double ns = 0;
    int64_t operators = 0;
    size_t launches = 0;
    for (const BecameGroup& each : equal) {
      for (Id id : each.launches) ns += time_of(id);
      operators += static_cast<int64_t>(each.nodes.size()), launches += each.launches.size();
    }
    const QString names = operators_of(s, group);
    Item item = launch_item(group.launches.front(),
                            {equal.size() > 1 ? timesText(kinds_of(s, group), equal.size()) : names},
                            number(operators), ns);
    if (!eager.empty()) add_eager(equal, eager, ns, unit, item);
    if (launches > 1) item.cells[0].text += QStringLiteral(" +%1").arg(launches - 1);
    if (equal.size() == 1 && launches > 1)
      for (Id id : group.launches) item.children.push_back(launch_item(id, {}, {}, time_of(id)));
    return item;
  }
};

std::vector<EqualGroups> equal_groups(const TableScope& s) {
  return groupedBy(Became::of(s.data, {s.compilation}).groups(),
                   [&](const BecameGroup& group) { return equal_by(s, group); });
}

MeasureUnit became_unit(const TableScope& s, const std::vector<EqualGroups>& all) {
  const std::unordered_map<Id, double> none;
  const BecameRows rows{s, none, launch_time_unit(s)};
  Extent times;
  for (const EqualGroups& equal : all) {
    double ns = 0;
    for (const BecameGroup& group : equal)
      for (Id id : group.launches) ns += rows.time_of(id), times.add(rows.time_of(id));
    times.add(ns);
  }
  return timeUnit(times);
}

TableContent became_content(const TableScope& s) {
  const auto eager = eager_side(s);
  const std::vector<EqualGroups> all = equal_groups(s);
  const BecameRows rows{s, eager, became_unit(s, all)};
  TableContent out{{{"launch", 200, false, true},
                    {"operators of the ATen graph", 320, false, true, true},
                    {"operators", 72, true}},
                   {}};
  if (rows.timed) out.columns.push_back({launch_time_title(s, rows.unit), 84, true});
  if (!eager.empty())
    out.columns.insert(out.columns.end(), {{unit_title("eager", rows.unit), 84, true},
                                           {unit_title("gain", rows.unit), 84, true}});
  for (const EqualGroups& equal : all)
    out.rows.push_back(rowTogether(equal, [&](const EqualGroups& some) { return rows.row(some); }));
  return out;
}

QString became_subtitle(const TableScope& s) {
  return with_times(s, {});
}

size_t launch_count(const SessionData& data, Id compilation) {
  return data.launches.of(compilation).size();
}

size_t buffer_count(const SessionData& data, Id compilation) {
  return data.buffers.of(compilation).size();
}

}  // namespace

const TableSpec kLaunchesTable{.id = "launches",
                               .title = "Launch plan",
                               .columns = launch_columns,
                               .rows = launch_rows,
                               .subtitle = launch_subtitle,
                               .empty = "No launch plan: this compilation has none.",
                               .sort = 0,
                               .order = Qt::AscendingOrder,
                               .stage = "launch",
                               .count = launch_count,
                               .in_range = true};
const TableSpec kMemoryTable{.id = "memory",
                             .title = "Memory",
                             .columns = nullptr,
                             .rows = nullptr,
                             .subtitle = memory_subtitle,
                             .empty = "No memory plan: this compilation has none.",
                             .sort = 3,
                             .stage = "memory",
                             .count = buffer_count,
                             .in_range = true,
                             .content = memory_content};
const TableSpec kBecameTable{.id = "became",
                             .title = "What became what",
                             .columns = nullptr,
                             .rows = nullptr,
                             .subtitle = became_subtitle,
                             .empty = "No launches: this compilation has none.",
                             .sort = 3,
                             .stage = "launch",
                             .count = launch_count,
                             .in_range = true,
                             .content = became_content};

}  // namespace vitrine::views
