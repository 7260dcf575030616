// Factors and solutions, as LAPACK gives them.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

// LAPACK's matrices lie column by column, and each tells of its failure.
TensorType by_columns(const TensorType& t, Dims sizes) {
  TensorType out = of_sizes(t, std::move(sizes));
  std::swap(out.strides.at(out.strides.size() - 1), out.strides.at(out.strides.size() - 2));
  out.strides[out.strides.size() - 1] = out.sizes[out.sizes.size() - 2];
  return out;
}
const TensorType& squares(const TensorType& t) {
  const size_t n = t.sizes.size();
  need(n >= 2 && t.numel() > 0 && t.sizes[n - 1] == t.sizes[n - 2], "no square matrices");
  return t;
}
TensorType told(const TensorType& t) {
  return TensorType::contiguous(DType::i32, Dims(t.sizes.begin(), t.sizes.end() - 2));
}
Types factored(const Call& c) {
  const TensorType& t = squares(c.tensor(0));
  return {by_columns(t, t.sizes), told(t)};
}
// A and B at these places, as many matrices in each: the result lies as B, by columns.
template <size_t first, size_t second>
Types solved_for(const Call& c) {
  const TensorType &a = squares(c.tensor(first)), &b = c.tensor(second);
  need(b.sizes.size() == a.sizes.size() && a.dtype == b.dtype && b.numel() > 0, "other matrices");
  for (size_t d = 0; d + 2 < a.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other matrices");
  return {by_columns(b, b.sizes)};
}
Types solved_by_factors(const Call& c) {  // LU, pivots, B, left, adjoint
  need(c.flag(3), "the other side");
  return solved_for<0, 2>(c);
}
// A, B, left, check_errors: the result, A's factors, pivots, failures
Types solved(const Call& c) {
  const TensorType &a = squares(c.tensor(0)), &b = whole(c.tensor(1));
  need(c.flag(2) && b.sizes.size() == a.sizes.size() && a.dtype == b.dtype, "vectors, or another side");
  for (size_t d = 0; d + 1 < a.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other matrices");
  Dims pivots(a.sizes.begin(), a.sizes.end() - 1);
  return {by_columns(b, b.sizes), by_columns(a, a.sizes), TensorType::contiguous(DType::i32, pivots),
          told(a)};
}

constexpr SizedRow kSizedLinearAlgebra[] = {
    {"aten.linalg_matrix_exp.default", covered<same<0>>},
    {"aten.linalg_inv_ex.default", covered<factored>},
    {"aten.linalg_cholesky_ex.default", covered<factored>},
    {"aten._linalg_solve_ex.default", covered<solved>},
    {"aten.linalg_solve_triangular.default", covered<solved_for<0, 1>>},
    {"aten.linalg_lu_solve.default", covered<solved_by_factors>},
};

}  // namespace

std::span<const SizedRow> sized_linear_algebra() {
  return kSizedLinearAlgebra;
}

}  // namespace vitrine::ops
