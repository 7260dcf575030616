// What is said of times: the interval of a speed-up, which call is shown, how calls scatter, a busy machine,
// and what a kernel reaches of the machine.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "core/session/doubts.h"
#include "core/session/quartiles.h"
#include "core/session/reader.h"
#include "core/session/roofs.h"
#include "core/session/speed_up.h"
#include "core/session/writer.h"

using namespace vitrine;
using namespace vitrine::session;

namespace {

RunRow run_of(double eager_ns, double compiled_ns) {
  RunRow run;
  run.id = 7;
  run.eager_ns = eager_ns;
  run.compiled_ns = compiled_ns;
  return run;
}

// So many rounds of calls that took as long as each other.
std::vector<TimingRow> timings_of(int rounds, int64_t eager_ns, int64_t compiled_ns) {
  std::vector<TimingRow> out;
  for (int i = 0; i < rounds; ++i) {
    out.push_back({7, "eager", i, eager_ns + i});
    out.push_back({7, "compiled", i, compiled_ns + i});
  }
  return out;
}

MeasurementRow profiled(const std::string& side, double kept_ns, int64_t calls = 25) {
  MeasurementRow row;
  row.run = 7, row.kind = "profiled", row.side = side, row.calls = calls, row.kept = 0, row.kept_ns = kept_ns;
  row.least_ns = row.lower_ns = row.median_ns = row.upper_ns = row.most_ns = kept_ns;
  row.cores = 4, row.threads = 4, row.wall_ns = 1'000'000'000;
  return row;
}

}  // namespace

TEST_CASE("what is not known of a measurement is read as it was written") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vitrine_times_" + std::to_string(getpid()) + ".vitrine"))
          .string();
  {
    auto writer = Writer::create(path).take();
    MeasurementRow row;
    row.run = writer->next(Kind::Run), row.kind = "plain";
    writer->put(row);
    writer->put(
        CeilingRow{row.run, "copy", "f32", 1e9, "", 1, "kept", "a machine", 1'795'520'366'480'782'297});
    writer->finish("finished");
  }
  auto opened = Reader::open(path);
  REQUIRE(opened.ok());
  const auto rows = opened.value()->all<MeasurementRow>();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].kept == -1);
  CHECK(rows[0].others == -1);
  CHECK(rows[0].preempted == -1);
  CHECK(opened.value()->all<CeilingRow>().at(0).measured_unix_ns == 1'795'520'366'480'782'297);
  CHECK(opened.value()->damage() == "");
  std::filesystem::remove(path);
}

TEST_CASE("quartiles lie between neighbours in proportion") {
  const Quartiles q = quartiles_of({4, 1, 3, 2});
  CHECK(q.least == 1);
  CHECK(q.lower == 1.75);
  CHECK(q.median == 2.5);
  CHECK(q.upper == 3.25);
  CHECK(q.most == 4);
  CHECK(quartiles_of({}).median == 0);
}

TEST_CASE("a speed-up of fewer than five calls a side is not told as one") {
  const SpeedUp up = speed_up(run_of(200, 100), timings_of(4, 200, 100));
  CHECK(up.kind == SpeedUp::Kind::TooFew);
  CHECK(up.words() == "not measured: 4 calls");
  CHECK(up.interval() == "");
  CHECK(speed_up(run_of(200, 100), timings_of(1, 200, 100)).words() == "not measured: 1 call");
  CHECK(speed_up(run_of(200, 100), {}).words() == "not measured: 0 calls");  // medians without their calls
  CHECK(speed_up(run_of(0, 0), {}).words() == "");
}

TEST_CASE("five calls a side make a speed-up when all of them say so") {
  const SpeedUp up = speed_up({200, 210, 190, 205, 195}, {100, 100, 100, 100, 100});
  CHECK(up.known());
  CHECK(up.words() == "2.00×");
  CHECK(up.interval() == "1.90 to 2.10×, 5 calls a side");
  CHECK(speed_up({200, 210, 90, 205, 195}, {100, 100, 100, 100, 100}).kind == SpeedUp::Kind::NoDifference);
}

TEST_CASE("an interval that includes 1 is no difference") {
  const SpeedUp up = speed_up({97, 106, 100, 101, 99}, {100, 100, 100, 100, 100});
  CHECK(up.words() == "no difference seen: 0.97 to 1.06×");
  CHECK(up.short_words() == "no difference");
  CHECK_FALSE(up.known());
}

