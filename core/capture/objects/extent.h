// The memory that a tensor's elements lie in.
#pragma once

struct _object;

namespace vitrine::capture {

struct MemoryExtent {
  const char *begin = nullptr, *end = nullptr;  // both nullptr: it has no elements
  bool meets(const MemoryExtent& other) const {
    return begin && other.begin && begin < other.end && other.begin < end;
  }
};
MemoryExtent extent_of(_object* tensor);

}  // namespace vitrine::capture
