// Least, quartiles and greatest of some times.
#pragma once

#include <algorithm>
#include <vector>

namespace vitrine::session {

struct Quartiles {
  double least = 0, lower = 0, median = 0, upper = 0, most = 0;
};

// Between two neighbours in proportion, as statistics.quantiles(method="inclusive") of Python does.
inline Quartiles quartiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
  };
  return {values.front(), at(0.25), at(0.5), at(0.75), values.back()};
}

}  // namespace vitrine::session
