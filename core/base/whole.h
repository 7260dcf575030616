// From a real number to a whole one.
#pragma once

#include <cstdint>
#include <limits>

namespace vitrine {

// Cut to a whole number, or the end of the type's range: a cast alone is undefined beyond it. NaN gives 0.
inline int64_t whole(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (value != value) return 0;
  if (value >= kEnd) return std::numeric_limits<int64_t>::max();
  if (value < -kEnd) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace vitrine
