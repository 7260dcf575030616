// Cells that several tables are made of.
#pragma once

#include <algorithm>
#include <string_view>

#include "views/kit/tables/item_model.h"
#include "views/kit/text/numbers.h"
#include "views/kit/text/qt_text.h"

namespace vitrine::views {

// Tables call their scope `s`.
inline QString q(std::string_view text) {
  return vitrine::s(text);
}

// What is not known (0) is a dash.
inline kit::Cell number(double value, const kit::MeasureUnit& unit) {
  kit::Cell cell{value > 0 ? unit.format(value) : kit::unknown()};
  cell.sort = value;
  return cell;
}
inline kit::Cell number(int64_t n) {
  kit::Cell cell{QString::number(n)};
  cell.sort = static_cast<double>(n);
  return cell;
}

template <class Rows, class Get>
kit::Extent extent(const Rows& rows, Get get) {
  kit::Extent out;
  for (const auto& row : rows) out.add(static_cast<double>(get(row)));
  return out;
}
template <class Rows, class Get>
double largest(const Rows& rows, Get get) {
  double out = 0;
  for (const auto& row : rows) out = std::max(out, static_cast<double>(get(row)));
  return out;
}

inline QString unit_title(const char* title, const kit::MeasureUnit& unit) {
  return QStringLiteral("%1, %2").arg(QString::fromUtf8(title), unit.name);
}

}  // namespace vitrine::views
