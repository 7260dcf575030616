// The run as a whole: what compiling took, down to stage, pass and kernel; what guards, launches and memory
// come to over all compilations and all calls. The other tables are of one compilation.
#include <algorithm>
#include <functional>

#include "core/session/launches.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
#include "views/tables/compile_time.h"
#include "views/tables/tables.h"
#include "views/tables/time_cells.h"

namespace vitrine::views {

using namespace kit;
using namespace session;

namespace {

Id run_of(const TableScope& s) {
  const Id own = s.compilation ? s.data.runOf(s.compilation) : 0;
  return own ? own : s.run;
}

void each_compilation(const TableScope& s, const std::function<void(const CompilationRow&)>& f) {
  for (const FrameRow& frame : s.data.frames.of(run_of(s)))
    for (const SegmentRow& segment : s.data.segments.of(frame.id))
      for (const CompilationRow& row : s.data.compilations.of(segment.id)) f(row);
}

QString of_calls(int64_t calls) {
  return countText(calls, "call");
}

// Of another tool's record nobody knows how often it was called.
QString launches_of(const TableScope& s, int64_t launches) {
  return s.data.imported() ? unknown() : countText(launches, "launch", "launches");
}

// A row, without the part of the whole that it takes: set_parts() knows it once all are there.
Item row(Id id, const QString& name, const char* icon, const QString& count, double ns,
         const QString& note = {}) {
  Cell what{name};
  what.icon = QString::fromLatin1(icon);
  Cell time{ns > 0 ? timeText(ns) : unknown(), ns};
  return {id, {what, {count}, time, Cell{QString()}, {note}}};
}

// Bars and percentages of a section: of its own whole, at every depth.
void set_parts(Item& section, double whole) {
  Cell& time = section.cells[2];
  const double ns = time.sort.toDouble();
  if (whole > 0 && ns > 0) {
    time.bar = std::min(1.0, ns / whole);
    section.cells[3] = {percentText(ns / whole), ns};
  }
  for (Item& child : section.children) set_parts(child, whole);
}

double time_of(const Item& item) {
  return item.cells[2].sort.toDouble();
}

// What ran side by side has no part of the whole: together it took more.
Item item_of(const CompilePart& part) {
  const bool beside = part.work > 0;
  Item out = row(part.id, part.name, part.icon, part.count, beside ? part.work : part.ns, part.note);
  if (beside && part.note.isEmpty()) out.cells.back().text = QStringLiteral("of work");
  for (const CompilePart& below : part.parts) out.children.push_back(item_of(below));
  out.open = part.open;
  return out;
}

void set_parts(const CompilePart& part, Item& item, double whole) {
  if (part.work > 0) return;
  Cell& time = item.cells[2];
  if (whole > 0 && part.ns > 0) {
    time.bar = std::min(1.0, part.ns / whole);
    item.cells[3] = {percentText(part.ns / whole), part.ns};
  }
  for (size_t i = 0; i < part.parts.size(); ++i) set_parts(part.parts[i], item.children[i], whole);
}

Item compiling(const TableScope& s) {
  const CompilePart all = compile_time(s);
  Item out = item_of(all);
  set_parts(all, out, all.ns);
  return out;
}

// A section with one row a compilation that has something to say.
template <class F>
Item section_of(const TableScope& s, F each) {
  Item out;
  each_compilation(s, [&](const CompilationRow& c) {
    if (Item item = each(c); !item.cells.empty()) out.children.push_back(std::move(item));
  });
  return out;
}

double sum_of(const Item& section) {
  double ns = 0;
  for (const Item& child : section.children) ns += time_of(child);
  return ns;
}

Item guards(const TableScope& s) {
  int64_t all = 0, failed = 0;
  Item out = section_of(s, [&](const CompilationRow& c) -> Item {
    const auto rows = s.data.guards.of(c.id);
    if (rows.empty()) return {};
    double a_call = 0, ns = 0;
    int64_t fails = 0;
    for (const GuardRow& guard : rows) {
      a_call += guard.cost_ns;
      ns += guard.cost_ns * static_cast<double>(guard.checks);
      fails += guard.fails;
    }
    all += static_cast<int64_t>(rows.size()), failed += fails;
    QString note = a_call > 0 ? timeText(a_call) + QStringLiteral(" a call") : QString();
    if (fails) note += (note.isEmpty() ? "" : ", ") + countText(fails, "failure");
    return row(c.id, compilationName(s.data, c.id), "guard",
               countText(static_cast<int64_t>(rows.size()), "guard"), ns, note);
  });
  const double ns = sum_of(out);
  out.cells = row(0, QStringLiteral("Checking guards"), "", countText(all, "guard"), ns,
                  failed ? countText(failed, "failure") : QString())
                  .cells;
  set_parts(out, ns);
  return out;
}

// Kernels of a compilation over all its calls, the dearest first.
std::vector<Item> kernels_of(const TableScope& s, const CompilationRow& c) {
  std::vector<Item> out;
  for (const KernelRow& kernel : s.data.kernels.of(c.id)) {
    double ns = 0;
    int64_t launches = 0;
    for (const LaunchRow& launch : s.data.launches.of(c.id))
      if (launch.kernel == kernel.id) ns += launch.median_ns, ++launches;
    if (!launches) continue;
    Item item =
        row(kernel.id, s.data.label(kernel.id), "kernel", launches_of(s, launches * c.calls),
            ns * static_cast<double>(c.calls), ns > 0 ? timeText(ns) + QStringLiteral(" a call") : "");
    item.cells[0].family = familyOf(kernel.family);
    out.push_back(std::move(item));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Item& a, const Item& b) { return time_of(a) > time_of(b); });
  return out;
}

Item launches(const TableScope& s) {
  int64_t all = 0, kernels = 0;
  Item out = section_of(s, [&](const CompilationRow& c) -> Item {
    const auto rows = s.data.launches.of(c.id);
    const int64_t a_call = launches_in(rows);
    if (!a_call) return {};
    double ns = 0;
    for (const LaunchRow& launch : rows) ns += launch.median_ns;
    all += a_call * c.calls, kernels += static_cast<int64_t>(s.data.kernels.of(c.id).size());
    Item item = row(
        c.id, compilationName(s.data, c.id), "launch", launches_of(s, a_call * c.calls),
        ns * static_cast<double>(c.calls),
        QStringLiteral("%1 a call").arg(a_call) + (s.data.imported() ? QString() : ", " + of_calls(c.calls)));
    item.children = kernels_of(s, c);
    return item;
  });
  const double ns = sum_of(out);
  out.cells = row(0, QStringLiteral("Launches"), "", launches_of(s, all), ns,
                  !kernels ? QString()
                           : countText(kernels, "kernel") + (ns > 0 ? QStringLiteral("; medians, times calls")
                                                                    : QStringLiteral(", not timed")))
                  .cells;
  set_parts(out, ns);
  return out;
}

Item memory(const TableScope& s) {
  double most = 0;
  Item out = section_of(s, [&](const CompilationRow& c) -> Item {
    const auto bytes = static_cast<double>(std::max<int64_t>(0, s.data.countOf(c.id, "memory")));
    double saved = 0;
    for (const PartitionRow& part : s.data.partitions.of(c.id))
      saved += static_cast<double>(part.saved_bytes);
    if (bytes + saved <= 0) return {};
    most = std::max(most, bytes);
    return row(c.id, compilationName(s.data, c.id), "memory", bytes > 0 ? bytesText(bytes) : unknown(), 0,
               saved > 0 ? bytesText(saved) + QStringLiteral(" kept for backward") : QString());
  });
  out.cells = row(0, QStringLiteral("Memory of temporaries"), "", bytesText(most), 0,
                  QStringLiteral("the most of one compilation"))
                  .cells;
  return out;
}

std::vector<Column> totals_columns(const TableScope&) {
  return {{"of the whole run", 260, false, false, true},
          {"how many", 130, true},
          {"time", 170, true, false, false, true},
          {"part", 64, true},
          {"", 300}};
}

std::vector<Item> totals_rows(const TableScope& s) {
  std::vector<Item> out;
  for (auto* make : {compiling, guards, launches, memory}) {
    Item section = make(s);
    if (section.children.empty()) continue;
    section.heading = true;
    section.open = out.empty();
    out.push_back(std::move(section));
  }
  return out;
}

QString totals_subtitle(const TableScope& s) {
  int64_t compilations = 0, calls = 0;
  double ns = 0;
  each_compilation(s, [&](const CompilationRow& c) {
    ++compilations, calls += c.calls;
    ns += static_cast<double>(c.duration_ns);
  });
  if (!compilations) return {};
  const QString compiled =
      QStringLiteral("%1 in %2").arg(countText(compilations, "compilation"), timeText(ns));
  return s.data.imported() ? compiled
                           : compiled + QStringLiteral(", %1 of what is compiled").arg(of_calls(calls));
}

}  // namespace

const TableSpec kTotalsTable{.id = "totals",
                             .title = "Totals",
                             .columns = totals_columns,
                             .rows = totals_rows,
                             .subtitle = totals_subtitle,
                             .empty = "No totals: nothing was compiled."};

}  // namespace vitrine::views
