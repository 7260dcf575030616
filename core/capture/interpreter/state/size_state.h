// Numbers that may be others in the next call: sizes of tensors, ints and floats.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/capture/interpreter/state/value.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

struct SizeState {
  std::shared_ptr<Symbolic> symbolic = std::make_shared<Symbolic>();
  std::unordered_map<Value*, Values> of_tensors;  // where they are known
  Values open_inputs;                             // tensors whose strides may be any
  Values computed;                                // floats that sizes give, which the graph has for inputs
  std::unordered_set<const Value*> guarded_comparisons;  // of sizes: only their guards tell the answers
};

}  // namespace vitrine::capture
