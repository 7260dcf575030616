// Kernels with what each takes of the machine, and who could have computed each product. Those of equal
// layers are one row with their count and totals; they stand below it.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/analysis/counters.h"
#include "views/kit/session/alike.h"
#include "views/kit/session/roofline.h"
#include "views/kit/tables/together.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"
#include "views/tables/time_cells.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

// --- kernels ---

struct KernelUnits {
  MeasureUnit time, bytes, rate, compile, total;
  double most = 0;        // time of the dearest; 0: nothing was measured, and no column is of it
  double most_total = 0;  // over all calls
  bool roof = false;      // something is known against the machine's ceilings
  bool together = false;  // some are one row
};

// A kernel with what was measured of it. Equal ones: one or more.
struct MetKernel {
  const KernelRow* row = nullptr;
  RoofPoint point;
  double lower_ns = 0, upper_ns = 0;  // of all its launches, the middle half of the calls
  int64_t calls = 0;
};
using EqualKernels = std::vector<MetKernel>;

// Of all compilations whose rows stand in the table.
std::vector<EqualKernels> equal_kernels(const TableScope& s) {
  EqualKernels all;
  for (Id each : s.shown()) {
    std::unordered_map<Id, size_t> at;
    for (const RoofPoint& point : rooflineOf(s.data, each).points) {
      at[point.kernel] = all.size();
      all.push_back({s.data.kernels.find(point.kernel), point});
    }
    for (const LaunchRow& launch : s.data.launches.of(each)) {
      const auto found = at.find(launch.kernel);
      if (found == at.end()) continue;
      MetKernel& kernel = all[found->second];
      kernel.lower_ns += launch.lower_ns, kernel.upper_ns += launch.upper_ns;
      kernel.calls = kernel.calls ? std::min(kernel.calls, launch.calls) : launch.calls;
    }
  }
  return groupedBy(all, [&](const MetKernel& kernel) {
    return equalBy(s.data, *kernel.row)
           << QString::number(kernel.point.launches) << QString::number(static_cast<int>(kernel.point.cache));
  });
}

// As one kernel that does the work of all; of the roof it reaches what they reach in all their time.
RoofPoint point_of(const EqualKernels& kernels) {
  RoofPoint out = kernels.front().point;
  double reached = out.part * out.ns;
  bool known = out.part > 0;
  for (size_t i = 1; i < kernels.size(); ++i) {
    const RoofPoint& point = kernels[i].point;
    out.ns += point.ns, out.launches += point.launches, out.bytes += point.bytes, out.flops += point.flops;
    reached += point.part * point.ns;
    known = known && point.part > 0;
  }
  out.part = known && out.ns > 0 ? reached / out.ns : 0;
  return out;
}
// A session's integers are added as doubles, which do not overflow.
double bytes_of(const EqualKernels& kernels) {
  double out = 0;
  for (const MetKernel& kernel : kernels) out += static_cast<double>(kernel.row->bytes);
  return out;
}
double compile_ns_of(const EqualKernels& kernels) {
  double out = 0;
  for (const MetKernel& kernel : kernels) out += static_cast<double>(kernel.row->compile_ns);
  return out;
}

std::vector<const KernelRow*> kernels_of(const TableScope& s) {
  std::vector<const KernelRow*> out;
  for (Id each : s.shown())
    for (const KernelRow& row : s.data.kernels.of(each)) out.push_back(&row);
  return out;
}
// Of all calls of its compilation.
double total_of(const TableScope& s, const RoofPoint& p) {
  const KernelRow* kernel = s.data.kernels.find(p.kernel);
  const CompilationRow* of = kernel ? s.data.compilations.find(kernel->compilation) : nullptr;
  return of ? p.ns * static_cast<double>(of->calls) : 0;
}

