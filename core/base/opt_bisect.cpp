#include "core/base/opt_bisect.h"

#include <utility>

#include "core/base/clock.h"

namespace vitrine {

bool OptBisect::allows(Of kind, const std::string& text) {
  const auto of = static_cast<size_t>(kind);
  const std::string key = std::to_string(of) + " " + std::to_string(compilation_) + " " + text;
  if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  const bool allowed = limits_[of] < 0 || static_cast<int64_t>(applied_[of].size()) < limits_[of];
  applied_[of].push_back({text, allowed});
  answers_.emplace(key, allowed);
  return allowed;
}

// What a pass does for one node are several steps, one after the other.
void OptBisect::note(int64_t node, const std::string& rule) {
  if (!watches_) return;
  if (noted_.empty() || noted_.back().node != node) noted_.push_back({node, rule, 0});
  noted_.back().at_ns = monotonic_ns();
}

std::vector<OptBisect::Rewritten> OptBisect::take_noted() {
  return std::exchange(noted_, {});
}

}  // namespace vitrine
