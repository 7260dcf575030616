#include "core/capture/interpreter/state/input_memory.h"

#include <algorithm>
#include <iterator>

namespace vitrine::capture {

void InputMemory::add(const Value* input, const MemoryExtent& extent, const void* storage) {
  const auto [first, added] = first_.try_emplace(storage, input);
  if (!added) shared_.emplace_back(input, first->second);
  if (!extent.begin) return;
  const char* begin = extent.begin;
  Region region{extent.end, {{input, extent, storage}}};
  auto at = regions_.upper_bound(extent.begin);
  if (at != regions_.begin() && std::prev(at)->second.end > extent.begin) --at;
  while (at != regions_.end() && at->first < extent.end) {
    for (const Input& other : at->second.inputs)
      if (other.storage != storage && other.extent.meets(extent)) shared_.emplace_back(input, other.value);
    begin = std::min(begin, at->first);
    region.end = std::max(region.end, at->second.end);
    region.inputs.insert(region.inputs.end(), at->second.inputs.begin(), at->second.inputs.end());
    at = regions_.erase(at);
  }
  regions_.emplace(begin, std::move(region));
}

const Value* InputMemory::in(const void* storage) const {
  const auto found = first_.find(storage);
  return found == first_.end() ? nullptr : found->second;
}

}  // namespace vitrine::capture