KernelUnits units_of(const TableScope& s, const std::vector<EqualKernels>& all) {
  KernelUnits out;
  Extent times, bytes, rates, compiles, totals;
  auto add = [&](const EqualKernels& kernels) {
    const RoofPoint p = point_of(kernels);
    times.add(p.ns), rates.add(p.bandwidth()), totals.add(total_of(s, p));
    bytes.add(bytes_of(kernels)), compiles.add(compile_ns_of(kernels));
    out.roof |= p.part > 0 || p.cache != InCache::No, out.together |= kernels.size() > 1;
  };
  for (const EqualKernels& kernels : all) {
    add(kernels);
    if (kernels.size() > 1)
      for (const MetKernel& each : kernels) add({each});
  }
  out.time = timeUnit(times), out.bytes = bytesUnit(bytes), out.rate = rateUnit(rates);
  out.compile = timeUnit(compiles), out.total = timeUnit(totals);
  out.most = times.largest, out.most_total = totals.largest;
  return out;
}

bool any_spills(const TableScope& s) {
  const auto kernels = kernels_of(s);
  return std::any_of(kernels.begin(), kernels.end(), [](const KernelRow* k) { return k->spills > 0; });
}

bool any_counted(const TableScope& s) {
  const auto kernels = kernels_of(s);
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const KernelRow* k) { return !s.data.counters.of(k->id).empty(); });
}

bool any_gpu(const TableScope& s) {
  const auto shown = s.shown();
  return std::any_of(shown.begin(), shown.end(), [&](Id each) { return s.data.isGpu(each); });
}

std::vector<Column> kernel_columns(const TableScope& s, const KernelUnits& units) {
  std::vector<Column> out{{"kernel", units.together ? 92 : 64, false, true, false, false, true},
                          {"name", 170, false, true, true},
                          {"kind", 84},
                          {"space", 130, false, true, false, false, true}};
  if (!s.all.empty()) {
    out.insert(out.begin(), {"of", 120, false, true});
    if (units.most > 0)
      out.insert(out.end(), {{unit_title("all calls", units.total), 140, true, false, false, true},
                             {"calls", 56, true}});
  }
  out.push_back({"launches", 68, true});
  if (units.most > 0)
    out.insert(
        out.end(),
        {{launch_time_title(s, units.time), s.all.empty() ? 140 : 84, true, false, false, s.all.empty()},
         {half_title(s.data.launches.of(s.compilation)), 130, true, false, false, false, true}});
  out.push_back({unit_title("traffic", units.bytes), 84, true});
  if (units.most > 0) out.push_back({unit_title("rate", units.rate), 86, true});
  if (units.roof) out.push_back({"of roof", 96, true});
  if (any_gpu(s))
    out.insert(out.end(), {{"registers", 66, true},
                           {"spilled, B", 68, true},
                           {"shared, B", 68, true},
                           {"occupancy", 72, true},
                           {"limited by", 100}});
  if (any_counted(s))
    out.insert(
        out.end(),
        {{unit_title("DRAM", units.bytes), 84, true}, {"of traffic", 70, true}, {"achieved", 66, true}});
  else if (any_spills(s))
    out.push_back({"spills", 56, true});
  out.push_back({unit_title("compile", units.compile), 84, true});
  return out;
}

// What went to and from DRAM for a launch, against what the program needs; warps at work, of those that fit.
// Of equal kernels for a launch of each, and the mean of the warps.
void add_counted_cells(const TableScope& s, const EqualKernels& kernels, const MeasureUnit& unit,
                       std::vector<Cell>& cells) {
  double moved = 0, occupancy = 0;
  bool all_moved = true, all_occupied = true;
  for (const MetKernel& kernel : kernels) {
    const profiler::KernelCounters counted(s.data.counters.of(kernel.row->id));
    const auto bytes = counted.dram_bytes(), warps = counted.value("occupancy");
    moved += bytes.value_or(0), occupancy += warps.value_or(0) / static_cast<double>(kernels.size());
    all_moved &= bytes.has_value(), all_occupied &= warps.has_value();
  }
  const double needed = bytes_of(kernels);
  const double ratio = all_moved && needed > 0 ? moved / needed : 0;
  Cell dram = number(all_moved ? moved : 0, unit);
  dram.tooltip = QStringLiteral("what DRAM moved for one launch, by the GPU's own counters");
  Cell of_traffic{ratio > 0 ? ratioText(ratio) : unknown(), ratio};
  of_traffic.tooltip = QStringLiteral("DRAM moved, against the traffic that the kernel's program needs");
  cells.insert(cells.end(),
               {dram,
                of_traffic,
                {all_occupied ? percentText(occupancy / 100) : unknown(), all_occupied ? occupancy : 0}});
}