TEST_CASE("what lasts over a round meets both of its calls and does not widen the interval") {
  std::vector<double> eager, compiled;
  for (int i = 0; i < 20; ++i) {
    const double busy = i % 3 == 0 ? 3 : 1;
    eager.push_back(120 * busy + i % 2);
    compiled.push_back(100 * busy);
  }
  const SpeedUp up = speed_up(eager, compiled);
  CHECK(up.known());
  CHECK(up.low > 1.15);
  CHECK(up.high < 1.25);
}

TEST_CASE("the interval holds the true ratio in 95 of 100 measurements") {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.2);
  for (size_t rounds : {6U, 20U, 60U}) {
    int held = 0;
    constexpr int kTries = 1000;
    for (int t = 0; t < kTries; ++t) {
      std::vector<double> eager, compiled;
      for (size_t i = 0; i < rounds; ++i) {
        eager.push_back(1000 * 1.1 * noise(random));
        compiled.push_back(1000 * noise(random));
      }
      const SpeedUp up = speed_up(eager, compiled);
      held += up.low <= 1.1 && up.high >= 1.1;
    }
    CHECK(held >= 0.94 * kTries);
  }
}

TEST_CASE("a thousand rounds have a narrow interval") {
  std::vector<double> eager, compiled;
  for (int i = 0; i < 1500; ++i) eager.push_back(110 + i % 7), compiled.push_back(100 + i % 5);
  const SpeedUp up = speed_up(eager, compiled);
  CHECK(up.known());
  CHECK(up.low >= 1.08);
  CHECK(up.high <= 1.14);
}

TEST_CASE("calls of two runs differ where the middle halves of their times are apart") {
  const Timed before{100, 95, 110, 20};
  CHECK(against_words(before, {80, 75, 90, 20}) == "1.25×");
  CHECK(against_words(before, {90, 85, 96, 20}) == "no difference seen");
  CHECK(against_words(before, {80, 75, 90, 4}) == "");
  CHECK(against_words({100, 0, 0, 0}, {80, 75, 90, 20}) == "");
}

TEST_CASE("the call that is shown is told with how many it was chosen from and how it stands to the median") {
  const RunTimes t = times_of(run_of(209, 109), timings_of(20, 200, 100),
                              {profiled("eager", 215), profiled("compiled", 186, 12)}, {});
  CHECK(t.basis("eager") == "one of 25 profiled calls, 1.03× of the median of 20");
  CHECK(t.basis("compiled") == "one of 12 profiled calls; this call took 1.70× of the median of 20");
  CHECK(t.doubt(TimesOf::Calls) == "");
  CHECK(t.doubt(TimesOf::ShownCall) == "The compiled call that is shown took 1.70× of the median of 20.");
  CHECK(t.short_doubt(TimesOf::Both) == "compiled call 1.70× of median");
}

TEST_CASE("an earlier session's one profiled call is compared with the median, too") {
  const RunTimes t = times_of(run_of(209, 109), timings_of(20, 200, 100), {},
                              {{"profiled_eager_ns", "215"}, {"profiled_compiled_ns", "1853"}});
  CHECK(t.basis("eager") == "one profiled call, 1.03× of the median of 20");
  CHECK(t.basis("compiled") == "one profiled call; this call took 16.9× of the median of 20");
  CHECK(times_of(run_of(0, 0), {}, {}, {}).basis("eager") == "");
}

TEST_CASE("calls that scatter are told") {
  std::vector<TimingRow> timings;
  for (int i = 0; i < 20; ++i) {
    timings.push_back({7, "eager", i, 1000 + i});
    timings.push_back({7, "compiled", i, i % 2 ? 500 : 1500});
  }
  const RunTimes t = times_of(run_of(1009, 1000), timings, {}, {});
  CHECK(t.doubt(TimesOf::Calls) == "Half of the 20 compiled calls took 0.50 to 1.50× of their median.");
  CHECK(t.short_doubt(TimesOf::Both) == "calls scatter");
}

TEST_CASE("a busy machine is told with its evidence") {
  MeasurementRow row = profiled("compiled", 109);
  CHECK_FALSE(was_busy(row));
  row.others = 0.3, row.waited = 0.01, row.preempted = 3;
  CHECK_FALSE(was_busy(row));
  row.others = 1.9, row.waited = 0.34, row.preempted = 412;
  CHECK(was_busy(row));
  const RunTimes t = times_of(run_of(209, 109), timings_of(20, 200, 100), {row}, {});
  CHECK(t.doubt(TimesOf::ShownCall) ==
        "The machine was busy: other processes kept 1.9 of 4 CPUs, a thread waited 34 % of the time for a "
        "CPU, 412 "
        "switches were forced.");
  CHECK(t.short_doubt(TimesOf::ShownCall) == "busy machine");
  CHECK(t.doubt(TimesOf::Calls) == "");
}

