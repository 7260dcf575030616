// What this machine's processor is, as far as machine code depends on it.
#pragma once

#include <cstdint>
#include <string>

#include "core/ir/types.h"

namespace vitrine::runtime {

// Family, model and feature words: two machines with equal text run the same objects.
std::string host_cpu_identity();

// f32 values of the widest vector that pays: 16 (AVX-512) or 8.
int host_lanes();
// Whether PyTorch's library, oneDNN, has kernels for products of bf16 or f16 on this processor: where its own
// checks find AVX-512 (for f16 with FP16) or AVX-NE-CONVERT.
bool host_multiplies(ir::DType type);
// Bytes of the last cache, which all cores share, but at most 32 MiB: what is larger is shared with many
// more.
int64_t host_cache_bytes();
const char* isa_name(int lanes);  // "avx512" | "avx2"

}  // namespace vitrine::runtime
