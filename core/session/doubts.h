// What is said of the times of a run beside them: how many calls they are of, how these scatter, whether the
// call whose slices are shown stands for the others, and whether the machine was busy with something else.
// The same words on the command line and in every view; nothing is scaled by any of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/session/rows.h"
#include "core/session/speed_up.h"

namespace vitrine::session {

// Of which times: those of the interleaved calls (run, speed-up), or those of the call that is shown
// (timeline, kernels, launches, roofline).
enum class TimesOf { Calls, ShownCall, Both };

struct SideTimes {
  MeasurementRow plain, profiled;  // calls 0: none
  MeasurementRow step;             // of a script that ran twice: its steady steps
  double kept_ns = 0;              // duration of the call that is shown; 0: none is
  double ratio() const { return kept_ns > 0 && plain.median_ns > 0 ? kept_ns / plain.median_ns : 0; }
};

struct RunTimes {
  SpeedUp speed_up;
  SideTimes eager, compiled;
  MeasurementRow script;  // the evidence of a script's run; wall_ns 0: it is none

  bool has_steps() const { return eager.step.calls > 0 && compiled.step.calls > 0; }
  // Of a script's steps: "1.71×", "no difference seen", "too few steps for a speed-up"; "" where none were
  // measured on both sides.
  std::string step_speed_up() const;
  // "one of 25 profiled calls, 1.03× of the median of 20"; far from it "one of 25 profiled calls; this call
  // took 1.7× of the median of 20". "" when no call is shown.
  std::string basis(const std::string& side) const;
  // What heads a column of launches' times: "this call" where these are of the call that is shown.
  std::string launch_title() const { return compiled.kept_ns > 0 ? "this call" : "time"; }
  // "The machine was busy: other processes kept 1.9 of 2 CPUs, 412 switches were forced. Half of the 20
  // compiled calls took 0.7 to 1.8× of their median." "" where there is nothing to say.
  std::string doubt(TimesOf what) const;
  // The same where there is little room: "busy machine, calls scatter".
  std::string short_doubt(TimesOf what) const;
};

// meta: of the session, where earlier versions keep how long the profiled calls took.
RunTimes times_of(const RunRow& run, const std::vector<TimingRow>& timings,
                  const std::vector<MeasurementRow>& measurements,
                  const std::map<std::string, std::string>& meta);

// Whether this evidence is of a machine that did other work.
bool was_busy(const MeasurementRow& row);
// "other processes kept 1.9 of 2 CPUs, the host took 12 % of the time"
std::string evidence_words(const MeasurementRow& row);
// "0.98 to 1.31 ms" -> as factors: whether the middle half of these calls is far from their median.
bool scatters(const MeasurementRow& row);
// A time of the call that is shown, beside what half of the calls took: "1.7× of their upper end", or of the
// lower one. "" where it is not far from these, or they are too few.
std::string far_from_half(double ns, double lower_ns, double upper_ns, int64_t calls);

}  // namespace vitrine::session
