#include "app/shell/layouts.h"

namespace vitrine::app {

std::span<const LayoutInfo> layouts() {
  static const std::vector<LayoutInfo> rows = {
      {"Explore",
       "one active thing in graph, source, kernel, assembly and timeline",
       {{40, {{"optimised", 'A', 1}}}, {50, {{"source", 0, 28}, {"kernels", 'B', 46}, {"assembly", 0, 26}}}},
       FilmUnit::Pass,
       {"runs", "inspector", "timeline", "problems", "guards", "symbols", "log"}},
      {"Fusion",
       "before and after fusion, a verdict on every pair",
       {{1, {{"loops", 'A', 1}}}, {1, {{"fused", 'B', 1}}}},
       FilmUnit::Decision,
       {"inspector", "decisions", "kernels", "timeline", "problems", "log"}},
      {"Breaks",
       "graph breaks, guards and recompilations",
       {{1, {{"view:breaks", 0, 1}, {"view:guards", 0, 1}}},
        {1, {{"source", 'A', 1}, {"view:recompilations", 0, 2}}}},
       FilmUnit::Compilation,
       {"runs"}},
      {"Capture",
       "bytecode, symbolic stack and the growing graph",
       {{31, {{"source", 0, 1}}},
        {26, {{"bytecode", 'A', 1}}},
        {20, {{"view:stack", 0, 1}}},
        {25, {{"captured", 'B', 1}}}},
       FilmUnit::Instruction,
       {"guards", "log", "problems"}},
      {"Timeline",
       "eager against compiled, where the time went",
       {{1, {{"timeline", 'A', 1}}}},
       FilmUnit::Launch,
       {"kernels", "became", "launches", "memory", "problems", "log"}},
      {"Training",
       "forward and backward, and the saved tensors between them",
       {{30, {{"forward", 'A', 1}}}, {38, {{"view:saved", 0, 1}}}, {32, {{"backward", 'B', 1}}}},
       FilmUnit::Pass,
       {"kernels", "symbols", "timeline", "problems", "log"},
       "joint"},
  };
  return rows;
}

const LayoutInfo* layoutNamed(const QString& name) {
  for (const LayoutInfo& row : layouts())
    if (name.compare(QLatin1String(row.name), Qt::CaseInsensitive) == 0) return &row;
  return nullptr;
}

}  // namespace vitrine::app
