#include "core/session/compare/difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/session/compare/aligned.h"
#include "core/session/compare/parts.h"
#include "core/session/quartiles.h"
#include "core/session/speed_up.h"

namespace vitrine::session {

namespace {

constexpr double kOutsideRange = 0.025;  // probability on each side of the interval

struct MedianRange {
  double low = 0, median = 0, high = 0;
};

constexpr double kMostCalls = 0.1;  // on a busy machine this part of the calls is left out at either end

// The median with its interval of order statistics (core/session/speed_up.h has the reasoning), or on a busy
// machine what most calls took.
MedianRange median_range(std::vector<double> values, bool busy) {
  std::sort(values.begin(), values.end());
  if (busy) {
    const auto out = static_cast<size_t>(kMostCalls * static_cast<double>(values.size()));
    return {values[out], quartiles_of(values).median, values[values.size() - 1 - out]};
  }
  const auto n = static_cast<double>(values.size());
  double below = 0;
  size_t k = 0;
  for (; k < values.size(); ++k) {
    const auto at = static_cast<double>(k);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(at + 1) - std::lgamma(n - at + 1) - n * std::log(2.0));
    if (below > kOutsideRange) break;
  }
  k = std::clamp<size_t>(k, 1, values.size());
  return {values[k - 1], quartiles_of(values).median, values[values.size() - k]};
}

// Of a script no call is repeated on purpose: the calls that found what was compiled, where all of a program
// have some on both sides.
TimeComparison compare_hits(const ProgramPairs& pairs) {
  TimeComparison sum{.of = "what is compiled"};
  double low_before = 0, high_before = 0, low_after = 0, high_after = 0;
  for (const auto& [a, b] : pairs.both) {
    const TimeComparison one = compare_times("", a->hits_ns, b->hits_ns, a->busy || b->busy);
    if (!one.known) continue;
    const MedianRange before = median_range(a->hits_ns, a->busy), after = median_range(b->hits_ns, b->busy);
    sum.before_ns += one.before_ns, sum.after_ns += one.after_ns;
    low_before += before.low, high_before += before.high, low_after += after.low, high_after += after.high;
  }
  if (sum.before_ns <= 0 || low_before <= 0) return sum;
  sum.known = true;
  sum.low = low_after / high_before, sum.high = high_after / low_before;
  sum.differs = sum.low > 1 || sum.high < 1;
  return sum;
}

void count_calls(const ComparedSession& before, const ComparedSession& after, const ProgramPairs& pairs,
                 SessionDifference& out) {
  out.calls_before = static_cast<int64_t>(before.compiled_ns.size());
  out.calls_after = static_cast<int64_t>(after.compiled_ns.size());
  for (const auto& [a, b] : pairs.both) {
    out.calls_before = std::max(out.calls_before, static_cast<int64_t>(a->hits_ns.size()));
    out.calls_after = std::max(out.calls_after, static_cast<int64_t>(b->hits_ns.size()));
  }
}

template <class F>
int64_t sum_of(const ComparedSession& s, F part) {
  int64_t out = 0;
  for (const ComparedProgram& p : s.programs) out += part(p);
  return out;
}

}  // namespace

std::string time_text(double ns) {
  static constexpr std::array<const char*, 4> kUnits = {"ns", "µs", "ms", "s"};
  size_t unit = 0;
  double value = std::abs(ns);
  for (; unit + 1 < kUnits.size() && value >= 999.5; ++unit) value /= 1000;
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.*f %s",
                unit == 0 || value >= 99.95 ? 0
                : value >= 9.995            ? 1
                                            : 2,
                value, kUnits[unit]);
  return out.data();
}

TimeComparison compare_times(const std::string& of, std::vector<double> before, std::vector<double> after,
                             bool busy) {
  TimeComparison out{.of = of};
  std::erase_if(before, [](double ns) { return !(ns > 0); });
  std::erase_if(after, [](double ns) { return !(ns > 0); });
  if (std::min(before.size(), after.size()) < static_cast<size_t>(kFewestCalls)) return out;
  const MedianRange a = median_range(std::move(before), busy), b = median_range(std::move(after), busy);
  out.known = true;
  out.before_ns = a.median, out.after_ns = b.median;
  out.low = b.low / a.high, out.high = b.high / a.low;
  out.differs = out.low > 1 || out.high < 1;
  return out;
}

SessionDifference compare_sessions(const ComparedSession& before, const ComparedSession& after) {
  SessionDifference out;
  const ProgramPairs pairs = pair_programs(before, after);
  out.busy = before.busy || after.busy;
  out.imported = before.imported || after.imported;
  compare_facts(before, after, out.changes);
  compare_capture(before, after, pairs, out.changes);
  for (const auto& [a, b] : pairs.both) {
    out.paired.push_back({a->id, b->id, a->key, b->key, a->calls.size(), same_calls(a->calls, b->calls)});
    const ComparedProgram now = aligned_to(*a, *b);
    compare_graphs(*a, now, out.changes);
    compare_fusion(*a, now, out.changes);
    compare_kernels(*a, now, out.changes);
  }
  for (const ComparedProgram* p : pairs.removed)
    compare_kernels(*p, {.key = p->key, .imported = after.imported}, out.changes);
  for (const ComparedProgram* p : pairs.added)
    compare_kernels({.key = p->key, .imported = before.imported}, *p, out.changes);
  std::stable_sort(out.changes.begin(), out.changes.end(),
                   [](const SessionChange& a, const SessionChange& b) {
                     return a.what != b.what ? a.what < b.what : std::abs(a.ns) > std::abs(b.ns);
                   });
  out.call = compare_times("a compiled call", before.compiled_ns, after.compiled_ns, out.busy);
  if (!out.call.known) out.call = compare_hits(pairs);
  count_calls(before, after, pairs, out);
  out.unlike = pairs.both.empty() && !before.programs.empty() && !after.programs.empty();
  out.eager = compare_times("an eager call", before.eager_ns, after.eager_ns, out.busy);
  const auto compile = [](const ComparedProgram& p) { return p.compile_ns; };
  out.compile_before_ns = sum_of(before, compile), out.compile_after_ns = sum_of(after, compile);
  out.verdict = verdict_text(out);
  return out;
}

bool is_slower(const SessionDifference& d, double part) {
  return d.call.known && d.call.low > 1 && d.call.ratio() > 1 + part;
}

}  // namespace vitrine::session
