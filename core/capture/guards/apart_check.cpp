#include "core/capture/guards/apart_check.h"

#include <algorithm>

#include "core/capture/objects/python.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

ApartCheck::Place ApartCheck::place_of(PyObject* value) const {
  if (!value) return {};
  if (!storages_) return {value, {}};
  if (!torch_api::is_tensor(value)) return {};
  return {torch_api::storage_id(torch_api::handle_of(value)), extent_of(value)};
}

// Members at one place stand together: of several, none may be changed.
bool ApartCheck::apart_by_place(std::vector<Member>& all) const {
  std::sort(all.begin(), all.end(), [](const Member& a, const Member& b) { return a.place.of < b.place.of; });
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].place.of && all[i].place.of == all[i - 1].place.of &&
        (is_changed(all[i].index) || is_changed(all[i - 1].index)))
      return false;
  return true;
}

// By where their bytes begin: a member meets an earlier one when that has not ended.
bool ApartCheck::apart_by_bytes(std::vector<Member>& all) const {
  std::sort(all.begin(), all.end(),
            [](const Member& a, const Member& b) { return a.place.extent.begin < b.place.extent.begin; });
  const char *end = nullptr, *end_of_changed = nullptr;
  for (const Member& m : all) {
    const MemoryExtent& extent = m.place.extent;
    if (!extent.begin) continue;
    const bool changed = is_changed(m.index);
    if (extent.begin < (changed ? end : end_of_changed)) return false;
    end = std::max(end, extent.end);
    if (changed) end_of_changed = std::max(end_of_changed, extent.end);
  }
  return true;
}

bool ApartCheck::holds(const std::vector<PyObject*>& values) {
  now_.resize(members_.size());
  for (size_t i = 0; i < members_.size(); ++i) now_[i] = place_of(values[static_cast<size_t>(members_[i])]);
  if (now_ == last_) return true;
  std::vector<Member> all(now_.size());
  for (size_t i = 0; i < now_.size(); ++i) all[i] = {now_[i], i};
  if (!apart_by_place(all) || (storages_ && !apart_by_bytes(all))) return false;
  std::swap(last_, now_);
  return true;
}

bool ApartCheck::stays(const std::vector<bool>& same) const {
  return !storages_ && std::all_of(members_.begin(), members_.end(),
                                   [&](int32_t node) { return same[static_cast<size_t>(node)]; });
}

bool ApartCheck::meet(const Place& a, const Place& b) const {
  return (a.of && a.of == b.of) || a.extent.meets(b.extent);
}

std::pair<int32_t, int32_t> ApartCheck::meeting(const std::vector<PyObject*>& values) const {
  std::vector<Place> now;
  for (int32_t node : members_) now.push_back(place_of(values[static_cast<size_t>(node)]));
  for (size_t i = 0; i < changed_; ++i)
    for (size_t j = 0; j < now.size(); ++j)
      if (i != j && meet(now[i], now[j])) return {members_[i], members_[j]};
  return {members_.front(), members_.back()};
}

}  // namespace vitrine::capture
