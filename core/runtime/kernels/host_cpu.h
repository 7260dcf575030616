// What this machine's processor is, as far as machine code depends on it.
#pragma once

#include <string>

namespace vitrine::runtime {

// Family, model and feature words: two machines with equal text run the same objects.
std::string host_cpu_identity();

// f32 values of the widest vector that pays: 16 (AVX-512) or 8.
int host_lanes();
const char* isa_name(int lanes);  // "avx512" | "avx2"

}  // namespace vitrine::runtime
