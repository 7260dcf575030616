// Element by element, and copies.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

// A copy, laid out as what is copied.
Types copy(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  return {{t.dtype, t.sizes, preserved_strides(t), 0}};
}

Types complex_of(const Call& c) {
  const TensorType& t = whole(c.tensor(0));
  need(t.dtype == DType::f32 || t.dtype == DType::f64, "another type");
  return {TensorType::contiguous(t.dtype == DType::f32 ? DType::c64 : DType::c128, t.sizes)};
}
Types magnitude(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0 && (t.dtype == DType::c64 || t.dtype == DType::c128), "another type");
  return {{t.dtype == DType::c64 ? DType::f32 : DType::f64, t.sizes, preserved_strides(t), 0}};
}

// Operands of complex numbers, of one type.
Types complex_pair(const Call& c) {
  const TensorType &a = whole(c.tensor(0)), &b = whole(c.tensor(1));
  need(ir::is_complex(a.dtype) && a.dtype == b.dtype, "another type");
  need(!a.sizes.empty() && !b.sizes.empty(), "a number");
  return {of_sizes(a, broadcast(a.sizes, b.sizes))};
}

constexpr SizedRow kSizedElementwise[] = {
    {"aten.mul.Tensor", covered<complex_pair>}, {"aten.add.Tensor", covered<complex_pair>},
    {"aten.sub.Tensor", covered<complex_pair>}, {"aten.polar.default", covered<complex_of>},
    {"aten.abs.default", covered<magnitude>},   {"aten.complex.default", covered<complex_of>},
    {"aten.index_put.default", covered<copy>},  {"aten.fill.Scalar", covered<copy>},
};

}  // namespace

std::span<const SizedRow> sized_elementwise() {
  return kSizedElementwise;
}

}  // namespace vitrine::ops
