#include "app/shell/compare/launches_beside.h"

#include <algorithm>

#include "core/session/speed_up.h"

namespace vitrine::app {

using kit::SessionData;
using namespace session;

namespace {

constexpr double kSame = 0.1;  // of the time, where too few calls tell how they scatter

// A launch of the kernel, on average.
struct LaunchOfKernel {
  double ns = 0, lower_ns = 0, upper_ns = 0;
  int64_t calls = 0, launches = 0;
};

std::unordered_map<Id, LaunchOfKernel> launchesOf(const SessionData& d) {
  std::unordered_map<Id, LaunchOfKernel> out;
  for (const LaunchRow& row : d.launches) {
    if (!row.kernel || row.median_ns <= 0) continue;
    LaunchOfKernel& of = out[row.kernel];
    of.calls = of.launches ? std::min(of.calls, row.calls) : row.calls;
    of.ns += row.median_ns, of.lower_ns += row.lower_ns, of.upper_ns += row.upper_ns;
    ++of.launches;
  }
  for (auto& [kernel, of] : out) {
    const auto n = static_cast<double>(of.launches);
    of.ns /= n, of.lower_ns /= n, of.upper_ns /= n;
  }
  return out;
}

// Apart are times of which half of the calls took other ones.
bool apart(const LaunchOfKernel& a, const LaunchOfKernel& b) {
  if (std::min(a.calls, b.calls) > 1) return a.lower_ns > b.upper_ns || b.lower_ns > a.upper_ns;
  return std::abs(a.ns - b.ns) > kSame * std::min(a.ns, b.ns);
}

views::LaunchesBeside beside(const SessionData& own, const SessionData& other,
                             const std::unordered_map<Id, Id>& there, bool later) {
  const auto ours = launchesOf(own), theirs = launchesOf(other);
  views::LaunchesBeside out;
  for (const LaunchRow& row : own.launches) {
    const auto mine = ours.find(row.kernel);
    if (mine == ours.end() || !there.contains(row.compilation)) continue;
    const auto pair = there.find(row.kernel);
    views::LaunchBeside& said = out[row.id];
    said.later = later;
    said.alone = pair == there.end();
    if (said.alone) continue;
    const auto of = theirs.find(pair->second);
    if (of == theirs.end()) continue;
    said.of_ns = of->second.ns;
    if (apart(mine->second, of->second)) said.by_ns = mine->second.ns - of->second.ns;
  }
  return out;
}

}  // namespace

views::LaunchesBeside launchesBefore(const TwoSessions& c) {
  return beside(*c.before, *c.after, c.to_after, false);
}

views::LaunchesBeside launchesAfter(const TwoSessions& c) {
  return beside(*c.after, *c.before, c.to_before, true);
}

}  // namespace vitrine::app
