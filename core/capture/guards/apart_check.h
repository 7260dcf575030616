// That what a trace changes is nothing else that it reads: of n objects, or of the memory of n tensors, in
// one sort instead of a comparison a pair. Where nothing has moved since the last check that held, one
// comparison a member.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/capture/objects/extent.h"

struct _object;

namespace vitrine::capture {

class ApartCheck {
 public:
  // members: nodes of the guard tree. The first `changed` of them are no other member; the others may be one.
  // storages: they are tensors, and it is about their memory.
  ApartCheck(std::vector<int32_t> members, int64_t changed, bool storages)
      : members_(std::move(members)), changed_(static_cast<size_t>(changed)), storages_(storages) {}

  bool of_storages() const { return storages_; }
  // values: by node. Members without a value, and for storages those that are no tensors, meet nothing.
  bool holds(const std::vector<_object*>& values);
  // Whether it goes on holding while the objects of the nodes are the same.
  bool stays(const std::vector<bool>& same) const;
  // Nodes of two members that meet, the first of them changed: what made holds() say false.
  std::pair<int32_t, int32_t> meeting(const std::vector<_object*>& values) const;

 private:
  // Where a member is: an object's address, or a tensor's storage and bytes.
  struct Place {
    const void* of = nullptr;
    MemoryExtent extent;
    bool operator==(const Place& other) const {
      return of == other.of && extent.begin == other.extent.begin && extent.end == other.extent.end;
    }
  };
  struct Member {
    Place place;
    size_t index;
  };
  Place place_of(_object* value) const;
  bool is_changed(size_t member) const { return member < changed_; }
  bool meet(const Place& a, const Place& b) const;
  bool apart_by_place(std::vector<Member>& all) const;
  bool apart_by_bytes(std::vector<Member>& all) const;

  std::vector<int32_t> members_;
  size_t changed_;
  bool storages_;
  std::vector<Place> now_, last_;  // last_: of the last check that held
};

}  // namespace vitrine::capture