// Of all launches of the kernels together, beside their time.
Cell half_cell(const EqualKernels& kernels, double ns) {
  double lower = 0, upper = 0;
  int64_t calls = kernels.front().calls;
  for (const MetKernel& kernel : kernels) {
    lower += kernel.lower_ns, upper += kernel.upper_ns;
    calls = std::min(calls, kernel.calls);
  }
  return spread_cell(ns, lower, upper, calls);
}

// Of equal kernels one is compiled, and its object serves the others.
Cell compile_cell(const EqualKernels& kernels, const MeasureUnit& unit) {
  const KernelRow& k = *kernels.front().row;
  const double ns = compile_ns_of(kernels);
  const bool cached =
      std::all_of(kernels.begin(), kernels.end(), [](const MetKernel& each) { return each.row->cached; });
  const bool told = k.kind == "generated" && (ns > 0 || cached);
  Cell out{!told ? unknown() : cached ? QStringLiteral("cached") : unit.format(ns), ns};
  if (!k.error.empty()) {
    out.text = QStringLiteral("failed");
    out.tone = Tone::Warn;
    out.tooltip = q(k.error);
  }
  return out;
}

// Registers of a thread, spilled bytes, shared memory of a block, occupancy and what limits it.
void add_gpu_cells(const TableScope& s, const KernelRow& k, std::vector<Cell>& cells) {
  const auto found = s.data.gpu_kernels.find(k.id);
  if (found == s.data.gpu_kernels.end() || !found->second.registers) {
    cells.insert(cells.end(), 5, Cell{unknown()});
    return;
  }
  const GpuKernelRow& g = found->second;
  Cell spilled = number(g.spill_bytes);
  if (g.spill_bytes > 0) spilled.tone = Tone::Warn;
  Cell occupancy{g.occupancy > 0 ? percentText(g.occupancy) : unknown(), g.occupancy};
  cells.insert(cells.end(),
               {number(g.registers), spilled, number(g.shared_bytes), occupancy, {q(g.limited_by)}});
}

// "mm × 48"; behind it whose they are, where other equal ones have that name and space, too.
Cell name_cell(const TableScope& s, const EqualKernels& kernels, bool by_module) {
  const KernelRow& k = *kernels.front().row;
  Cell out{timesText(q(k.name), kernels.size())};
  const QString modules = modulesOf(s.data, k.id);
  if (kernels.size() > 1 && !modules.isEmpty()) {
    if (by_module) out.text += QStringLiteral(", ") + modules;
    out.tooltip = QStringLiteral("of ") + modules;
  }
  return out;
}

