// The recorded steps of a capture, machine/film.cpp.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capture/interpreter/state/value.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

struct FilmState {
  struct Before {
    Values stack, locals;
  };
  struct Change {
    int pop = 0;
    Values push;
    std::vector<std::pair<std::string, Value*>> store;
    Value* result = nullptr;
  };
  using NodeNames = std::unordered_map<ir::NodeId, std::string>;

  std::vector<StepRecord> steps;
  std::vector<Change> changes;  // of the stack, by step
};

}  // namespace vitrine::capture
