// Why two things of a compilation are not one kernel: "why not A with B?" of any two nodes or kernels, also
// of pairs that fusion never looked at. What it decided is told as it was recorded; else its rules
// (core/fusion/fuse.h) are asked of the recorded graph, in its order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::profiler {

// What fusion was given, and what it made of it: snapshots "loops" and "fused" of one compilation.
struct FusionRecord {
  std::span<const session::NodeRow> loops, fused;
  std::span<const session::EdgeRow> edges;  // of `loops`
  std::span<const session::DecisionRow> decisions;
  std::function<int64_t(Id node)> stable_of;  // of a decision's halves; -1: not known
};

// A node, or a kernel's nodes, by their stable numbers. none: why it is no loop, where `loops` is empty.
struct PairSide {
  std::string name;
  std::vector<int64_t> loops = {};
  std::string none = {};
};

struct PairRule {
  bool holds = false;
  std::string text;
};

struct PairAnswer {
  enum class Verdict : uint8_t { fused, apart, no_pair };  // no_pair: one of them is nothing that runs
  Verdict verdict = Verdict::no_pair;
  std::string reason;               // one sentence, without its full stop
  std::vector<PairRule> rules;      // of a pair that was not considered: up to the first that does not hold
  Id decision = 0;                  // that fusion made of them
  std::string change;               // what would change it; "" where nothing is known to help
  int64_t bytes = 0, launches = 0;  // that one kernel would save, or saves
};

// The loops of a record that a node became: its own, or those that derive from it.
PairSide side_of_kernel(const FusionRecord& record, const std::string& label, const std::string& name);

PairAnswer why_apart(const FusionRecord& record, const PairSide& a, const PairSide& b);

}  // namespace vitrine::profiler
