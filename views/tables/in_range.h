// A table while a piece of the timeline is selected: only what is at work there, and for how long.
#pragma once

#include "views/kit/selection/selection.h"
#include "views/kit/session/range_work.h"
#include "views/tables/table_view.h"

namespace vitrine::views {

inline bool selects(const kit::TimeRange& range) {
  return range.from_ns < range.to_ns;
}

// Behind the first column that stretches, which is the name's.
int range_column(const std::vector<kit::Column>& columns);

// Rows of what is not at work go, those that stay tell the time that they are, in a column of its own.
void keep_in_range(TableContent& content, const kit::RangeWork& work);

}  // namespace vitrine::views
