// Calls without effects: functions that are only read through, because PyTorch runs them, and functions whose
// results are cached.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/capture/interpreter/state/arguments.h"

namespace vitrine::capture {

// What a functools.lru_cache did not hold: its dict, and the key.
using NotCached = std::vector<std::pair<PyRef, PyRef>>;
struct CacheHit {
  PyObject* function;
  size_t positional;  // so many of the objects
  Values objects;
  Arguments arguments;
};

struct PureCalls {
  struct Lent {
    Value* dict;
    std::vector<std::pair<Value*, Value*>> entries;  // as they were
    bool mutated;
  };

  int64_t since = -1;           // >= 0: what was made before is not to be changed now
  std::vector<Lent> lent;       // dicts that what is read through has changed so far
  bool lends = false;           // what is read through may change dicts for a while
  bool differentiated = false;  // what runs is only read through: PyTorch runs it under autograd
  bool at_places = false;       // what flex_attention is given is read through
  int64_t cached_since = -1;    // >= 0: a cached function runs, which has made the values from here on
  std::vector<CacheHit> cache_hits;
  NotCached not_cached;
};

}  // namespace vitrine::capture
