#include "core/session/doubts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "core/session/quartiles.h"

namespace vitrine::session {

namespace {

// From where on something is said.
constexpr double kFar = 1.25;             // of the median: the call that is shown
constexpr double kScatter = 0.20;         // between the quartiles, of the median
constexpr int64_t kFewestForScatter = 4;  // calls
constexpr double kOthers = 0.25;          // CPUs that others kept, of all
constexpr double kSomeOthers = 0.1;       // CPUs: less cannot be what made our threads wait
constexpr double kStolen = 0.05;          // of the time, by the host
constexpr double kWaited = 0.05;          // of the time, ready and not running
constexpr double kForcedASecond = 25;     // switches of a thread, where nothing better is known
constexpr double kLoadACore = 1.5;        // likewise

std::string fixed(double value, int decimals) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.*f", decimals, value);
  return out.data();
}

std::string percent(double part) {
  return fixed(part * 100, part < 0.095 ? 1 : 0) + " %";
}

// What is not told by a better source is judged by this one.
bool only_load(const MeasurementRow& row) {
  return row.others < 0 && row.waited < 0;
}

bool waited(const MeasurementRow& row) {
  return row.waited > kWaited && (row.others < 0 || row.others > kSomeOthers);
}

bool others(const MeasurementRow& row) {
  return row.cores > 0 && row.others > kOthers * static_cast<double>(row.cores);
}

bool forced(const MeasurementRow& row) {
  return row.waited < 0 && row.wall_ns > 0 &&
         static_cast<double>(row.preempted) * 1e9 / static_cast<double>(row.wall_ns) >
             kForcedASecond * static_cast<double>(std::max<int64_t>(1, row.threads));
}

bool loaded(const MeasurementRow& row) {
  return only_load(row) && row.cores > 0 && row.load > kLoadACore * static_cast<double>(row.cores);
}

bool far_from_median(const SideTimes& side) {
  const double ratio = side.ratio();
  return ratio > kFar || (ratio > 0 && ratio < 1 / kFar);
}

std::string calls_words(int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? " call" : " calls");
}

std::string median_words(const SideTimes& side) {
  return side.plain.calls > 1 ? "of the median of " + std::to_string(side.plain.calls)
                              : std::string("of the call without a profile");
}

std::string scatter_sentence(const MeasurementRow& row) {
  const std::string of = row.kind == "step"
                             ? std::to_string(row.calls) + " " + row.side + " steps"
                             : calls_words(row.calls, (row.kind == "profiled" ? "profiled " : "") + row.side);
  return "Half of the " + of + " took " + fixed(row.lower_ns / row.median_ns, 2) + " to " +
         fixed(row.upper_ns / row.median_ns, 2) + "× of their median.";
}

std::string far_sentence(const SideTimes& side, const std::string& name) {
  return "The " + name + " call that is shown took " + ratio_words(side.ratio()) + " " + median_words(side) +
         ".";
}

// The measurements that what is shown rests on.
std::vector<const MeasurementRow*> rows_of(const RunTimes& t, TimesOf what) {
  std::vector<const MeasurementRow*> out;
  if (what != TimesOf::ShownCall)
    out.insert(out.end(), {&t.eager.plain, &t.compiled.plain, &t.eager.step, &t.compiled.step});
  if (what != TimesOf::Calls) out.insert(out.end(), {&t.eager.profiled, &t.compiled.profiled});
  out.push_back(&t.script);
  return out;
}

std::vector<std::pair<const SideTimes*, std::string>> far_of(const RunTimes& t, TimesOf what) {
  std::vector<std::pair<const SideTimes*, std::string>> out;
  if (what == TimesOf::Calls) return out;
  if (far_from_median(t.eager)) out.emplace_back(&t.eager, "eager");
  if (far_from_median(t.compiled)) out.emplace_back(&t.compiled, "compiled");
  return out;
}

// The one of these measurements under which the machine was busiest.
const MeasurementRow* busiest(const std::vector<const MeasurementRow*>& rows) {
  const MeasurementRow* out = nullptr;
  for (const MeasurementRow* row : rows)
    if (was_busy(*row) && (!out || row->others + row->waited > out->others + out->waited)) out = row;
  return out;
}

// Of sessions without the row, what their interleaved calls tell.
MeasurementRow plain_from(const RunRow& run, const std::vector<TimingRow>& timings, const std::string& side) {
  std::vector<double> ns;
  for (const TimingRow& row : timings)
    if (row.run == run.id && row.side == side) ns.push_back(static_cast<double>(row.ns));
  MeasurementRow out;
  out.run = run.id, out.kind = "plain", out.side = side, out.calls = static_cast<int64_t>(ns.size());
  const Quartiles q = quartiles_of(ns);
  out.least_ns = q.least, out.lower_ns = q.lower, out.median_ns = q.median, out.upper_ns = q.upper,
  out.most_ns = q.most;
  if (ns.empty()) out.median_ns = side == "eager" ? run.eager_ns : run.compiled_ns;
  return out;
}

}  // namespace

