#include "core/session/speed_up.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/session/quartiles.h"

namespace vitrine::session {

namespace {

constexpr double kOutside = 0.025;  // probability on each side of the interval

// The largest k for which fewer than k of n tosses fall on one side with a probability of at most kOutside; 1
// where n is too small for any.
size_t rank_of(size_t n) {
  const double all = static_cast<double>(n);
  double below = 0;
  size_t k = 0;
  for (;; ++k) {
    const double at = static_cast<double>(k);
    below += std::exp(std::lgamma(all + 1) - std::lgamma(at + 1) - std::lgamma(all - at + 1) -
                      all * std::log(2.0));
    if (below > kOutside || k >= n) return std::max<size_t>(k, 1);
  }
}

std::string digits(double ratio) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.*f", ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : 2, ratio);
  return out.data();
}

}  // namespace

std::string ratio_words(double ratio) {
  return digits(ratio) + "×";
}

std::string against_words(const Timed& before, const Timed& now) {
  if (std::min(before.calls, now.calls) < kFewestCalls || before.ns <= 0 || now.ns <= 0) return "";
  const bool apart = before.lower_ns > now.upper_ns || now.lower_ns > before.upper_ns;
  return apart ? ratio_words(before.ns / now.ns) : "no difference seen";
}

std::string SpeedUp::words() const {
  if (kind == Kind::Known) return ratio_words(ratio);
  if (kind == Kind::NoDifference) return "no difference seen: " + range();
  if (kind == Kind::TooFew)
    return "not measured: " + std::to_string(calls) + (calls == 1 ? " call" : " calls");
  return "";
}

std::string SpeedUp::range() const {
  return digits(low) + " to " + digits(high) + "×";
}

std::string SpeedUp::short_words() const {
  return kind == Kind::NoDifference ? "no difference" : kind == Kind::TooFew ? "not measured" : words();
}

std::string SpeedUp::interval() const {
  return known() ? range() + ", " + std::to_string(calls) + " calls a side" : "";
}

SpeedUp speed_up(const std::vector<double>& eager, const std::vector<double>& compiled) {
  SpeedUp out;
  const size_t rounds = std::min(eager.size(), compiled.size());
  out.calls = static_cast<int64_t>(rounds);
  const double ours = quartiles_of(compiled).median, theirs = quartiles_of(eager).median;
  if (!rounds || !(ours > 0) || !(theirs > 0)) return out;
  out.ratio = theirs / ours;
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds; ++i)
    if (eager[i] > 0 && compiled[i] > 0) ratios.push_back(eager[i] / compiled[i]);
  out.kind = SpeedUp::Kind::TooFew;
  if (ratios.size() < static_cast<size_t>(kFewestCalls)) return out;
  std::sort(ratios.begin(), ratios.end());
  const size_t k = rank_of(ratios.size());
  out.low = std::min(ratios[k - 1], out.ratio);
  out.high = std::max(ratios[ratios.size() - k], out.ratio);
  out.kind = out.low <= 1 && out.high >= 1 ? SpeedUp::Kind::NoDifference : SpeedUp::Kind::Known;
  return out;
}

SpeedUp speed_up(const RunRow& run, const std::vector<TimingRow>& timings) {
  std::vector<const TimingRow*> order;
  for (const TimingRow& row : timings)
    if (row.run == run.id && row.ns > 0) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->ordinal < b->ordinal; });
  std::vector<double> eager, compiled;
  for (const TimingRow* row : order)
    (row->side == "eager" ? eager : compiled).push_back(static_cast<double>(row->ns));
  SpeedUp out = speed_up(eager, compiled);
  // Medians without their calls are no measurement either.
  if (out.kind == SpeedUp::Kind::Unknown && run.eager_ns > 0 && run.compiled_ns > 0)
    out.kind = SpeedUp::Kind::TooFew;
  return out;
}

}  // namespace vitrine::session
