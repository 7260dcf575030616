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

// One of those that join: how many arguments it takes, and a number that kernels of the same
// text_without_names() share.
struct Joining {
  const Kernel* kernel;
  size_t arguments;
  int32_t text;
};

// All of them in one, which takes the arguments of the first, then those of the next. Those of one text stand
// side by side. Each may join, and has as many threads a block, on the same GPU.
Kernel join_kernels(std::span<const Joining> kernels);

}  // namespace vitrine::codegen::cuda
