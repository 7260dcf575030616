// What a guard compares of a plain tensor, read where PyTorch keeps it: no call, a few words. Equal fields
// are equal answers of PyTorch's own functions; unequal ones say nothing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/torch_api/layout.h"

struct _object;
struct _typeobject;

namespace vitrine::torch_api {

// Tensors of one class, element type, device, sizes, strides, keys; and whether gradients are wanted.
struct TensorFields {
  static constexpr int kDims = 1 + 2 * ObjectLayout::kInlineDims;
  _typeobject* type = nullptr;
  uint64_t keys = 0, kind = 0;
  int64_t dims[kDims] = {};
  bool requires_grad = false;
  auto operator<=>(const TensorFields&) const = default;
};

class TensorFieldReader {
 public:
  // After init().
  TensorFieldReader();
  // false: the fields do not tell all about this tensor, or the layout is not known.
  bool read(_object* tensor, TensorFields& fields) const;
  // Of any object. false: they differ, or cannot be compared here.
  bool equal(const TensorFields& fields, _object* tensor) const;
  // Of a tensor that will be compared soon: where it says that its fields are; then the fields.
  void prefetch(_object* tensor) const {
    __builtin_prefetch(reinterpret_cast<const char*>(tensor) + handle_);
  }
  void prefetch_fields(_object* tensor) const {
    const char* impl = *reinterpret_cast<const char* const*>(reinterpret_cast<const char*>(tensor) + handle_);
    __builtin_prefetch(impl + autograd_);
    __builtin_prefetch(impl + dims_ + 64);
    __builtin_prefetch(impl + keys_);
  }

 private:
  enum class Grad : uint8_t { No, Yes, Unknown };
  Grad requires_grad(const char* impl) const;
  uint64_t kind(const char* impl) const;
  ptrdiff_t handle_ = 0, keys_ = 0, dims_ = 0, dtype_ = 0, device_ = 0;
  ptrdiff_t autograd_ = 0, wanted_ = 0, grad_fn_ = 0, is_view_ = 0;
  bool known_ = false;
};

}  // namespace vitrine::torch_api
