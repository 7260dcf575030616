// Memory that kernels work in and leave nothing in: one piece for all kernels of a plan.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/base/large_memory.h"

namespace vitrine::runtime {

class Scratch {
 public:
  // At least so many values of f32, 64-byte aligned; what stood there is lost. Throws std::bad_alloc.
  void reserve(int64_t values) {
    if (values <= reserved_) return;
    values_.reset();
    reserved_ = 0;
    values_.reset(reinterpret_cast<float*>(allocate_large(static_cast<size_t>(values) * sizeof(float))));
    reserved_ = values;
  }
  float* values() const { return values_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> values_;
  int64_t reserved_ = 0;
};

}  // namespace vitrine::runtime
