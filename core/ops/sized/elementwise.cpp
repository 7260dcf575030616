// Element by element, and copies.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

// Of operands at these positions.
template <size_t... operands>
Types floating(const Call& c) {
  return pointwise(c, {operands...}, PromotedType::floating);
}
template <size_t... operands>
Types pointwise_of(const Call& c) {
  return pointwise(c, {operands...});
}
Types whole_floating(const Call& c) {
  whole(c.tensor(0));
  return unary_floating(c);
}

// A copy, laid out as what is copied.
Types copy(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  return {{t.dtype, t.sizes, preserved_strides(t), 0}};
}

// Of complex numbers: what they are compared with is a number.
Types complex_truths(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(ir::is_complex(t.dtype) && t.numel() > 0, "another type");
  return {{DType::b1, t.sizes, preserved_strides(t), 0}};
}

// Of two that are real, as wide as each other.
Types complex_of(const Call& c) {
  const TensorType &a = c.tensor(0), &b = c.tensor(1);
  need(a.numel() > 0 && b.numel() > 0, "no elements");
  need(a.dtype == b.dtype, "several types");
  need_single_or_double(a.dtype);
  return {elementwise({a, b}, a.dtype, complex_like(a.dtype))};
}
Types magnitude(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  need_complex(t.dtype);
  return {{real_like(t.dtype), t.sizes, preserved_strides(t), 0}};
}
Types angle(const Call& c) {
  return ir::is_complex(c.tensor(0).dtype) ? magnitude(c) : unary_floating(c);
}
Types complex_one(const Call& c) {
  need(ir::is_complex(c.tensor(0).dtype), "another type");
  return copy(c);
}

// Two operands, one of them complex. As wide as the widest that has dims: of a number, or of a tensor without
// dims, it counts that it is complex.
Types complex_pair(const Call& c) {
  bool any_complex = false, wide = false, has_dims = false;
  std::vector<TensorType> types;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const TensorType& t = c.tensor(i);
    any_complex |= ir::is_complex(t.dtype);
    types.push_back(t);
    if (t.sizes.empty()) continue;
    need(t.numel() > 0, "no elements");
    need(ir::is_complex(t.dtype) || ir::is_float(t.dtype) || !c.tensor(1 - i).sizes.empty(), "integers");
    has_dims = true;
    wide |= is_double(t.dtype);
  }
  need(any_complex && has_dims, "another type");
  const DType common = wide ? DType::c128 : DType::c64;
  return {elementwise(std::move(types), common, common)};
}

