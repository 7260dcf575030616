// What the compiler tells a session about one compilation. A null Recorder* means that nothing is recorded,
// and then nothing is computed for it either (no LLVM IR, no assembly, no text).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"
#include "core/session/writer.h"

namespace vitrine::ir {

// What several workers did of a stage at the same time; see session::StageRow.
struct SideBySide {
  int64_t work_ns = 0, workers = 0;
};

class Recorder {
 public:
  Recorder(session::Writer& writer, Id compilation, int64_t run_start_monotonic_ns)
      : writer(writer), compilation(compilation), start_ns(run_start_monotonic_ns) {}

  session::Writer& writer;
  const Id compilation;
  const int64_t start_ns;  // CLOCK_MONOTONIC of the run's start: times in the session are relative to it

  // `start` below is CLOCK_MONOTONIC, in nanoseconds.
  // Records a snapshot with nodes, edges and links to the nodes of earlier snapshots it came from; remembers
  // node -> entity. Returns the graph's id. A graph that did not change has no node rows of its own, unless
  // it is the first of its stage. operators: the graph that says what the nodes' operators are given, where
  // this one names the memory that it is read from. Defined in core/ops/recorder.cpp: families come from the
  // operator table.
  Id graph(const GraphPtr& graph, const std::string& pass, const std::string& sentence, bool changed,
           int64_t start, int64_t duration_ns,
           const std::unordered_map<NodeId, std::string>& group_labels = {},
           const Graph* operators = nullptr);
  // The newest entity of a node, or 0.
  Id entity(NodeId node) const {
    auto it = entities_.find(node);
    return it == entities_.end() ? 0 : it->second;
  }
  const std::unordered_map<NodeId, Id>& entities() const { return entities_; }
  // Of a compilation that continues another one: what that recorded.
  void know(std::unordered_map<NodeId, Id> entities);
  // Above the ids of all nodes it knows.
  NodeId next_node() const { return next_node_; }
  void stage(const std::string& name, const std::string& state, int64_t count, int64_t start,
             int64_t duration_ns, const std::string& note = "", SideBySide work = {});
  // Capture sets these: the span of a captured node, and the capture step that made it.
  std::unordered_map<NodeId, Id> span_of, step_of;

 private:
  void link_origins(const Node& node, Id id);
  void edges(const Graph& graph, Id graph_id, const std::unordered_map<NodeId, Id>& here);

  std::unordered_map<NodeId, Id> entities_;
  NodeId next_node_ = 0;
  std::string last_stage_;
  int64_t next_graph_ = 0;
};

}  // namespace vitrine::ir