// Kernel, name, kind, space; of the whole run also whose it is, and what all calls took.
Item first_cells(const TableScope& s, const EqualKernels& kernels, const RoofPoint& p,
                 const KernelUnits& units, bool by_module) {
  const KernelRow& k = *kernels.front().row;
  QStringList labels;
  for (const MetKernel& kernel : kernels) labels << q(kernel.row->label);
  Cell label = firstOf(labels);
  label.family = familyOf(k.family);
  Item item{k.id, {label, name_cell(s, kernels, by_module), {q(k.kind)}, {q(k.space)}}};
  if (!s.all.empty()) {
    item.cells.insert(item.cells.begin(), Cell{compilationName(s.data, k.compilation)});
    const CompilationRow* of = s.data.compilations.find(k.compilation);
    Cell total = number(total_of(s, p), units.total);
    if (p.ns > 0 && units.most_total > 0) total.bar = total_of(s, p) / units.most_total;
    if (units.most > 0) item.cells.insert(item.cells.end(), {total, number(of ? of->calls : 0)});
  }
  item.cells.push_back(number(p.launches));
  if (units.most <= 0) return item;
  Cell time = number(p.ns, units.time);
  if (p.ns > 0 && s.all.empty()) time.bar = p.ns / units.most;
  item.cells.insert(item.cells.end(), {time, half_cell(kernels, p.ns)});
  return item;
}

struct KernelCells {
  const TableScope& s;
  const KernelUnits& units;
  bool gpu, spills, counted;

  Item row(const EqualKernels& kernels, bool by_module) const {
    const KernelRow& k = *kernels.front().row;
    const RoofPoint p = point_of(kernels);
    const Cell rate = number(p.bandwidth(), units.rate);
    Cell part{partText(p), p.part};
    if (p.part > 0) part.tooltip = QStringLiteral("of what the measured copy and product allow");
    if (p.part <= 0 && p.cache != InCache::No)
      part.tooltip = QStringLiteral("its data lie in the cache, so memory's measured copy does not bound it");
    Item item = first_cells(s, kernels, p, units, by_module);
    item.cells.push_back(number(bytes_of(kernels), units.bytes));
    if (units.most > 0) item.cells.push_back(rate);
    if (units.roof) item.cells.push_back(part);
    if (gpu) add_gpu_cells(s, k, item.cells);
    if (counted) add_counted_cells(s, kernels, units.bytes, item.cells);
    if (spills) {
      const double all = static_cast<double>(k.spills) * static_cast<double>(kernels.size());
      item.cells.push_back({QString::number(all, 'f', 0), all});
      if (k.spills > 0) item.cells.back().tone = Tone::Warn;
    }
    item.cells.push_back(compile_cell(kernels, units.compile));
    return item;
  }
};

TableContent kernel_content(const TableScope& s) {
  const std::vector<EqualKernels> all = equal_kernels(s);
  const KernelUnits units = units_of(s, all);
  TableContent out{kernel_columns(s, units), {}};
  const bool gpu = any_gpu(s);
  const KernelCells cells{s, units, gpu, !gpu && any_spills(s), any_counted(s)};
  std::map<std::pair<std::string, std::string>, int> named;  // rows of several, by name and space
  for (const EqualKernels& kernels : all)
    if (kernels.size() > 1) ++named[{kernels.front().row->name, kernels.front().row->space}];
  for (const EqualKernels& kernels : all) {
    const bool by_module = named[{kernels.front().row->name, kernels.front().row->space}] > 1;
    out.rows.push_back(
        rowTogether(kernels, [&](const EqualKernels& some) { return cells.row(some, by_module); }));
  }
  return out;
}

QString kernel_subtitle(const TableScope& s) {
  const auto rows = kernels_of(s);
  auto of = [&](const char* kind) {
    return std::count_if(rows.begin(), rows.end(), [&](const KernelRow* k) { return k->kind == kind; });
  };
  return rows.empty() ? QString()
                      : with_times(s, QStringLiteral("%1 generated, %2 library, %3 PyTorch")
                                          .arg(of("generated"))
                                          .arg(of("library"))
                                          .arg(of("opaque")));
}

// --- who computes a product ---

template <class F>
void each_choice(const TableScope& s, F f) {
  for (const KernelRow& k : s.data.kernels.of(s.compilation))
    if (const auto rows = s.data.choices.of(k.id); !rows.empty()) f(k, rows);
}

