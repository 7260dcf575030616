// The run as a whole: what compiling took, down to stage, pass and kernel; what guards, launches and memory
// come to over all compilations and all calls. The other tables are of one compilation.
#include <algorithm>
#include <functional>

#include "core/session/launches.h"
#include "core/session/stages.h"
#include "views/kit/text/numbers.h"
#include "views/tables/cells.h"
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

// "12 compiled", "all 12 from the cache", "3 compiled, 9 from the cache".
struct Warmth {
  int64_t compiled = 0, cached = 0;
  void add(const SessionData& data, Id compilation) {
    for (const KernelRow& kernel : data.kernels.of(compilation)) {
      if (kernel.kind != "generated") continue;
      ++(kernel.cached ? cached : compiled);
    }
  }
  QString text() const {
    if (!cached)
      return compiled ? QStringLiteral("cold: %1 compiled").arg(countText(compiled, "kernel")) : QString();
    if (!compiled) return QStringLiteral("warm: %1 from the cache").arg(countText(cached, "kernel"));
    return QStringLiteral("%1 compiled, %2 from the cache").arg(countText(compiled, "kernel")).arg(cached);
  }
};

// Passes of one stage, or what the kernel compiler did of it.
std::vector<Item> within(const TableScope& s, const CompilationRow& c, const StageRow& stage) {
  std::vector<Item> out;
  for (const GraphRow& graph : s.data.graphs.of(c.id))
    if (graph.stage == stage.name && !graph.pass.empty() && graph.duration_ns > 0)
      out.push_back(
          row(graph.id, q(graph.pass), "", {}, static_cast<double>(graph.duration_ns), q(graph.sentence)));
  // The kernel compiler's time stands at its machine code, of older sessions at the texts.
  const StageRow* machine = s.data.stage(c.id, "assembly");
  if (stage.name != (machine && machine->duration_ns > 0 ? "assembly" : "kernels")) return out;
  for (const KernelRow& kernel : s.data.kernels.of(c.id)) {
    if (kernel.kind != "generated") continue;
    out.push_back(row(kernel.id, s.data.label(kernel.id), "kernel", {},
                      kernel.cached ? 0 : static_cast<double>(kernel.compile_ns),
                      kernel.cached ? QStringLiteral("from the cache") : q(kernel.error)));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Item& a, const Item& b) { return time_of(a) > time_of(b); });
  return out;
}

QString title_of(const SessionData& data, const CompilationRow& c, const StageRow& stage) {
  for (const StageInfo& info : kStages)
    if (info.name == stage.name) {
      const std::string_view title = stage_title(info, data.isGpu(c.id));
      return QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size()));
    }
  return q(stage.name);
}

QString count_of(const StageRow& stage) {
  if (stage.count <= 0) return {};
  return stage.name == "memory" ? bytesText(static_cast<double>(stage.count)) : QString::number(stage.count);
}

// Stages run beside each other: the kernel compiler works while others are planned. What none of them covers
// is the row at the end.
std::vector<Item> stages_of(const TableScope& s, const CompilationRow& c) {
  std::vector<Item> out;
  std::vector<std::pair<int64_t, int64_t>> covered;
  for (const StageRow& stage : s.data.stages.of(c.id)) {
    if (stage.duration_ns <= 0) continue;
    covered.emplace_back(stage.start_ns, stage.start_ns + stage.duration_ns);
    Item item = row(0, title_of(s.data, c, stage), "", count_of(stage),
                    static_cast<double>(stage.duration_ns), q(stage.note));
    item.children = within(s, c, stage);
    out.push_back(std::move(item));
  }
  std::sort(covered.begin(), covered.end());
  int64_t rest = c.duration_ns, end = 0;
  for (const auto& [from, to] : covered) {
    rest -= std::max<int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  if (!out.empty() && rest > 0)
    out.push_back(row(0, QStringLiteral("between the stages"), "", {}, static_cast<double>(rest),
                      QStringLiteral("guards, choices and recording")));
  return out;
}

Item compiling(const TableScope& s) {
  Item out = row(0, QStringLiteral("Compiling"), "", {}, 0);
  Warmth all;
  double ns = 0;
  int64_t count = 0;
  for (const FrameRow& frame : s.data.frames.of(run_of(s))) {
    Item of_frame = row(frame.id, s.data.label(frame.id), "function", {}, 0);
    Warmth warmth;
    double sum = 0;
    for (const SegmentRow& segment : s.data.segments.of(frame.id))
      for (const CompilationRow& c : s.data.compilations.of(segment.id)) {
        Warmth own;
        own.add(s.data, c.id), warmth.add(s.data, c.id), all.add(s.data, c.id);
        Item item =
            row(c.id, q(c.label), "graph", of_calls(c.calls), static_cast<double>(c.duration_ns), own.text());
        item.children = stages_of(s, c);
        sum += static_cast<double>(c.duration_ns);
        of_frame.children.push_back(std::move(item));
      }
    if (of_frame.children.empty()) continue;
    const auto made = static_cast<int64_t>(of_frame.children.size());
    Item named =
        row(frame.id, of_frame.cells[0].text, "function", countText(made, "compilation"), sum, warmth.text());
    named.children = std::move(of_frame.children);
    named.open = made < 8;
    ns += sum, count += made;
    out.children.push_back(std::move(named));
  }
  out.cells = row(0, QStringLiteral("Compiling"), "", countText(count, "compilation"), ns, all.text()).cells;
  out.id = run_of(s);
  set_parts(out, ns);
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
        row(kernel.id, s.data.label(kernel.id), "kernel", countText(launches * c.calls, "launch", "launches"),
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
    Item item = row(c.id, compilationName(s.data, c.id), "launch",
                    countText(a_call * c.calls, "launch", "launches"), ns * static_cast<double>(c.calls),
                    QStringLiteral("%1 a call, %2").arg(a_call).arg(of_calls(c.calls)));
    item.children = kernels_of(s, c);
    return item;
  });
  const double ns = sum_of(out);
  out.cells =
      row(0, QStringLiteral("Launches"), "", countText(all, "launch", "launches"), ns,
          kernels ? countText(kernels, "kernel") + QStringLiteral("; medians, times calls") : QString())
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
  return QStringLiteral("%1 in %2, %3 of what is compiled")
      .arg(countText(compilations, "compilation"), timeText(ns), of_calls(calls));
}

}  // namespace

const TableSpec kTotalsTable{.id = "totals",
                             .title = "Totals",
                             .columns = totals_columns,
                             .rows = totals_rows,
                             .subtitle = totals_subtitle,
                             .empty = "No totals: nothing was compiled."};

}  // namespace vitrine::views
