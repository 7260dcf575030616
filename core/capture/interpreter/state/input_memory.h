// Which of a trace's inputs lie in one memory: in one storage, or in storages that PyTorch knows apart though
// they are the same bytes (what came through NumPy or DLPack). Costs a search a new input.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capture/objects/extent.h"

namespace vitrine::capture {

class Value;

class InputMemory {
 public:
  using Pair = std::pair<const Value*, const Value*>;
  void add(const Value* input, const MemoryExtent& extent, const void* storage);
  // Of two inputs that share memory; one pair a storage is enough, since a write to one is a write to all.
  const std::vector<Pair>& shared() const { return shared_; }
  // An input in this storage; nullptr: there is none.
  const Value* in(const void* storage) const;

 private:
  struct Input {
    const Value* value;
    MemoryExtent extent;
    const void* storage;
  };
  // Bytes without a gap that inputs lie in.
  struct Region {
    const char* end = nullptr;
    std::vector<Input> inputs;
  };
  std::unordered_map<const void*, const Value*> first_;  // by storage
  std::map<const char*, Region> regions_;                // by their begin; none meets another
  std::vector<Pair> shared_;
};

}  // namespace vitrine::capture
