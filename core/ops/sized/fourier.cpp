// Fourier transforms, laid out as MKL's are in ATen/native/mkl/SpectralOps.cpp.
#include <algorithm>

#include "core/ops/sized/rules.h"

namespace vitrine::ops {

namespace {

using DimOrder = std::vector<size_t>;  // of dims, the innermost last

DimOrder dims_of(const Call& c) {
  const TensorType& t = c.tensor(0);
  need(t.numel() > 0, "no elements");
  DimOrder out;
  for (const Sym& dim : c.ints(1)) out.push_back(wrap_dim(dim, t.sizes.size()));
  need(!out.empty(), "no dimension");
  return out;
}
void by_strides(const TensorType& t, DimOrder::iterator first, DimOrder::iterator last) {
  std::stable_sort(first, last, [&](size_t a, size_t b) { return t.strides[a] > t.strides[b]; });
}

// What is transformed lies innermost, by its strides; `last` of it stays at the end.
TensorType transformed(const TensorType& t, DimOrder dims, bool last, DType dtype, Dims sizes) {
  DimOrder order;
  for (size_t d = 0; d < t.sizes.size(); ++d)
    if (std::ranges::find(dims, d) == dims.end()) order.push_back(d);
  by_strides(t, order.begin(), order.end());
  by_strides(t, dims.begin(), last ? dims.end() - 1 : dims.end());
  order.insert(order.end(), dims.begin(), dims.end());
  TensorType out = TensorType::contiguous(dtype, std::move(sizes));
  Sym stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    out.strides[*d] = stride;
    stride *= out.sizes[*d];
  }
  return out;
}

Types fft(const Call& c) {
  const TensorType& t = c.tensor(0);
  return {transformed(t, dims_of(c), false, t.dtype, t.sizes)};
}
Types fft_of_reals(const Call& c) {  // self, dim, normalization, onesided
  const TensorType& t = c.tensor(0);
  const DimOrder dims = dims_of(c);
  need_single_or_double(t.dtype);
  Dims sizes = t.sizes;
  if (c.flag(3)) sizes[dims.back()] = floordiv(sizes[dims.back()], 2) + 1;
  return {transformed(t, dims, true, complex_like(t.dtype), sizes)};
}
// The last dimension comes after the others, which stay complex.
Types fft_to_reals(const Call& c) {  // self, dim, normalization, last_dim_size
  TensorType t = c.tensor(0);
  DimOrder dims = dims_of(c);
  need_complex(t.dtype);
  const size_t last = dims.back();
  dims.pop_back();
  if (!dims.empty()) t = transformed(t, dims, false, t.dtype, t.sizes);
  Dims sizes = t.sizes;
  sizes[last] = c.integer(3);
  return {transformed(t, {last}, true, real_like(t.dtype), sizes)};
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
