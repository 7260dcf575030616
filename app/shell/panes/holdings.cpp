#include "app/shell/panes/holdings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

namespace vitrine::app {

using kit::SessionData;

namespace {

bool anyKernel(const SessionData& d, session::BlobRef session::KernelRow::* text) {
  return std::any_of(d.kernels.begin(), d.kernels.end(),
                     [&](const auto& row) { return (row.*text).row != 0; });
}

using HeldQuestion = std::function<bool(const SessionData&)>;

// Of views that are not asked here something is always to be seen.
const std::map<std::string_view, HeldQuestion>& questions() {
  static const std::map<std::string_view, HeldQuestion> rows = {
      {"timeline", [](const SessionData& d) { return !d.lanes.empty(); }},
      {"range", [](const SessionData& d) { return !d.lanes.empty(); }},
      {"totals",
       [](const SessionData& d) {
         return std::any_of(d.compilations.begin(), d.compilations.end(),
                            [](const auto& row) { return row.duration_ns > 0; });
       }},
      {"flame", [](const SessionData& d) { return !d.stages.empty(); }},
      {"kernels", [](const SessionData& d) { return !d.kernels.empty(); }},
      {"choices", [](const SessionData& d) { return !d.choices.empty(); }},
      {"decisions", [](const SessionData& d) { return !d.decisions.empty(); }},
      {"missed", [](const SessionData& d) { return !d.decisions.empty(); }},
      {"guards", [](const SessionData& d) { return !d.guards.empty(); }},
      {"symbols", [](const SessionData& d) { return !d.symbols.empty(); }},
      {"breaks", [](const SessionData& d) { return !d.breaks.empty(); }},
      {"recompilations", [](const SessionData& d) { return !d.recompilations.empty(); }},
      {"became", [](const SessionData& d) { return !d.launches.empty(); }},
      {"launches", [](const SessionData& d) { return !d.launches.empty(); }},
      {"memory", [](const SessionData& d) { return !d.buffers.empty(); }},
      {"usage", [](const SessionData& d) { return !d.allocations.empty(); }},
      {"saved", [](const SessionData& d) { return !d.crossings.empty(); }},
      {"source", [](const SessionData& d) { return !d.files.empty(); }},
      {"bytecode", [](const SessionData& d) { return !d.instructions.empty(); }},
      {"stack", [](const SessionData& d) { return !d.steps.empty(); }},
      {"ir", [](const SessionData& d) { return anyKernel(d, &session::KernelRow::ir); }},
      {"assembly", [](const SessionData& d) { return anyKernel(d, &session::KernelRow::assembly); }}};
  return rows;
}

bool isGraph(std::string_view stage) {
  constexpr std::string_view kGraphs[] = {"captured",   "aten",      "joint", "forward", "backward",
                                          "decomposed", "optimised", "loops", "fused"};
  return std::find(std::begin(kGraphs), std::end(kGraphs), stage) != std::end(kGraphs);
}

}  // namespace

bool holds(const SessionData& data, const std::string& what) {
  const std::string name = what.starts_with("view:") ? what.substr(5) : what;
  if (isGraph(name))
    return std::any_of(data.graphs.begin(), data.graphs.end(),
                       [&](const auto& row) { return row.stage == name; });
  const auto found = questions().find(name);
  return found == questions().end() || found->second(data);
}

std::vector<ColumnSpec> heldColumns(const SessionData& data, std::vector<ColumnSpec> columns) {
  std::vector<ColumnSpec> out = columns;
  for (ColumnSpec& column : out)
    std::erase_if(column.panes, [&](const PaneSpec& pane) { return !holds(data, pane.what); });
  std::erase_if(out, [](const ColumnSpec& column) { return column.panes.empty(); });
  if (out.empty()) return columns;
  PaneSpec* first = nullptr;
  for (ColumnSpec& column : out)
    for (PaneSpec& pane : column.panes) {
      if (pane.letter == 'A') return out;
      if (!first || (pane.letter && !first->letter)) first = &pane;
    }
  first->letter = 'A';
  return out;
}

}  // namespace vitrine::app
