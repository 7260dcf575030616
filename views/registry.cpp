#include "views/registry.h"

#include "views/capture/bytecode_view.h"
#include "views/capture/stack_view.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector_view.h"
#include "views/kernel/kernel_view.h"
#include "views/log/log_view.h"
#include "views/memory/memory_view.h"
#include "views/numerics/numerics_view.h"
#include "views/problems/problems_view.h"
#include "views/query/query_view.h"
#include "views/roofline/roofline_view.h"
#include "views/runs/runs_view.h"
#include "views/skeleton/skeleton_view.h"
#include "views/source/source_view.h"
#include "views/tables/saved_view.h"
#include "views/tables/tables.h"
#include "views/timeline/range_view.h"
#include "views/timeline/speedup_view.h"
#include "views/timeline/timeline_view.h"

namespace vitrine::views {

using kit::ViewInfo;
using kit::ViewPlace;

namespace {

template <class V>
kit::View* make(kit::Jobs* jobs, QWidget* parent) {
  return new V(jobs, parent);
}

// id, title, icon, first place, stages it shows in a pane, factory
constexpr ViewInfo kViews[] = {
    {"graph", "Graph", "graph", ViewPlace::Pane,
     "captured aten joint forward backward decomposed optimised loops fused", make<GraphView>},
    {"source", "Source", "code", ViewPlace::Pane, "source", make<SourceView>},
    {"bytecode", "Bytecode", "bytecode", ViewPlace::Pane, "bytecode", make<BytecodeView>},
    {"stack", "Symbolic stack", "stack", ViewPlace::Pane, "", make<StackView>},
    {"kernel", "Kernel", "kernel", ViewPlace::Pane, "kernels ir assembly", make<KernelView>},
    {"timeline", "Timeline", "timeline", ViewPlace::Bottom, "timeline", make<TimelineView>},
    {"totals", "Totals", "clock", ViewPlace::Bottom, "", make_table<kTotalsTable>},
    {"breaks", "Graph breaks", "scissors", ViewPlace::Bottom, "", make_table<kBreaksTable>},
    {"guards", "Guards", "guard", ViewPlace::Bottom, "", make_table<kGuardsTable>},
    {"symbols", "Symbols", "guard", ViewPlace::Bottom, "", make_table<kSymbolsTable>},
    {"recompilations", "Recompilations", "refresh", ViewPlace::Bottom, "", make_table<kRecompilationsTable>},
    {"decisions", "Fusion decisions", "layers", ViewPlace::Bottom, "", make_table<kDecisionsTable>},
    {"kernels", "Kernels", "kernel", ViewPlace::Bottom, "", make_table<kKernelsTable>},
    {"choices", "Choices", "kernel", ViewPlace::Bottom, "", make_table<kChoicesTable>},
    {"roofline", "Roofline", "table", ViewPlace::Bottom, "", make<RooflineView>},
    {"numerics", "Numerics", "table", ViewPlace::Bottom, "", make<NumericsView>},
    {"speedup", "Speed-up", "table", ViewPlace::Bottom, "", make<SpeedupView>},
    {"range", "Range", "table", ViewPlace::Bottom, "", make<RangeView>},
    {"launches", "Launch plan", "launch", ViewPlace::Bottom, "launch", make_table<kLaunchesTable>},
    {"memory", "Memory", "memory", ViewPlace::Bottom, "memory", make_table<kMemoryTable>},
    {"usage", "Memory over time", "memory", ViewPlace::Bottom, "", make<MemoryView>},
    {"became", "What became what", "swap", ViewPlace::Bottom, "", make_table<kBecameTable>},
    {"saved", "Saved tensors", "swap", ViewPlace::Bottom, "", make<SavedView>},
    {"notes", "Notes", "note", ViewPlace::Right, "", make_table<kNotesTable>},
    {"runs", "Runs", "layers", ViewPlace::Left, "", make<RunsView>},
    {"inspector", "Inspector", "info", ViewPlace::Right, "", make<InspectorView>},
    {"problems", "Problems", "warning", ViewPlace::Bottom, "", make<ProblemsView>},
    {"query", "Query", "search", ViewPlace::Bottom, "", make<QueryView>},
    {"log", "Log", "log", ViewPlace::Bottom, "", make<LogView>},
    {"skeleton", "Skeleton", "info", ViewPlace::Pane, "", make<SkeletonView>},
};

}  // namespace

std::span<const ViewInfo> registry() {
  return kViews;
}

const ViewInfo* viewInfo(std::string_view id) {
  for (const ViewInfo& info : kViews)
    if (id == info.id) return &info;
  return nullptr;
}

const ViewInfo* viewForStage(std::string_view stage) {
  for (const ViewInfo& info : kViews) {
    std::string_view rest = info.stages;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == stage) return &info;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return nullptr;
}

}  // namespace vitrine::views
