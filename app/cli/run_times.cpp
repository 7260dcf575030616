#include "app/cli/run_times.h"

#include <algorithm>
#include <map>

#include "app/cli/text_table.h"

namespace vitrine::cli {

using namespace session;

namespace {

std::map<std::string, std::string> meta_of(const Reader& s) {
  std::map<std::string, std::string> out;
  for (MetaRow& row : s.all<MetaRow>()) out[row.key] = std::move(row.value);
  return out;
}

template <class F>
std::string of_runs(const Reader& s, F words) {
  std::string out;
  const auto runs = s.all<RunRow>();
  for (const RunRow& run : runs)
    for (const std::string& line : words(times_of(s, run)))
      if (!line.empty()) out += (runs.size() > 1 ? run.label + ": " : "") + line + "\n";
  return out.empty() ? "" : "\n" + out;
}

std::string basis_line(const RunTimes& times, const std::string& side) {
  const std::string basis = times.basis(side);
  return basis.empty() ? ""
                       : std::string(side == "eager" ? "Eager" : "Compiled") + " times are of " + basis + ".";
}

// "20 calls a side: half of eager's took 695 ms to 724 ms, of the compiled ones 508 ms to 521 ms; the
// speed-up is 1.23 to 1.43× (95 % interval)."
std::string spread_line(const RunTimes& t) {
  const MeasurementRow &eager = t.eager.plain, &compiled = t.compiled.plain;
  if (eager.calls < 2 || compiled.calls < 2) return "";
  const SpeedUp& up = t.speed_up;
  return std::to_string(up.calls) + " calls a side: half of eager's took " +
         middle_half(eager.lower_ns, eager.upper_ns, eager.calls) + ", of the compiled ones " +
         middle_half(compiled.lower_ns, compiled.upper_ns, compiled.calls) +
         (up.known() ? "; the speed-up is " + up.range() + " (95 % interval)." : ".");
}

// "A step: eager 135 ms (half of them 125 ms to 137 ms), compiled 78.5 ms (76.1 ms to 79.9 ms), 5 steps each:
// 1.71×. ..."
std::string step_line(const RunTimes& t) {
  if (!t.has_steps()) return "";
  auto side = [](const MeasurementRow& row, const std::string& before) {
    return nanoseconds(row.median_ns) + " (" + before + middle_half(row.lower_ns, row.upper_ns, row.calls) +
           ")";
  };
  return "A step: eager " + side(t.eager.step, "half of them ") + ", compiled " + side(t.compiled.step, "") +
         ", " + std::to_string(t.eager.step.calls) + " steps each: " + t.step_speed_up() +
         ". The script ran twice, compiled and recorded, then eagerly; medians of the steps of the same "
         "numbers, in which nothing was compiled.";
}

// "The call that is shown is far from half of the calls in K3 (2.1× of their upper end) and 4 more." "": in
// none.
std::string far_line(const Reader& s) {
  std::string out;
  size_t far = 0;
  for (const LaunchRow& l : s.all<LaunchRow>("ORDER BY compilation, ordinal")) {
    const std::string words = far_from_half(l.median_ns, l.lower_ns, l.upper_ns, l.calls);
    if (!l.kernel || words.empty() || ++far > 1) continue;
    out = "The call that is shown is far from half of the calls in " + l.text + " (" + words + ")";
  }
  if (far > 1) out += " and " + std::to_string(far - 1) + " more";
  return out.empty() ? out : out + ".\n";
}

}  // namespace

RunTimes times_of(const Reader& s, const RunRow& run) {
  return session::times_of(run, s.rows<TimingRow>("run = ?1", {run.id}),
                           s.rows<MeasurementRow>("run = ?1", {run.id}), meta_of(s));
}

std::string shown_call_notes(const Reader& s) {
  const std::string notes = of_runs(s, [](const RunTimes& t) {
    return std::vector{basis_line(t, "eager"), basis_line(t, "compiled"), t.doubt(TimesOf::ShownCall)};
  });
  return notes.empty() ? notes : notes + far_line(s);
}

std::string launch_title(const Reader& s) {
  for (const RunRow& run : s.all<RunRow>())
    if (const std::string title = times_of(s, run).launch_title(); title != "time") return title;
  return "time";
}

std::string call_notes(const Reader& s) {
  return of_runs(s, [](const RunTimes& t) {
    return std::vector{spread_line(t), step_line(t), t.doubt(TimesOf::Calls)};
  });
}

std::string step_notes(const Reader& s) {
  return of_runs(s, [](const RunTimes& t) { return std::vector{step_line(t)}; });
}

std::string middle_half(double lower_ns, double upper_ns, int64_t calls) {
  return calls > 1 && lower_ns > 0 ? nanoseconds(lower_ns) + " to " + nanoseconds(upper_ns) : "–";
}

std::string kept_calls(const Reader& s) {
  std::map<Id, int64_t> kept;
  for (const CallRow& row : s.all<CallRow>()) ++kept[row.compilation];
  int64_t all = 0, rows = 0;
  for (const CompilationRow& row : s.all<CompilationRow>()) {
    all += std::max(row.calls, kept[row.id]);
    rows += kept[row.id];
  }
  return rows < all ? std::to_string(rows) + " of " + std::to_string(all) +
                          " calls are kept: the first of each compilation"
                    : "";
}

}  // namespace vitrine::cli