constexpr SizedRow kSizedElementwise[] = {
    {"aten.digamma.default", covered<floating<0>>},
    {"aten.erfc.default", covered<floating<0>>},
    {"aten.lgamma.default", covered<floating<0>>},
    {"aten.deg2rad.default", covered<floating<0>>},
    {"aten.rad2deg.default", covered<floating<0>>},
    {"aten.sinc.default", covered<floating<0>>},
    {"aten.special_i1.default", covered<floating<0>>},
    {"aten.special_i1e.default", covered<floating<0>>},
    {"aten.special_i0e.default", covered<floating<0>>},
    {"aten.special_entr.default", covered<floating<0>>},
    {"aten.special_ndtri.default", covered<floating<0>>},
    {"aten.special_log_ndtr.default", covered<floating<0>>},
    {"aten.special_erfcx.default", covered<floating<0>>},
    {"aten.special_airy_ai.default", covered<floating<0>>},
    {"aten.special_bessel_j0.default", covered<floating<0>>},
    {"aten.special_bessel_j1.default", covered<floating<0>>},
    {"aten.special_bessel_y0.default", covered<floating<0>>},
    {"aten.special_bessel_y1.default", covered<floating<0>>},
    {"aten.special_modified_bessel_i0.default", covered<floating<0>>},
    {"aten.special_modified_bessel_i1.default", covered<floating<0>>},
    {"aten.special_modified_bessel_k0.default", covered<floating<0>>},
    {"aten.special_modified_bessel_k1.default", covered<floating<0>>},
    {"aten.special_scaled_modified_bessel_k0.default", covered<floating<0>>},
    {"aten.special_scaled_modified_bessel_k1.default", covered<floating<0>>},
    {"aten.special_spherical_bessel_j0.default", covered<floating<0>>},
    {"aten.i0.default", covered<floating<0>>},
    {"aten.ldexp.Tensor", covered<floating<0, 1>>},
    {"aten.logaddexp2.default", covered<pointwise_of<0, 1>>},
    {"aten.polygamma.default", covered<floating<1>>},
    {"aten.special_xlog1py.default", covered<floating<0, 1>>},
    {"aten.special_zeta.default", covered<floating<0, 1>>},
    {"aten.special_chebyshev_polynomial_t.default", covered<floating<0, 1>>},
    {"aten.special_chebyshev_polynomial_u.default", covered<floating<0, 1>>},
    {"aten.special_chebyshev_polynomial_v.default", covered<floating<0, 1>>},
    {"aten.special_chebyshev_polynomial_w.default", covered<floating<0, 1>>},
    {"aten.special_hermite_polynomial_h.default", covered<floating<0, 1>>},
    {"aten.special_hermite_polynomial_he.default", covered<floating<0, 1>>},
    {"aten.special_laguerre_polynomial_l.default", covered<floating<0, 1>>},
    {"aten.special_legendre_polynomial_p.default", covered<floating<0, 1>>},
    {"aten.special_shifted_chebyshev_polynomial_t.default", covered<floating<0, 1>>},
    {"aten.special_shifted_chebyshev_polynomial_u.default", covered<floating<0, 1>>},
    {"aten.special_shifted_chebyshev_polynomial_v.default", covered<floating<0, 1>>},
    {"aten.special_shifted_chebyshev_polynomial_w.default", covered<floating<0, 1>>},
    {"aten.igamma.default", covered<pointwise_of<0, 1>>},
    {"aten.igammac.default", covered<pointwise_of<0, 1>>},
    {"aten.hypot.default", covered<pointwise_of<0, 1>>},
    {"aten.round.decimals", covered<unary>},
    {"aten.signbit.default", covered<unary_bool>},
    {"aten.angle.default", covered<angle>},
    {"aten.mvlgamma.default", covered<whole_floating>},
    {"aten.mul.Tensor", covered<complex_pair>},
    {"aten.add.Tensor", covered<complex_pair>},
    {"aten.sub.Tensor", covered<complex_pair>},
    {"aten.div.Tensor", covered<complex_pair>},
    {"aten.eq.Scalar", covered<complex_truths>},
    {"aten.ne.Scalar", covered<complex_truths>},
    {"aten.mul.Scalar", covered<complex_one>},
    {"aten.div.Scalar", covered<complex_one>},
    {"aten.add.Scalar", covered<complex_one>},
    {"aten.sub.Scalar", covered<complex_one>},
    {"aten.conj_physical.default", covered<complex_one>},
    {"aten._conj_physical.default", covered<complex_one>},
    {"aten.neg.default", covered<complex_one>},
    {"aten.exp.default", covered<complex_one>},
    {"aten.reciprocal.default", covered<complex_one>},
    {"aten.sqrt.default", covered<complex_one>},
    {"aten.sgn.default", covered<complex_one>},
    {"aten.polar.default", covered<complex_of>},
    {"aten.complex.default", covered<complex_of>},
    {"aten.abs.default", covered<magnitude>},
    {"aten.index_put.default", covered<copy>},
    {"aten.fill.Scalar", covered<copy>},
    {"aten.diagonal_scatter.default", covered<copy>},
    {"aten.put.default", covered<copy>},
    {"aten.scatter.reduce", covered<same<0>>},
    {"aten.scatter.value_reduce", covered<same<0>>},
};

}  // namespace

std::span<const SizedRow> sized_elementwise() {
  return kSizedElementwise;
}

}  // namespace vitrine::ops
