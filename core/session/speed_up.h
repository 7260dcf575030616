// How much faster compiled calls are than eager ones, and whether that was measured at all: one place for the
// command line, the window and `vitrine bench`.
//
// The two sides are called in turns, so that what the machine does besides meets both of a round: a ratio of
// each round, eager over compiled, is free of it as far as it lasts. The interval is the one of order
// statistics around the median of these ratios (the sign test turned round): it supposes nothing of how times
// are distributed, and needs no random numbers. The k-th smallest and the k-th largest ratio enclose the
// median with a probability of at least 95 %, with the largest k for which a binomial of n rounds and one
// half allows it; of five rounds it is their whole range, with 94 %. It is widened to hold the ratio of the
// medians, which is what is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::session {

constexpr int64_t kFewestCalls = 5;  // a side, below which there is no interval to speak of

struct SpeedUp {
  enum class Kind { Unknown, TooFew, NoDifference, Known };
  Kind kind = Kind::Unknown;  // Unknown: no call of one side or of both
  double ratio = 0;           // of the medians
  double low = 0, high = 0;   // of its interval
  int64_t calls = 0;          // of the side that has fewer

  bool known() const { return kind == Kind::Known; }
  // "1.11×", "no difference seen: 0.97 to 1.06×", "not measured: 3 calls"; "" when nothing was called.
  std::string words() const;
  // Where there is little room: "1.11×", "no difference", "not measured".
  std::string short_words() const;
  std::string range() const;  // "1.08 to 1.13×"
  // The same with the number of calls: "1.08 to 1.13×, 20 calls a side"; "" unless it is known.
  std::string interval() const;
};

// Times of calls in ns, the i-th of both sides from one round.
SpeedUp speed_up(const std::vector<double>& eager, const std::vector<double>& compiled);
// Of a run's interleaved calls.
SpeedUp speed_up(const RunRow& run, const std::vector<TimingRow>& timings);

// The time of something with what the middle half of its calls took.
struct Timed {
  double ns = 0, lower_ns = 0, upper_ns = 0;
  int64_t calls = 0;
};
// Of calls that were not made in turns: "1.15×" where the middle halves of both are apart, else "no
// difference seen";
// "" where one of them was called too seldom to tell.
std::string against_words(const Timed& before, const Timed& now);

std::string ratio_words(double ratio);  // "1.11×", "12.3×", "103×"

}  // namespace vitrine::session
