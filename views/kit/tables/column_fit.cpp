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

// The widest that a text is where the others have what they need.
int limitOf(const std::vector<ColumnNeed>& columns, int available, int least) {
  std::vector<int> texts;
  for (const ColumnNeed& column : columns)
    if (column.text)
      texts.push_back(column.need);
    else
      available -= column.need;
  return std::max(least, textLimit(texts, std::max(0, available)));
}

// Whether names may have what they keep: all other texts have `least` all the same, or what they need. Where
// one has to scroll whatever names have, cutting them gains nothing.
bool namesStayWhole(const std::vector<ColumnNeed>& columns, int available, int least) {
  int whole = 0, cut = 0;
  for (const ColumnNeed& column : columns) {
    const int shared = std::min(column.need, std::max(least, column.least));
    whole += !column.text ? column.need : column.keeps ? std::min(column.need, column.keeps) : shared;
    cut += column.text ? shared : column.need;
  }
  return whole <= available || cut > available;
}

}  // namespace

std::vector<int> sharedWidths(const std::vector<ColumnNeed>& wanted, int available, int least) {
  std::vector<ColumnNeed> columns = wanted;
  const bool whole = namesStayWhole(columns, available, least);
  for (ColumnNeed& column : columns)
    if (whole && column.keeps) column.need = std::min(column.need, column.keeps), column.text = false;
  int limit = limitOf(columns, available, least);
  // A name that keeps more than its part leaves less to the others.
  for (bool again = true; again; limit = limitOf(columns, available, least)) {
    again = false;
    for (ColumnNeed& column : columns)
      if (column.text && std::min(column.need, column.least) > limit)
        column.need = std::min(column.need, column.least), column.text = false, again = true;
  }
  std::vector<int> widths;
  int left = available, wished = 0;
  for (const ColumnNeed& column : columns) {
    widths.push_back(column.text ? std::min(column.need, limit) : column.need);
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
