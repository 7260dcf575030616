// PyTorch's C interface for a program without Python: its library is opened when the first package needs it.
// One row a symbol. Handles are at::Tensor*, as PyTorch's AtenTensorHandle.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/result.h"
#include "core/ir/types.h"

namespace vitrine::package {

using AtenHandle = void*;
using AtenStatus = int32_t;  // 0: success

// X(member, exported name, type)
#define VITRINE_ATEN_SYMBOLS(X)                                                                        \
  X(sizes, "aoti_torch_get_sizes", AtenStatus (*)(AtenHandle, int64_t**))                              \
  X(strides, "aoti_torch_get_strides", AtenStatus (*)(AtenHandle, int64_t**))                          \
  X(dims, "aoti_torch_get_dim", AtenStatus (*)(AtenHandle, int64_t*))                                  \
  X(dtype, "aoti_torch_get_dtype", AtenStatus (*)(AtenHandle, int32_t*))                               \
  X(data, "aoti_torch_get_data_ptr", AtenStatus (*)(AtenHandle, void**))                               \
  X(remove, "aoti_torch_delete_tensor_object", AtenStatus (*)(AtenHandle))                             \
  X(from_blob, "aoti_torch_create_tensor_from_blob",                                                   \
    AtenStatus (*)(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, \
                   AtenHandle*))                                                                       \
  X(copy, "aoti_torch_copy_", AtenStatus (*)(AtenHandle, AtenHandle, int32_t))                         \
  X(set_grad, "aoti_torch_grad_mode_set_enabled", void (*)(bool))

// Of which some may be absent.
#define VITRINE_ATEN_OPERATORS(X)                                                            \
  X(what, "torch_exception_get_what_without_backtrace", const char* (*)())                   \
  X(mm, "aoti_torch_cpu_mm_out", AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle))         \
  X(bmm, "aoti_torch_cpu_bmm_out", AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle))       \
  X(addmm, "aoti_torch_cpu_addmm_out",                                                       \
    AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle, AtenHandle, double, double))          \
  X(baddbmm, "aoti_torch_cpu_baddbmm_out",                                                   \
    AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle, AtenHandle, double, double))          \
  X(cuda_mm, "aoti_torch_cuda_mm_out", AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle))   \
  X(cuda_bmm, "aoti_torch_cuda_bmm_out", AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle)) \
  X(cuda_addmm, "aoti_torch_cuda_addmm_out",                                                 \
    AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle, AtenHandle, double, double))          \
  X(cuda_baddbmm, "aoti_torch_cuda_baddbmm_out",                                             \
    AtenStatus (*)(AtenHandle, AtenHandle, AtenHandle, AtenHandle, double, double))          \
  X(set_threads, "_ZN2at15set_num_threadsEi", void (*)(int))                                 \
  X(call, "aoti_torch_call_dispatcher", AtenStatus (*)(const char*, const char*, uint64_t*)) \
  X(another, "aoti_torch_new_tensor_handle", AtenStatus (*)(AtenHandle, AtenHandle*))        \
  X(new_value, "torch_new_stable_ivalue", AtenStatus (*)(uint64_t**))                        \
  X(new_list, "torch_new_list_reserve_size", AtenStatus (*)(size_t, void**))                 \
  X(push_back, "torch_list_push_back", AtenStatus (*)(void*, uint64_t))                      \
  X(new_text, "torch_new_string_handle", AtenStatus (*)(const char*, size_t, void**))

struct TorchFunctions {
#define X(member, name, ...) std::add_pointer_t<std::remove_pointer_t<__VA_ARGS__>> member = nullptr;
  VITRINE_ATEN_SYMBOLS(X)
  VITRINE_ATEN_OPERATORS(X)
#undef X
  // What PyTorch said of a call that failed.
  Error failed(AtenStatus status) const;
};

// folder: where PyTorch's libraries are; "": where the loader looks. on_gpu: its CUDA library. Opened once a
// process. Errors: they are not there, or lack a symbol.
Result<const TorchFunctions*> torch_functions(const std::string& folder, bool on_gpu);

// Owns a handle.
class AtenTensor {
 public:
  AtenTensor() = default;
  AtenTensor(const TorchFunctions& torch, AtenHandle handle) : torch_(&torch), handle_(handle) {}
  AtenTensor(AtenTensor&& other) noexcept
      : torch_(other.torch_), handle_(std::exchange(other.handle_, nullptr)) {}
  AtenTensor& operator=(AtenTensor&& other) noexcept {
    std::swap(torch_, other.torch_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~AtenTensor() {
    if (handle_) torch_->remove(handle_);
  }
  // Over memory that outlives it.
  static Result<AtenTensor> over(const TorchFunctions& torch, void* data, const ir::TensorType& type);
  AtenHandle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  const TorchFunctions* torch_ = nullptr;
  AtenHandle handle_ = nullptr;
};

}  // namespace vitrine::package
