#include "views/kit/tables/column_fit.h"

#include <algorithm>

namespace vitrine::kit {

namespace {

// The widest that texts may be, so that all of them together take no more than `room`.
int textLimit(std::vector<int> needs, int room) {
  std::sort(needs.begin(), needs.end());
  int texts = static_cast<int>(needs.size());
  for (const int need : needs) {
    if (need * texts > room) return room / texts;
    room -= need;
    --texts;
  }
  return needs.empty() ? 0 : needs.back();
}

}  // namespace

std::vector<int> sharedWidths(const std::vector<ColumnNeed>& columns, int available, int least) {
  std::vector<int> texts;
  int room = available;
  for (const ColumnNeed& column : columns)
    if (column.text)
      texts.push_back(column.need);
    else
      room -= column.need;
  const int limit = std::max(least, textLimit(texts, std::max(0, room)));
  std::vector<int> widths;
  int left = available, wished = 0;
  for (const ColumnNeed& column : columns) {
    widths.push_back(column.text ? std::min(column.need, std::max(limit, column.least)) : column.need);
    left -= widths.back();
    wished += std::max(0, column.wish - widths.back());
  }
  if (left <= 0 || wished <= 0) return widths;
  const int given = std::min(left, wished);
  for (size_t i = 0; i < columns.size(); ++i)
    widths[i] += given * std::max(0, columns[i].wish - widths[i]) / wished;
  return widths;
}

}  // namespace vitrine::kit
