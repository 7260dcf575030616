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
#include "views/tables/flame_view.h"
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

// id, title, icon, first place, stages it shows in a pane, factory; menu, about, other words
constexpr ViewRow kViews[] = {
    {{"graph", "Graph", "graph", ViewPlace::Pane,
      "captured aten joint forward backward decomposed optimised loops fused", make<GraphView>},
     "Program",
     "what the program means at a stage",
     "nodes, operators, modules"},
    {{"source", "Source", "code", ViewPlace::Pane, "source", make<SourceView>},
     "Program",
     "your Python, to the expression",
     "python, file"},
    {{"bytecode", "Bytecode", "bytecode", ViewPlace::Pane, "bytecode", make<BytecodeView>},
     "Program",
     "what capture did at each instruction",
     "dis, instructions"},
    {{"stack", "Symbolic stack", "stack", ViewPlace::Pane, "", make<StackView>},
     "Program",
     "stack and locals at the instruction the film stands at",
     "locals, debugger"},
    {{"kernel", "Kernel", "kernel", ViewPlace::Pane, "kernels ir assembly", make<KernelView>},
     "Program",
     "generated C++ or CUDA, LLVM IR or PTX, assembly or SASS",
     "c++, cuda, llvm, ptx, sass, assembly, machine code"},
    {{"timeline", "Timeline", "timeline", ViewPlace::Bottom, "timeline", make<TimelineView>},
     "Time",
     "where the time went, eager above compiled",
     "trace, profile, eager, launches"},
    {{"totals", "Totals", "clock", ViewPlace::Bottom, "", make_table<kTotalsTable>},
     "Time",
     "the whole run: compiling down to pass and kernel, guards, launches, memory",
     "whole run, sums, guards, launches"},
    {{"flame", "Compile time", "clock", ViewPlace::Bottom, "", make<FlameView>},
     "Time",
     "what compiling took as a flame: frame, stage, pass, kernel",
     "flame graph, icicle, compiling, cold, cached"},
    {{"breaks", "Graph breaks", "scissors", ViewPlace::Bottom, "", make_table<kBreaksTable>},
     "Capture",
     "where capture ended, why, and what a call pays for it",
     "graph break"},
    {{"guards", "Guards", "guard", ViewPlace::Bottom, "", make_table<kGuardsTable>},
     "Capture",
     "what is checked at each call, and its cost",
     "conditions, checks"},
    {{"symbols", "Symbols", "guard", ViewPlace::Bottom, "", make_table<kSymbolsTable>},
     "Capture",
     "sizes that may change: where each comes from, who fixed it",
     "dynamic shapes, sizes"},
    {{"recompilations", "Recompilations", "refresh", ViewPlace::Bottom, "", make_table<kRecompilationsTable>},
     "Capture",
     "which call, which guard, old and new value",
     "recompiles, cache limit"},
    {{"decisions", "Fusion decisions", "layers", ViewPlace::Bottom, "", make_table<kDecisionsTable>},
     "Fusion and kernels",
     "every pair with verdict, reason and price",
     "fusion, verdicts"},
    {{"missed", "Missed fusions", "layers", ViewPlace::Bottom, "", make_table<kMissedTable>},
     "Fusion and kernels",
     "pairs that stay apart, by what that costs, and what would change it",
     "not fused, why not, missed optimisations"},
    {{"kernels", "Kernels", "kernel", ViewPlace::Bottom, "", make_table<kKernelsTable>},
     "Fusion and kernels",
     "each with launches, time, traffic and its part of the roof",
     "launches, bandwidth, registers, occupancy"},
    {{"choices", "Choices", "kernel", ViewPlace::Bottom, "", make_table<kChoicesTable>},
     "Fusion and kernels",
     "who could compute a product, and how long each took",
     "tuning, autotune, tiles, library"},
    {{"roofline", "Roofline", "table", ViewPlace::Bottom, "", make<RooflineView>},
     "Time",
     "each kernel against the machine's measured ceilings",
     "roof, bandwidth, flops, ceilings"},
    {{"numerics", "Numerics", "table", ViewPlace::Bottom, "", make<NumericsView>},
     "Correctness",
     "each value against eager's and float64's: first divergence, NaN, ulp",
     "accuracy, errors, nan, inf, ulp, divergence, histogram"},
    {{"speedup", "Speed-up", "table", ViewPlace::Bottom, "", make<SpeedupView>},
     "Time",
     "a waterfall from eager's time to the compiled one",
     "waterfall, speedup, gains"},
    {{"range", "Range", "table", ViewPlace::Bottom, "", make<RangeView>},
     "Time",
     "totals of the time that is selected, eager and compiled",
     "selection, totals"},
    {{"launches", "Launch plan", "launch", ViewPlace::Bottom, "launch", make_table<kLaunchesTable>},
     "Time",
     "what a call executes, in order",
     "plan, calls"},
    {{"memory", "Memory", "memory", ViewPlace::Bottom, "memory", make_table<kMemoryTable>},
     "Memory",
     "buffers of the plan, their lifetimes and reuse",
     "buffers, arena, reuse"},
    {{"usage", "Memory over time", "memory", ViewPlace::Bottom, "", make<MemoryView>},
     "Memory",
     "eager and compiled on one axis, the peak explained",
     "peak, allocations, usage"},
    {{"became", "What became what", "swap", ViewPlace::Bottom, "", make_table<kBecameTable>},
     "Time",
     "eager's operators and what replaced them",
     "replaced, eager"},
    {{"saved", "Saved tensors", "swap", ViewPlace::Bottom, "", make<SavedView>},
     "Memory",
     "what forward keeps for backward, its price, and what a pin would change",
     "partition, recompute, rematerialise, checkpoint, what-if, pins"},
    {{"notes", "Notes", "note", ViewPlace::Right, "", make_table<kNotesTable>},
     "Session",
     "notes and bookmarks, kept in the session",
     "bookmarks"},
    {{"runs", "Runs", "layers", ViewPlace::Left, "", make<RunsView>},
     "Session",
     "which run, frame, compilation and kernel is shown",
     "calls, compilations, tree"},
    {{"inspector", "Inspector", "info", ViewPlace::Right, "", make<InspectorView>},
     "Session",
     "all that is known of the active thing, and its chain",
     "details, properties"},
    {{"problems", "Problems", "warning", ViewPlace::Bottom, "", make<ProblemsView>},
     "Correctness",
     "what to fix first: errors, breaks, recompilations, what is slower than eager",
     "errors, warnings, hints"},
    {{"query", "Query", "search", ViewPlace::Bottom, "", make<QueryView>},
     "Session",
     "SQL over the session, read only, with examples",
     "sql, select, database"},
    {{"log", "Log", "log", ViewPlace::Bottom, "", make<LogView>},
     "Correctness",
     "what the engine said",
     "messages, output"},
    {{"skeleton", "Skeleton", "info", ViewPlace::Pane, "", make<SkeletonView>}, "", "", ""},
};

}  // namespace

std::span<const ViewRow> registry() {
  return kViews;
}

const ViewInfo* viewInfo(std::string_view id) {
  for (const ViewRow& info : kViews)
    if (id == info.id) return &info;
  return nullptr;
}

const ViewInfo* viewForStage(std::string_view stage) {
  for (const ViewRow& info : kViews) {
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
