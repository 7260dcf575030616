// A tensor in the host's memory, row by row: what a package is given and gives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/types.h"

namespace vitrine::package {

struct HostTensor {
  std::string name;
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  std::shared_ptr<void> memory;  // that holds it; empty: the caller's
  size_t bytes() const {
    auto out = static_cast<size_t>(ir::dtype_bytes(dtype));
    for (const int64_t size : shape) out *= static_cast<size_t>(size);
    return out;
  }
};

// "f32[8,64]"
std::string text(ir::DType dtype, const std::vector<int64_t>& shape);

}  // namespace vitrine::package
