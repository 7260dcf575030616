// Memory that kernels work in and leave nothing in: one piece for all kernels of a plan.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace vitrine::runtime {

class Scratch {
 public:
  // At least so many values of f32, 64-byte aligned; what stood there is lost. Throws std::bad_alloc.
  void reserve(int64_t values) {
    constexpr size_t kAlign = 64;
    if (values <= reserved_) return;
    values_.reset();
    reserved_ = 0;
    const size_t bytes = (static_cast<size_t>(values) * sizeof(float) + kAlign - 1) / kAlign * kAlign;
    values_.reset(static_cast<float*>(std::aligned_alloc(kAlign, bytes)));
    if (!values_) throw std::bad_alloc();
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
