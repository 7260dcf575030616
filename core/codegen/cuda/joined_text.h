// Kernels for a GPU that need nothing of each other, as one: its blocks of threads are those of the one, then
// those of the next. A launch costs as much as a small kernel computes, and several small ones fill a GPU
// better.
#pragma once

#include <span>
#include <string>

#include "core/codegen/schedule/program.h"

namespace vitrine::codegen::cuda {

// Whether the kernel's text can be a part of another: it counts its blocks in no other way than by
// blockIdx.x, and takes pointers and numbers that its steps know when the program is made.
bool may_join(const Kernel& kernel);

// Pointers and numbers that a launch passes one by one.
inline constexpr size_t kMostLaunchArguments = 128;
// Those of joined kernels, which are passed as one: 4096 bytes on every GPU.
inline constexpr size_t kMostJoinedArguments = 500;

// Bytes of shared memory that the kernel's text declares, at most. Those of joined kernels that differ add
// up.
int64_t named_shared_memory(const Kernel& kernel);

// What its text computes and by how many blocks, whatever its tensors and values are called. Kernels of the
// same share one text in what they are joined to.
std::string text_without_names(const Kernel& kernel);

// All of them in one, which takes the arguments of the first, then those of the next. Those that are the same
// but for names stand side by side. arguments: of each, how many. Each may join, and has as many threads a
// block, on the same GPU.
Kernel join_kernels(std::span<const Kernel* const> kernels, std::span<const size_t> arguments);

}  // namespace vitrine::codegen::cuda
