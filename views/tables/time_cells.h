// What tables say beside the times of launches: how the calls scatter, and which call it is.
#pragma once

#include "views/kit/session/run_times.h"
#include "views/tables/cells.h"
#include "views/tables/tables.h"

namespace vitrine::views {

// "1.20 to 1.42 µs": the middle half of the profiled calls.
inline kit::Cell spread_cell(double lower_ns, double upper_ns, int64_t calls) {
  const QString text = kit::middleHalf(lower_ns, upper_ns, calls);
  kit::Cell out{text.isEmpty() ? kit::unknown() : text};
  out.sort = upper_ns - lower_ns;
  out.quiet = true;
  if (!text.isEmpty()) out.tooltip = QStringLiteral("half of %1 profiled calls took so long").arg(calls);
  return out;
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
