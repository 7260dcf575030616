// What rules of sized_types() share, and its rows by family.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "core/ops/layout.h"
#include "core/ops/rules.h"

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
// The types of complex numbers and of their parts, as wide as each other.
inline bool is_double(DType t) {
  return t == DType::f64 || t == DType::c128;
}
inline DType complex_like(DType t) {
  return is_double(t) ? DType::c128 : DType::c64;
}
inline DType real_like(DType t) {
  return is_double(t) ? DType::f64 : DType::f32;
}
inline void need_complex(DType t) {
  need(t == DType::c64 || t == DType::c128, "another type");
}
inline void need_single_or_double(DType t) {
  need(t == DType::f32 || t == DType::f64, "another type");
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
