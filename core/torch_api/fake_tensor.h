// Tensors without memory: CPU or CUDA tensors, by type and by dispatch keys, whose storage raises when
// anything reads or writes it. One for a GPU needs no GPU: it is a CPU tensor that says it is elsewhere.
#pragma once

#include "core/torch_api/bridge.h"

namespace vitrine::torch_api {

// A fake tensor on a storage of its own, as large as the type needs. PyRef handle.
Handle fake_tensor(const ir::TensorType& type);
// A one-dimensional fake tensor over a storage of `bytes`; views of it are made by as_strided(). PyRef
// handle.
Handle fake_storage(ir::DType dtype, int64_t bytes, ir::Device device);
// The fake tensor (and its storage) says from now on that it is on that device; nothing moves.
void place_on(Handle fake_tensor, ir::Device device);
// A real tensor of zeros with the type's sizes and strides (offset 0). PyRef handle.
Handle zeros_like_type(const ir::TensorType& type);
// A tensor on PyTorch's meta device with the type's sizes and strides (offset 0). PyRef handle.
Handle meta_like_type(const ir::TensorType& type);
// Elements from the first to the last one that the type reaches, offset excluded.
ir::Sym extent(const ir::TensorType& type);

// Whether PyTorch sees a GPU: without one, fake tensors for it are all there is. Needs the GIL; asked once.
bool gpu_is_here();

// Whether a Python error's text says that a fake tensor's memory was wanted.
bool is_missing_memory(const std::string& error);

}  // namespace vitrine::torch_api
