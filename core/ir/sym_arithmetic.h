// 64-bit arithmetic that tells overflow (whole) or stops at the ends (bounds), and polynomials in normal
// form.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/base/result.h"
#include "core/ir/sym.h"

namespace vitrine::ir {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

inline std::optional<int64_t> try_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<int64_t> try_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline int64_t whole(std::optional<int64_t> value) {
  VITRINE_CHECK(value.has_value(), "a size leaves 64 bits");
  return *value;
}
inline int64_t bounded_add(int64_t a, int64_t b) {
  return try_add(a, b).value_or(a > 0 ? kHighest : kLowest);
}
inline int64_t bounded_mul(int64_t a, int64_t b) {
  return try_mul(a, b).value_or((a > 0) == (b > 0) ? kHighest : kLowest);
}
// Rounds down. b is not 0, and not both a the lowest number and b -1.
inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

inline bool answers(SymRelation relation, int64_t value, int64_t bound) {
  switch (relation) {
    case SymRelation::Eq:
      return value == bound;
    case SymRelation::Ne:
      return value != bound;
    case SymRelation::Le:
      return value <= bound;
    case SymRelation::Ge:
      return value >= bound;
  }
  return false;
}

inline Polynomial polynomial(const Sym& value) {
  return value.expr() ? value.expr()->sum : Polynomial{{}, value.hint()};
}
Polynomial sum_of(const Polynomial& a, const Polynomial& b);
Polynomial scaled(const Polynomial& a, int64_t factor);
Polynomial product_of(const Polynomial& a, const Polynomial& b);
int64_t common_divisor(const Polynomial& sum, int64_t start = 0);  // of the terms' factors and start

}  // namespace vitrine::ir
