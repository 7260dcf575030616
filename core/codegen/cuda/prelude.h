// The text that stands at the top of every CUDA kernel: types, loads and stores, and the functions it uses.
// No header is included: NVRTC has CUDA's own functions built in, and every header costs more than a kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::codegen::cuda {

// The parts that `body` uses, found by the names in it.
std::string prelude_text(std::string_view body);

// Whether the kernel begins by waiting for what was launched before it. Another one must not start early.
bool follows(std::string_view kernel);

// Names of the prelude and of the generated text itself, which no value may take.
const std::vector<std::string_view>& reserved_words();

}  // namespace vitrine::codegen::cuda
