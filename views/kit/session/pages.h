// Rows of an owner that are read when they are first asked for, and kept. Of a large session most are never
// looked at. Thread-safe; the first asking reads the file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace vitrine::kit {

template <class Row>
class Pages {
 public:
  using Read = std::function<std::vector<Row>(Id owner)>;
  Pages() = default;
  explicit Pages(Read read) : state_(std::make_unique<State>()) { state_->read = std::move(read); }

  std::span<const Row> of(Id owner) const {
    if (!state_) return {};
    const std::lock_guard lock(state_->mutex);
    const auto [at, first] = state_->pages.try_emplace(owner);
    if (first) at->second = state_->read(owner);
    return at->second;
  }

 private:
  struct State {
    std::mutex mutex;
    Read read;
    std::unordered_map<Id, std::vector<Row>> pages;
  };
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::kit
