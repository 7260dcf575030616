// Factors and solutions, as LAPACK gives them: matrices lie column by column, and each tells of its failure.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

TensorType by_columns(const TensorType& t, Dims sizes) {
  TensorType out = of_sizes(t, std::move(sizes));
  std::swap(out.strides.at(out.strides.size() - 1), out.strides.at(out.strides.size() - 2));
  out.strides[out.strides.size() - 1] = out.sizes[out.sizes.size() - 2];
  return out;
}
const TensorType& matrices(const TensorType& t) {
  need(t.sizes.size() >= 2 && t.numel() > 0, "no matrices");
  return t;
}
const TensorType& squares(const TensorType& t) {
  matrices(t);
  need(t.sizes[t.sizes.size() - 1] == t.sizes[t.sizes.size() - 2], "no square matrices");
  return t;
}
Dims batch_of(const TensorType& t) {
  return {t.sizes.begin(), t.sizes.end() - 2};
}
Sym rows_of(const TensorType& t) {
  return t.sizes[t.sizes.size() - 2];
}
Sym columns_of(const TensorType& t) {
  return t.sizes.back();
}
Sym shorter_side(const TensorType& t) {
  return ir::min(rows_of(t), columns_of(t));
}
Dims batched(const TensorType& t, std::initializer_list<Sym> last) {
  Dims out = batch_of(t);
  out.insert(out.end(), last);
  return out;
}
TensorType told(const TensorType& t) {
  return TensorType::contiguous(DType::i32, batch_of(t));
}
TensorType pivots(const TensorType& t) {
  return TensorType::contiguous(DType::i32, batched(t, {shorter_side(t)}));
}
TensorType nothing(const TensorType& t) {
  return of_sizes(t, {0});
}
void same_batch(const TensorType& a, const TensorType& b) {
  need(b.sizes.size() == a.sizes.size() && a.dtype == b.dtype && b.numel() > 0, "other matrices");
  for (size_t d = 0; d + 2 < a.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other matrices");
}

Types factored(const Call& c) {
  const TensorType& t = squares(c.tensor(0));
  return {by_columns(t, t.sizes), told(t)};
}
Types inverse_of_factor(const Call& c) {
  const TensorType& t = squares(c.tensor(0));
  return {by_columns(t, t.sizes)};
}
Types lu_factored(const Call& c) {  // with pivots, and what failed
  const TensorType& t = matrices(c.tensor(0));
  return {by_columns(t, t.sizes), pivots(t), told(t)};
}
Types lu(const Call& c) {  // P, L, U
  const TensorType& t = matrices(c.tensor(0));
  need(c.flag(1), "without pivots");
  const Sym m = rows_of(t), n = columns_of(t), k = shorter_side(t);
  return {of_sizes(t, batched(t, {m, m})), of_sizes(t, batched(t, {m, k})), of_sizes(t, batched(t, {k, n}))};
}
Types lu_unpacked(const Call& c) {  // LU, pivots, unpack_data, unpack_pivots
  const TensorType& t = matrices(c.tensor(0));
  const Sym m = rows_of(t), n = columns_of(t), k = shorter_side(t);
  const bool data = c.flag(2);
  return {c.flag(3) ? of_sizes(t, batched(t, {m, m})) : nothing(t),
          data ? of_sizes(t, batched(t, {m, k})) : nothing(t),
          data ? of_sizes(t, batched(t, {k, n})) : nothing(t)};
}
Types ldl_factored(const Call& c) {
  const TensorType& t = squares(c.tensor(0));
  return {by_columns(t, t.sizes), pivots(t), told(t)};
}
Types qr(const Call& c) {  // A, mode
  const TensorType& t = matrices(c.tensor(0));
  const Sym m = rows_of(t), n = columns_of(t), k = shorter_side(t);
  const std::string mode = c.text(1);
  const Sym inner = mode == "complete" ? m : k;
  const TensorType r = by_columns(t, batched(t, {inner, n}));
  return {mode == "r" ? nothing(t) : by_columns(t, batched(t, {m, inner})), r};
}
Types svd(const Call& c) {  // A, full_matrices, compute_uv: U, S, Vh
  const TensorType& t = matrices(c.tensor(0));
  need(ir::is_float(t.dtype), "another type");
  const Sym m = rows_of(t), n = columns_of(t), k = shorter_side(t);
  const bool full = c.flag(1), vectors = c.flag(2);
  return {vectors ? by_columns(t, batched(t, {m, full ? m : k})) : nothing(t), of_sizes(t, batched(t, {k})),
          vectors ? by_columns(t, batched(t, {full ? n : k, n})) : nothing(t)};
}
Types eigh(const Call& c) {  // A, UPLO, compute_v: values, vectors
  const TensorType& t = squares(c.tensor(0));
  need(ir::is_float(t.dtype), "another type");
  return {of_sizes(t, batched(t, {rows_of(t)})), c.flag(2) ? by_columns(t, t.sizes) : nothing(t)};
}
Types eig(const Call& c) {
  TensorType t = squares(c.tensor(0));
  need_single_or_double(t.dtype);
  t.dtype = complex_like(t.dtype);
  return {of_sizes(t, batched(t, {rows_of(t)})), by_columns(t, t.sizes)};
}
Types det(const Call& c) {  // with its factors
  const TensorType& t = squares(c.tensor(0));
  return {of_sizes(t, batch_of(t)), by_columns(t, t.sizes), pivots(t)};
}
Types slogdet(const Call& c) {  // sign, logarithm, factors
  const TensorType& t = squares(c.tensor(0));
  need(ir::is_float(t.dtype), "another type");
  const TensorType number = of_sizes(t, batch_of(t));
  return {number, number, by_columns(t, t.sizes), pivots(t)};
}
Types pseudo_inverse(const Call& c) {
  const TensorType& t = matrices(c.tensor(0));
  return {of_sizes(t, batched(t, {columns_of(t), rows_of(t)}))};
}

// A and B at these places, as many matrices in each: the result lies as B, by columns.
template <size_t first, size_t second>
Types solved_for(const Call& c) {
  const TensorType &a = squares(c.tensor(first)), &b = c.tensor(second);
  same_batch(a, b);
  return {by_columns(b, b.sizes)};
}
TensorType of_matrices(const TensorType& a, const TensorType& b, bool left) {
  same_batch(a, b);
  need((left ? rows_of(b) : columns_of(b)) == rows_of(a), "other matrices");
  return left ? by_columns(b, b.sizes) : of_sizes(b, b.sizes);
}
Types solved_by_factors(const Call& c) {  // LU, pivots, B, left, adjoint
  const TensorType &a = squares(c.tensor(0)), &b = c.tensor(2);
  return {of_matrices(a, b, c.flag(3))};
}
// B, A: the result, and a copy of A.
Types solved_for_triangle(const Call& c) {
  const TensorType& a = squares(c.tensor(1));
  return {solved_for<1, 0>(c)[0], by_columns(a, a.sizes)};
}
// B of one dimension less than A: a vector for each matrix, whose elements lie apart.
TensorType of_vectors(const TensorType& a, const TensorType& b) {
  need(a.dtype == b.dtype && b.numel() > 0, "other vectors");
  for (size_t d = 0; d < b.sizes.size(); ++d) need(a.sizes[d] == b.sizes[d], "other vectors");
  need(a.sizes.size() == 2, "a batch of vectors");
  return of_sizes(b, b.sizes);
}
// A, B, left, check_errors: the result, A's factors, pivots, failures
Types solved(const Call& c) {
  const TensorType &a = squares(c.tensor(0)), &b = c.tensor(1);
  const bool vectors = b.sizes.size() + 1 == a.sizes.size();
  need(c.flag(2) || !vectors, "a vector on the left");
  return {vectors ? of_vectors(a, b) : of_matrices(a, b, c.flag(2)), by_columns(a, a.sizes), pivots(a),
          told(a)};
}
// As large as an argument, by columns.
template <size_t argument>
Types reflected(const Call& c) {
  const TensorType& t = matrices(c.tensor(argument));
  return {by_columns(t, t.sizes)};
}

// Products of a vector, and of a batch that is added up: self, and two operands.
Types addmv(const Call& c) {
  const TensorType &m = c.tensor(1), &v = c.tensor(2);
  need(m.sizes.size() == 2 && v.sizes.size() == 1 && m.numel() > 0 && m.dtype == v.dtype, "a product");
  need(m.sizes[1] == v.sizes[0] && c.tensor(0).dtype == m.dtype, "a product");
  return {of_sizes(m, {m.sizes[0]})};
}
Types addr(const Call& c) {
  const TensorType &a = c.tensor(1), &b = c.tensor(2);
  need(a.sizes.size() == 1 && b.sizes.size() == 1 && a.dtype == b.dtype, "an outer product");
  need(whole(c.tensor(0)).dtype == a.dtype && a.numel() > 0 && b.numel() > 0, "an outer product");
  return {of_sizes(a, {a.sizes[0], b.sizes[0]})};
}
Types addbmm(const Call& c) {
  const TensorType &a = c.tensor(1), &b = c.tensor(2);
  need(a.sizes.size() == 3 && b.sizes.size() == 3 && a.dtype == b.dtype, "a product");
  need(a.numel() > 0 && b.numel() > 0 && a.sizes[2] == b.sizes[1], "a product");
  return {of_sizes(a, {a.sizes[1], b.sizes[2]})};
}
Types number_of_two(const Call& c) {
  const TensorType &a = c.tensor(0), &b = c.tensor(1);
  need(a.dtype == b.dtype && a.numel() > 0 && b.numel() > 0, "another type");
  return {of_sizes(a, {})};
}
Types block_diag(const Call& c) {
  Sym rows = 0, columns = 0;
  const std::vector<const TensorType*> blocks = c.tensors(0);
  need(!blocks.empty(), "no blocks");
  for (const TensorType* t : blocks) {
    need(t && t->dtype == blocks[0]->dtype && t->sizes.size() <= 2, "another block");
    rows += t->sizes.size() == 2 ? t->sizes[0] : Sym(1);
    columns += t->sizes.empty() ? Sym(1) : t->sizes.back();
  }
  return {of_sizes(*blocks[0], {rows, columns})};
}
// Sums over some dims of the product of three, which have these dims after others are put in:
// i1, i2, i3, expand1, expand2, expand3, sumdim
Types trilinear(const Call& c) {
  Dims out;
  std::vector<Dims> sizes;
  for (size_t i = 0; i < 3; ++i) {
    Dims given = whole(c.tensor(i)).sizes;
    need(c.tensor(i).dtype == c.tensor(0).dtype, "several types");
    for (const Sym& dim : c.ints(3 + i)) {
      const int64_t at = dim;
      need(at >= 0 && at <= static_cast<int64_t>(given.size()), "a dimension");
      given.insert(given.begin() + at, Sym(1));
    }
    out = i == 0 ? given : broadcast(out, given);
  }
  std::vector<bool> summed(out.size(), false);
  for (const Sym& dim : c.ints(6)) summed.at(wrap_dim(dim, out.size())) = true;
  Dims left;
  for (size_t d = 0; d < out.size(); ++d)
    if (!summed[d]) left.push_back(out[d]);
  return {of_sizes(c.tensor(0), left)};
}

constexpr SizedRow kSizedLinearAlgebra[] = {
    {"aten.linalg_matrix_exp.default", covered<same<0>>},
    {"aten.linalg_inv_ex.default", covered<factored>},
    {"aten.linalg_cholesky_ex.default", covered<factored>},
    {"aten.cholesky_inverse.default", covered<inverse_of_factor>},
    {"aten.linalg_lu_factor_ex.default", covered<lu_factored>},
    {"aten.linalg_lu.default", covered<lu>},
    {"aten.lu_unpack.default", covered<lu_unpacked>},
    {"aten.linalg_ldl_factor_ex.default", covered<ldl_factored>},
    {"aten.linalg_qr.default", covered<qr>},
    {"aten._linalg_svd.default", covered<svd>},
    {"aten._linalg_eigh.default", covered<eigh>},
    {"aten.linalg_eig.default", covered<eig>},
    {"aten._linalg_det.default", covered<det>},
    {"aten._linalg_slogdet.default", covered<slogdet>},
    {"aten.linalg_pinv.atol_rtol_tensor", covered<pseudo_inverse>},
    {"aten._linalg_solve_ex.default", covered<solved>},
    {"aten.linalg_solve_triangular.default", covered<solved_for<0, 1>>},
    {"aten.triangular_solve.default", covered<solved_for_triangle>},
    {"aten.cholesky_solve.default", covered<solved_for<1, 0>>},
    {"aten.linalg_ldl_solve.default", covered<solved_for<0, 2>>},
    {"aten.linalg_lu_solve.default", covered<solved_by_factors>},
    {"aten.linalg_householder_product.default", covered<reflected<0>>},
    {"aten.ormqr.default", covered<reflected<2>>},
    {"aten.addmv.default", covered<addmv>},
    {"aten.addr.default", covered<addr>},
    {"aten.addbmm.default", covered<addbmm>},
    {"aten.vdot.default", covered<number_of_two>},
    {"aten.dist.default", covered<number_of_two>},
    {"aten.block_diag.default", covered<block_diag>},
    {"aten._trilinear.default", covered<trilinear>},
};

}  // namespace

std::span<const SizedRow> sized_linear_algebra() {
  return kSizedLinearAlgebra;
}

}  // namespace vitrine::ops
