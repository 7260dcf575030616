// Where PyTorch keeps what no exported function tells: found by comparing memory with official answers on
// sample tensors, so a changed layout is noticed, never guessed. -1: not found, the slow official way is
// used.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/torch_api/symbols.h"

namespace vitrine::torch_api {

struct ObjectLayout {
  int handle_word = -1;            // in the tensor's Python object: at::Tensor, one pointer to TensorImpl
  int storage_word = -1;           // in TensorImpl: StorageImpl*
  int autograd_word = -1;          // in TensorImpl: AutogradMeta*, null if the tensor has never met autograd
  int version_word = -1;           // in TensorImpl: VersionCounter*
  int keys_word = -1;              // in TensorImpl: DispatchKeySet
  int version_offset = -1;         // in VersionCounter: bytes to the 32-bit counter
  int requires_offset = -1;        // in AutogradMeta: bytes to the leaf's requires_grad flag
  int grad_fn_word = -1;           // in AutogradMeta: null for a leaf
  int is_view_offset = -1;         // in AutogradMeta: bytes to the flag of a view
  int owners_word = -1;            // in StorageImpl: its reference counts
  uint64_t sole_owner = 0;         // what they read when one tensor owns it, and nothing else knows it
  int device_offset = -1;          // in TensorImpl: bytes to its device's type, index, and a set flag
  int storage_device_offset = -1;  // in StorageImpl: bytes to its device's type and index
  int data_guard_offset = -1;      // in StorageImpl: bytes to the flag that makes every data access raise
  int dims_word = -1;              // in TensorImpl: how many dims; kInlineDims sizes, as many strides
  int dtype_offset = -1;           // in TensorImpl: bytes to its 16-bit type
  int offset_word = -1;            // in TensorImpl: the storage offset, in elements
  int numel_word = -1;             // in TensorImpl: how many elements
  int data_word = -1;              // in StorageImpl: the address of its first byte

  static constexpr int kInlineDims = 5;  // of more dims, sizes and strides lie elsewhere
};

struct LayoutReport {
  ObjectLayout layout;
  bool ready = false;  // the handle, metadata and storage guard agree with PyTorch's own answers
  std::vector<std::pair<std::string, std::string>> tests;  // name, "ok" or what is off
};

// Needs the GIL. Never throws; Python errors are turned into test results.
LayoutReport find_layout(const Symbols& symbols);

// What lies so many bytes behind an object's begin.
template <class T>
T field_at(const void* object, ptrdiff_t bytes) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + bytes, sizeof value);
  return value;
}

inline void* word_at(const void* object, int index) {
  return reinterpret_cast<void* const*>(object)[index];
}

}  // namespace vitrine::torch_api
