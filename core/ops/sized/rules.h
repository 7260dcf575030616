// What rules of sized_types() share, and its rows by family.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "core/ops/layout.h"

namespace vitrine::ops {

struct SizedRow {
  std::string_view op;
  ShapeRule types;
};
std::span<const SizedRow> sized_elementwise();
std::span<const SizedRow> sized_fourier();
std::span<const SizedRow> sized_linear_algebra();
std::span<const SizedRow> sized_windows();
std::span<const SizedRow> sized_others();

inline const TensorType& whole(const TensorType& t) {
  need(t.is_contiguous() && t.numel() > 0, "gaps, or no elements");
  return t;
}
inline TensorType of_sizes(const TensorType& like, Dims sizes) {
  return TensorType::contiguous(like.dtype, std::move(sizes));
}
// One number stands for every spatial dimension.
inline Sym spatial(const Dims& list, size_t i) {
  need(!list.empty(), "an empty list");
  return list.size() == 1 ? list[0] : list.at(i);
}

// As large as an argument, in memory of its own.
template <size_t argument>
Types same(const Call& c) {
  const TensorType& t = whole(c.tensor(argument));
  return {of_sizes(t, t.sizes)};
}
template <size_t first, size_t second>
Types same_two(const Call& c) {
  const TensorType &a = whole(c.tensor(first)), &b = whole(c.tensor(second));
  return {of_sizes(a, a.sizes), of_sizes(b, b.sizes)};
}

}  // namespace vitrine::ops
