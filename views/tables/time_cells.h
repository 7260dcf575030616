// What tables say beside the times of launches: how the calls scatter, and which call it is.
#pragma once

#include "views/kit/session/run_times.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

// "1.20 to 1.42 µs": the middle half of the profiled calls. ns: of the call that stands beside it; far from
// that half it is marked.
inline kit::Cell spread_cell(double ns, double lower_ns, double upper_ns, int64_t calls) {
  const QString text = kit::middleHalf(lower_ns, upper_ns, calls);
  kit::Cell out{text.isEmpty() ? kit::unknown() : text};
  out.sort = upper_ns - lower_ns;
  out.quiet = true;
  if (!text.isEmpty()) out.tooltip = QStringLiteral("half of %1 profiled calls took so long").arg(calls);
  if (const QString far = q(session::far_from_half(ns, lower_ns, upper_ns, calls)); !far.isEmpty()) {
    out.icon = QStringLiteral("warning");
    out.tone = kit::Tone::Warn;
    out.tooltip +=
        QStringLiteral("; the call that is shown took %1, which is %2").arg(kit::timeText(ns), far);
  }
  return out;
}

// "half of 25 calls" where all launches were met in as many, else "half of the calls".
template <class Launches>
QString half_title(const Launches& launches) {
  int64_t calls = 0;
  for (const session::LaunchRow& launch : launches) {
    if (calls && launch.calls && launch.calls != calls) return QStringLiteral("half of the calls");
    calls = std::max(calls, launch.calls);
  }
  return calls > 1 ? QStringLiteral("half of %1 calls").arg(calls) : QStringLiteral("half of the calls");
}

// "this call, µs": a time is of the call that is shown, or a median.
inline QString launch_time_title(const TableScope& s, const kit::MeasureUnit& unit) {
  const std::string title = kit::runTimes(s.data, s.data.runOf(s.compilation)).launch_title();
  return unit_title(title.c_str(), unit);
}

// The words at the beginning of a subtitle, behind the number that stands there: its view's tab shows it.
inline QString after_count(const QString& text, const QString& words) {
  if (words.isEmpty() || text.isEmpty()) return text + words;
  const QString first = text.section(',', 0, 0), rest = text.section(',', 1);
  bool counted = false;
  first.toLongLong(&counted);
  return counted ? first + ", " + words + (rest.isEmpty() ? rest : ";" + rest) : words + "; " + text;
}

// "busy machine; 4 generated, 3 library, 1 PyTorch; times: one of 25 profiled calls, 1.03× of the median of
// 20".
inline QString with_times(const TableScope& s, const QString& text) {
  const session::RunTimes times = kit::runTimes(s.data, s.data.runOf(s.compilation));
  const QString basis = q(times.basis("compiled"));
  const QString all = basis.isEmpty() ? text : text + (text.isEmpty() ? "times: " : "; times: ") + basis;
  return after_count(all, q(times.short_doubt(session::TimesOf::ShownCall)));
}

}  // namespace vitrine::views