bool was_busy(const MeasurementRow& row) {
  return others(row) || row.steal > kStolen || waited(row) || forced(row) || loaded(row);
}

std::string evidence_words(const MeasurementRow& row) {
  std::string out;
  auto say = [&](bool worth, const std::string& words) {
    if (worth) out += (out.empty() ? "" : ", ") + words;
  };
  say(row.others > kSomeOthers,
      "other processes kept " + fixed(row.others, 1) + " of " + std::to_string(row.cores) + " CPUs");
  say(row.steal > 0.01, "the host took " + percent(row.steal) + " of the time");
  say(row.waited > 0.01, "a thread waited " + percent(row.waited) + " of the time for a CPU");
  say(row.preempted > 0,
      std::to_string(row.preempted) + (row.preempted == 1 ? " switch was" : " switches were") + " forced");
  say(only_load(row) && row.load >= 0, "the load was " + fixed(row.load, 1));
  return out;
}

bool scatters(const MeasurementRow& row) {
  return row.calls >= kFewestForScatter && row.median_ns > 0 &&
         (row.upper_ns - row.lower_ns) > kScatter * row.median_ns;
}

std::string far_from_half(double ns, double lower_ns, double upper_ns, int64_t calls) {
  if (calls < kFewestForScatter || ns <= 0 || lower_ns <= 0) return "";
  if (ns > upper_ns * kFar) return ratio_words(ns / upper_ns) + " of their upper end";
  if (ns < lower_ns / kFar) return ratio_words(ns / lower_ns) + " of their lower end";
  return "";
}

std::string RunTimes::step_speed_up() const {
  if (!has_steps()) return "";
  auto timed = [](const MeasurementRow& row) {
    return Timed{row.median_ns, row.lower_ns, row.upper_ns, row.calls};
  };
  const std::string words = against_words(timed(eager.step), timed(compiled.step));
  return words.empty() ? "too few steps for a speed-up" : words;
}

std::string RunTimes::basis(const std::string& side) const {
  const SideTimes& of = side == "eager" ? eager : compiled;
  if (of.kept_ns <= 0) return "";
  std::string out =
      of.profiled.calls > 0 ? "one of " + calls_words(of.profiled.calls, "profiled") : "one profiled call";
  if (of.ratio() <= 0) return out;
  return out + (far_from_median(of) ? "; this call took " : ", ") + ratio_words(of.ratio()) + " " +
         median_words(of);
}

std::string RunTimes::doubt(TimesOf what) const {
  const auto rows = rows_of(*this, what);
  std::string out;
  auto say = [&](const std::string& sentence) { out += (out.empty() ? "" : " ") + sentence; };
  for (const auto& [side, name] : far_of(*this, what)) say(far_sentence(*side, name));
  for (const MeasurementRow* row : rows)
    if (scatters(*row)) say(scatter_sentence(*row));
  if (const MeasurementRow* row = busiest(rows)) say("The machine was busy: " + evidence_words(*row) + ".");
  return out;
}

std::string RunTimes::short_doubt(TimesOf what) const {
  const auto rows = rows_of(*this, what);
  std::string out;
  auto say = [&](const std::string& words) { out += (out.empty() ? "" : ", ") + words; };
  if (busiest(rows)) say("busy machine");
  bool some = false;
  for (const MeasurementRow* row : rows) some = some || scatters(*row);
  if (some) say("calls scatter");
  for (const auto& [side, name] : far_of(*this, what))
    say(name + " call " + ratio_words(side->ratio()) + " of median");
  return out;
}

RunTimes times_of(const RunRow& run, const std::vector<TimingRow>& timings,
                  const std::vector<MeasurementRow>& measurements,
                  const std::map<std::string, std::string>& meta) {
  RunTimes out;
  out.speed_up = speed_up(run, timings);
  for (auto [side, name] : {std::pair(&out.eager, "eager"), std::pair(&out.compiled, "compiled")}) {
    side->plain = plain_from(run, timings, name);
    for (const MeasurementRow& row : measurements) {
      if (row.run != run.id) continue;
      if (row.kind == "script") out.script = row;
      if (row.side != name) continue;
      if (row.kind == "plain") side->plain = row;
      if (row.kind == "step") side->step = row;
      if (row.kind == "profiled") side->profiled = row, side->kept_ns = row.kept_ns;
    }
    const auto kept = meta.find(std::string("profiled_") + name + "_ns");
    if (side->kept_ns <= 0 && kept != meta.end() && side->plain.median_ns > 0)
      side->kept_ns = std::strtod(kept->second.c_str(), nullptr);
  }
  return out;
}

}  // namespace vitrine::session
