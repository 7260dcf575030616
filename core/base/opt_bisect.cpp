#include "core/base/opt_bisect.h"

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

}  // namespace vitrine