TEST_CASE("threads that wait for each other make no busy machine") {
  MeasurementRow row = profiled("compiled", 109);
  row.others = 0.02, row.waited = 0.4, row.preempted = 900;
  CHECK_FALSE(was_busy(row));
  row.steal = 0.2;
  CHECK(was_busy(row));
  CHECK(evidence_words(row).starts_with("the host took 20 % of the time"));
}

TEST_CASE("where nothing better is known, forced switches and the load are evidence") {
  MeasurementRow row = profiled("compiled", 109);
  row.preempted = 200;
  CHECK(was_busy(row));
  row.preempted = 1, row.load = 9;
  CHECK(was_busy(row));
  row.load = 2;
  CHECK_FALSE(was_busy(row));
}

namespace {

std::vector<CeilingRow> ceilings() {
  CeilingRow copy, product;
  copy.kind = "copy", copy.type = "f32", copy.rate = 10e9, copy.cache_bytes = 32'000'000;
  product.kind = "product", product.type = "f32", product.rate = 100e9, product.cache_bytes = 32'000'000;
  return {copy, product};
}

Worked work(Id kernel, double bytes, double ns, double flops = 0) {
  return {kernel, bytes, flops, ns, bytes, "f32"};
}

}  // namespace

TEST_CASE("data in cache are told to be there instead of more than all of a copy") {
  const Worked small = work(1, 1e6, 35e3);  // 28.6 GB/s
  const Roofs roofs(ceilings(), {small});
  CHECK(roofs.copy().rate == 10e9);
  CHECK(roofs.copy_words(small) == "in cache");
  CHECK(roofs.of_roof(small) == 0);
  CHECK(roofs.of_roof(work(1, 1e6, 200e3)) == 0);  // half of memory's copy, which it does not need
  CHECK(roofs.of_roof(work(1, 1e6, 1e6, 50e6)) == doctest::Approx(0.5));  // of a product, which bounds it
  CHECK(roofs.copy_words(work(1, 1e6, 200e3)) == "50 %, in cache");
  CHECK(roofs.copy_words(work(1, 50e6, 2e6)) == "partly in cache");
  CHECK(roofs.copy_words(work(1, 100e6, 20e6)) == "50 %");
  CHECK(roofs.too_low({{1, "K0"}}) == "");
}

TEST_CASE("a kernel over memory that is faster than the ceiling shows that it was measured too low") {
  const Worked fast = work(2, 200e6, 10e6), slow = work(3, 200e6, 20e6);  // 20 and 10 GB/s
  const Roofs roofs(ceilings(), {fast, slow});
  CHECK(roofs.copy().measured == 10e9);
  CHECK(roofs.copy().rate == doctest::Approx(20e9));
  CHECK(roofs.copy_words(fast) == "100 %");
  CHECK(roofs.copy_words(slow) == "50 %");
  CHECK(roofs.too_low({{2, "K2"}, {3, "K3"}}) ==
        "copy was measured too low: K2 reaches 2.00× of it and stands for it.");
  const Worked product = work(4, 1e6, 1e6, 0.15e9);  // 150 GFLOP/s
  CHECK(Roofs(ceilings(), {product}).too_low({{4, "L1"}}) ==
        "f32 product was measured too low: L1 reaches 1.50× of it and stands for it.");
}

TEST_CASE("without the size of the cache no ceiling is raised, and more than all is told so") {
  std::vector<CeilingRow> rows = ceilings();
  for (CeilingRow& row : rows) row.cache_bytes = 0;
  const Worked fast = work(2, 200e6, 10e6);
  const Roofs roofs(rows, {fast});
  CHECK(roofs.copy().rate == 10e9);
  CHECK(roofs.copy_words(fast) == "above copy");
  CHECK(Roofs({}, {fast}).copy_words(fast) == "–");
}

TEST_CASE("a ceiling says how it is known") {
  CeilingRow row = ceilings()[0];
  row.note = "128 MiB";
  CHECK(ceiling_words(row) == "128 MiB");
  row.source = "measured", row.times = 2;
  CHECK(ceiling_words(row) == "128 MiB; the best of 2 measurements");
  row.source = "kept", row.measured_unix_ns = 1'700'000'000'000'000'000;
  CHECK(ceiling_words(row) == "128 MiB; kept from 2023-11-14");
  row.machine = "AMD EPYC, 2 threads";
  CHECK(ceiling_words(row) == "128 MiB; kept from 2023-11-14, AMD EPYC, 2 threads");
}
