// The plan's steps as people count them: views launch nothing, so they have no number of their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/session/rows.h"

namespace vitrine::session {

inline bool launches_something(const LaunchRow& row) {
  return row.kernel != 0;
}

// What a launch reads and writes. That of a library call is told with the call's kernel. kernel: may be null.
inline int64_t bytes_moved(const LaunchRow& launch, const KernelRow* kernel) {
  return launch.bytes || !kernel ? launch.bytes : kernel->bytes;
}

template <class Rows>
int64_t launches_in(const Rows& rows) {
  return std::count_if(rows.begin(), rows.end(), launches_something);
}

// From 1: the launch that a step of the plan is, or for a view the one before it (1 where there is none).
template <class Rows>
int64_t launch_number(const Rows& rows, int64_t step) {
  const int64_t upto = std::count_if(rows.begin(), rows.end(), [&](const LaunchRow& row) {
    return launches_something(row) && row.ordinal <= step;
  });
  return std::max<int64_t>(1, upto);
}

}  // namespace vitrine::session
