#include "core/ops/sized/types.h"

#include <algorithm>

#include "core/ops/sized/rules.h"

namespace vitrine::ops {

ShapeRule sized_types(std::string_view op) {
  for (const std::span<const SizedRow> rows :
       {sized_elementwise(), sized_fourier(), sized_linear_algebra(), sized_windows(), sized_others()})
    if (const auto at = std::ranges::find(rows, op, &SizedRow::op); at != rows.end()) return at->types;
  return nullptr;
}

}  // namespace vitrine::ops
