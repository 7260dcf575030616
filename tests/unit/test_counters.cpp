// What counters and samples of single kernels become in the tables and views of one generated kernel.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <set>

#include "profiler/analysis/counters.h"
#include "profiler/analysis/metrics.h"
#include "profiler/analysis/stalls.h"

using namespace vitrine;
using namespace vitrine::profiler;
using session::CounterRow;
using session::SampleRow;

TEST_CASE("every metric has a name of its own, a label and a counter") {
  std::set<std::string_view> keys;
  for (const Metric& m : kMetrics) {
    CHECK(keys.insert(m.key).second);
    CHECK(metric_of(m.key) == &m);
    CHECK_FALSE(m.label.empty());
    CHECK_FALSE(m.about.empty());
    CHECK(m.counter.find("__") != std::string_view::npos);
  }
  CHECK(metric_of("of another version") == nullptr);
  CHECK(stall_label("long_scoreboard") == "memory");
  CHECK(stall_label("a new one") == "a new one");
}

// Two launches of one kernel; the second starts two kernels on the device.
TEST_CASE("a launch's kernels are added, their parts weighted by time") {
  const std::vector<CounterRow> rows = {
      {1, 10, 0, "k", "time", 100},       {1, 10, 0, "k", "dram_read", 1000},
      {1, 10, 0, "k", "l2_hits", 50},     {1, 11, 0, "k", "time", 100},
      {1, 11, 0, "k", "dram_read", 1000}, {1, 11, 0, "k", "l2_hits", 50},
      {1, 11, 1, "again", "time", 200},   {1, 11, 1, "again", "dram_read", 400},
      {1, 11, 1, "again", "l2_hits", 90},
  };
  const KernelCounters c(rows);
  CHECK(c.launches() == 2);
  CHECK(*c.value("time") == doctest::Approx(200));        // (100 + 100 + 200) / 2 launches
  CHECK(*c.value("dram_read") == doctest::Approx(1200));  // (1000 + 1000 + 400) / 2 launches
  CHECK(*c.value("l2_hits") == doctest::Approx(70));      // (50 x 100 + 50 x 100 + 90 x 200) / 400
  CHECK_FALSE(c.value("occupancy").has_value());
  CHECK_FALSE(c.dram_bytes().has_value());  // what was written was not counted
  CHECK(KernelCounters({}).empty());
}

TEST_CASE("a line's reason is what most of its waiting samples have") {
  std::vector<SampleRow> rows(4);
  rows[0] = {1, "k", 16, 5, 2, 7, "selected", 30};
  rows[1] = {1, "k", 16, 5, 2, 7, "long_scoreboard", 20};
  rows[2] = {1, "k", 32, 6, 2, 7, "wait", 9};
  rows[3] = {1, "k", 48, 7, 3, 8, "selected", 4};
  const auto sass = samples_by_line(rows, SampleText::assembly);
  REQUIRE(sass.size() == 3);
  CHECK(sass[0].line == 5);
  CHECK(sass[0].samples == 50);
  CHECK(sass[0].reason == "long_scoreboard");
  CHECK(sass[2].reason == "");  // all of it went on
  const auto source = samples_by_line(rows, SampleText::source);
  REQUIRE(source.size() == 2);
  CHECK(source[0].samples == 59);
  CHECK(source[0].of_reason == 20);
  CHECK(samples_of(rows).samples == 63);
}
