// The one monotonic clock: sessions, profiles and CUPTI's records are on it, so that their times meet.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace vitrine {

// For deadlines. On Linux it is the same clock.
using Clock = std::chrono::steady_clock;

inline int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace vitrine
