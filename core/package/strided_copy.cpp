#include "core/package/strided_copy.h"

#include <cstring>

namespace vitrine::package {

namespace {

// f(place in rows, place in memory) for each element, both in bytes.
template <class F>
void each_element(const ir::TensorType& type, F&& f) {
  const std::vector<int64_t> sizes = ir::integers(type.sizes), strides = ir::integers(type.strides);
  const int64_t bytes = ir::dtype_bytes(type.dtype);
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<int64_t> index(sizes.size());
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(i * bytes, at * bytes);
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace

bool is_row_by_row(const ir::TensorType& type) {
  int64_t expected = 1;
  bool same = true, empty = false;
  for (size_t d = type.sizes.size(); d-- > 0;) {
    const int64_t size = type.sizes[d].hint();
    empty = empty || size == 0;
    same = same && (size == 1 || type.strides[d].hint() == expected);
    if (size > 1) expected *= size;
  }
  return same || empty;
}

void scatter_rows(const ir::TensorType& type, const void* rows, void* to) {
  const auto bytes = static_cast<size_t>(ir::dtype_bytes(type.dtype));
  each_element(type, [&](int64_t row, int64_t place) {
    std::memcpy(static_cast<char*>(to) + place, static_cast<const char*>(rows) + row, bytes);
  });
}

void gather_rows(const ir::TensorType& type, const void* from, void* rows) {
  const auto bytes = static_cast<size_t>(ir::dtype_bytes(type.dtype));
  each_element(type, [&](int64_t row, int64_t place) {
    std::memcpy(static_cast<char*>(rows) + row, static_cast<const char*>(from) + place, bytes);
  });
}

}  // namespace vitrine::package
