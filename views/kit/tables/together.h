// Rows of equal things: one for all of them, which has their count and their totals, and one for each below.
#pragma once

#include <QStringList>

#include "views/kit/tables/item_model.h"

namespace vitrine::kit {

// row_of: the row of one or more. Of one thing that row alone.
template <class T, class RowOf>
Item rowTogether(const std::vector<T>& equal, RowOf row_of) {
  Item out = row_of(equal);
  out.together = equal.size() > 1;
  for (const T& each : equal)
    if (out.together) out.children.push_back(row_of(std::vector<T>{each}));
  return out;
}

// "K1 +47": the first of 48; the tooltip names all, where they are not too many.
Cell firstOf(const QStringList& labels);

}  // namespace vitrine::kit
