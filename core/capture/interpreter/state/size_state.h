// Numbers that may be others in the next call: sizes of tensors, ints and floats.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/capture/interpreter/state/value.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// A number in a tensor of the graph: its only one, or the one at an index.
struct ReadElement {
  ir::Ref tensor;
  std::optional<int64_t> index;
  auto operator<=>(const ReadElement&) const = default;
};

struct SizeState {
  std::shared_ptr<Symbolic> symbolic = std::make_shared<Symbolic>();
  std::unordered_map<Value*, Values> of_tensors;  // where they are known
  Values open_inputs;                             // tensors whose strides may be any
  Values computed;                                // floats that sizes give, which the graph has for inputs
  // Sizes and ints of the program stand for those of a run, which depend on data: all that it asks of sizes
  // from here on is asked again by the run. The last of these ints (0: there is none), which symbols have
  // them for hints, and how many calls the graph had when the first one came.
  int64_t last_stand_in = 0;
  std::vector<int32_t> stand_ins;
  int64_t calls_before_stand_ins = 0;
  std::map<ReadElement, int32_t> of_elements;            // the symbols of those that were read
  std::unordered_set<const Value*> guarded_comparisons;  // of sizes: only their guards tell the answers
};

}  // namespace vitrine::capture