// The time that all the others are measured against: PyTorch's, or else the first one's.
double reference(std::span<const ChoiceRow> rows) {
  for (const ChoiceRow& row : rows)
    if (row.candidate == "PyTorch" && row.ns > 0) return static_cast<double>(row.ns);
  return static_cast<double>(rows.front().ns);
}

MeasureUnit choice_unit(const TableScope& s) {
  Extent times;
  each_choice(s, [&](const KernelRow&, std::span<const ChoiceRow> rows) {
    for (const ChoiceRow& row : rows) times.add(static_cast<double>(row.ns));
  });
  return timeUnit(times);
}

QString known_from(const std::string& source) {
  return source == "kept"       ? QStringLiteral("an earlier run")
         : source == "measured" ? QStringLiteral("this run")
         : source == "dictated" ? QStringLiteral("an option")
                                : q(source);
}

std::vector<Column> choice_columns(const TableScope& s) {
  return {{"who could compute it", 300, false, true, true},
          {unit_title("time", choice_unit(s)), 190, true, false, false, true},
          {"against PyTorch", 110, true},
          {"chosen", 110},
          {"known from", 120}};
}

std::vector<Item> choice_rows(const TableScope& s) {
  std::vector<Item> out;
  const MeasureUnit unit = choice_unit(s);
  each_choice(s, [&](const KernelRow& k, std::span<const ChoiceRow> rows) {
    Cell head{q(k.label + " " + k.name + (k.space.empty() ? "" : "  " + k.space))};
    head.family = familyOf(k.family);
    Item item{k.id, {head}, {}, {}, true, true};
    const double against = reference(rows), most = largest(rows, [](const ChoiceRow& row) { return row.ns; });
    for (const ChoiceRow& row : rows) {
      const auto ns = static_cast<double>(row.ns);
      Cell time = number(ns, unit);
      if (most > 0 && ns > 0) time.bar = ns / most;
      time.hollow = !row.chosen;
      Cell chosen{row.chosen ? QStringLiteral("chosen") : QString()};
      if (row.chosen) chosen.icon = "check", chosen.tone = Tone::Ok;
      item.children.push_back({k.id,
                               {{q(row.candidate)},
                                time,
                                {ns > 0 && against > 0 ? ratioText(against / ns) : unknown(), against / ns},
                                chosen,
                                {known_from(row.source)}}});
    }
    out.push_back(std::move(item));
  });
  return out;
}

QString choice_why(const TableScope& scope) {
  return scope.data.imported() ? QStringLiteral("what was imported tells of none")
                               : QStringLiteral("no product of this compilation was timed against others");
}

QString choice_subtitle(const TableScope& s) {
  int products = 0, own = 0;
  each_choice(s, [&](const KernelRow&, std::span<const ChoiceRow> rows) {
    ++products;
    own += std::any_of(rows.begin(), rows.end(),
                       [](const ChoiceRow& row) { return row.chosen && row.candidate != "PyTorch"; });
  });
  return products
             ? QStringLiteral("%1, %2 by a kernel of our own").arg(countText(products, "product")).arg(own)
             : QString();
}

size_t kernel_count(const SessionData& data, Id compilation) {
  return data.kernels.of(compilation).size();
}

}  // namespace

const TableSpec kKernelsTable{.id = "kernels",
                              .title = "Kernels",
                              .columns = nullptr,
                              .rows = nullptr,
                              .subtitle = kernel_subtitle,
                              .empty = "No kernels: this compilation launches none.",
                              .sort = 5,
                              .stage = "kernels",
                              .count = kernel_count,
                              .whole_run = true,
                              .in_range = true,
                              .content = kernel_content};
const TableSpec kChoicesTable{.id = "choices",
                              .title = "Choices",
                              .columns = choice_columns,
                              .rows = choice_rows,
                              .subtitle = choice_subtitle,
                              .empty = "No choices: no product of this compilation was timed against others.",
                              .why = choice_why};

}  // namespace vitrine::views
