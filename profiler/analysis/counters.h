// A kernel's counters and samples put together: of one launch of it, whatever it started on the device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::profiler {

// By a metric's key, of one launch on average: times, bytes and counts of what it started are added; what is
// a part or a mean is weighted by time. Rows of one kernel; a metric that is not there was not counted.
class KernelCounters {
 public:
  explicit KernelCounters(std::span<const session::CounterRow> rows);
  std::optional<double> value(std::string_view metric) const;
  // Bytes that went to DRAM and came from it; nothing where one of both was not counted.
  std::optional<double> dram_bytes() const;
  int64_t launches() const { return launches_; }
  bool empty() const { return values_.empty(); }

 private:
  std::map<std::string, double, std::less<>> values_;
  int64_t launches_ = 0;
};

// Samples at one line: how many, and the reason most of them have, those that went on apart; "" where all
// did.
struct LineSamples {
  int64_t line = 0, samples = 0;
  std::string reason;
  int64_t of_reason = 0;
};

enum class SampleText : uint8_t { source, assembly };
// Rows of one kernel, by line of one of its texts, ascending; line 0: those whose line is not known.
std::vector<LineSamples> samples_by_line(std::span<const session::SampleRow> rows, SampleText text);
// Of a whole kernel (line 0).
LineSamples samples_of(std::span<const session::SampleRow> rows);

}  // namespace vitrine::profiler
