// What the program has changed so far, and what it let go of.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/capture/interpreter/state/arguments.h"
#include "core/capture/interpreter/state/value.h"
#include "core/capture/trace/prepared_states.h"

namespace vitrine::capture {

struct GlobalWrite {
  std::string key;
  const Source* owner = nullptr;
  std::string name;
};

// Calls that wait for the graph: of functions that torch._dynamo.config names.
struct LoggedCalls {
  bool asked = false;  // for the two sets
  PyRef behind, ignored;
  std::vector<std::pair<PyObject*, Arguments>> calls;
};

struct SideEffects {
  Values mutated;                                   // pre-existing values in order of their first change
  std::unordered_map<std::string, Value*> globals;  // "address:name"
  std::vector<GlobalWrite> global_writes;
  bool cells_written = false;  // of closures that existed before
  std::vector<Value*> anew;    // functions that were called by what they do, whichever they are
  // Containers of what has a finalizer: instructions of the outermost frame at a change.
  std::unordered_map<const Value*, int64_t> noticed;
  Values alone;                          // what has a finalizer, and only the stack held it
  std::unordered_set<PyObject*> let_go;  // what locals held when the segment began, and do not hold now
  std::vector<std::pair<const Value*, int64_t>> draws;  // and after how many instructions each was drawn
  PreparedStates prepared;                              // of optimizers
  Values first_steps;                                   // optimizers that it was made for, or need not be
  int covered = 0;            // > 0: what is asked now is asked again when a real enumerate() is advanced
  bool sets_in_order = true;  // those that this instruction has made real so far
  LoggedCalls logged;
};

}  // namespace vitrine::capture
