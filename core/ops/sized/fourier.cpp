// Fourier transforms.
#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

// Fourier transforms along the last dimension. Windows that overlap lie in their order, too.
void along_last(const TensorType& t, const Dims& dims) {
  need(t.numel() > 0, "no elements");
  for (size_t d = 1; d < t.strides.size(); ++d) need(t.strides[d] <= t.strides[d - 1], "another order");
  need(dims.size() == 1 && wrap_dim(dims[0], t.sizes.size()) + 1 == t.sizes.size(), "another dimension");
}
Types fft_of_reals(const Call& c) {
  const TensorType& t = c.tensor(0);
  along_last(t, c.ints(1));
  need(t.dtype == DType::f32 || t.dtype == DType::f64, "another type");
  Dims sizes = t.sizes;
  if (c.flag(3)) sizes.back() = floordiv(t.sizes.back(), 2) + 1;
  return {TensorType::contiguous(t.dtype == DType::f32 ? DType::c64 : DType::c128, sizes)};
}
Types fft_to_reals(const Call& c) {
  const TensorType& t = c.tensor(0);
  along_last(t, c.ints(1));
  need(t.dtype == DType::c64 || t.dtype == DType::c128, "another type");
  Dims sizes = t.sizes;
  sizes.back() = c.integer(3);
  return {TensorType::contiguous(t.dtype == DType::c64 ? DType::f32 : DType::f64, sizes)};
}
Types fft(const Call& c) {
  along_last(c.tensor(0), c.ints(1));
  return same<0>(c);
}

constexpr SizedRow kSizedFourier[] = {
    {"aten._fft_r2c.default", covered<fft_of_reals>},
    {"aten._fft_c2r.default", covered<fft_to_reals>},
    {"aten._fft_c2c.default", covered<fft>},
};

}  // namespace

std::span<const SizedRow> sized_fourier() {
  return kSizedFourier;
}

}  // namespace vitrine::ops
