// What is said of the outputs of a run, in the same words on the command line and in every view.
#pragma once

#include <algorithm>
#include <string>

#include "core/session/rows.h"

namespace vitrine::session {

// Values of `row` are outside the tolerance, and as near to a float64 result as eager's are.
inline bool as_exact(const AccuracyRow& row) {
  return row.verdict == "close" && row.mismatched > 0;
}

// From best to worst: "equal eager", "close to eager", "as exact as eager", "differ from eager"; of several
// rows the worst is said. "" of none.
template <class Rows>
std::string verdict_words(const Rows& rows) {
  int worst = 0;
  for (const AccuracyRow& row : rows)
    worst = std::max(worst, row.verdict == "differs" ? 4
                            : as_exact(row)          ? 3
                            : row.verdict == "close" ? 2
                                                     : 1);
  return worst == 4   ? "differ from eager"
         : worst == 3 ? "as exact as eager"
         : worst == 2 ? "close to eager"
         : worst == 1 ? "equal eager"
                      : "";
}

}  // namespace vitrine::session
