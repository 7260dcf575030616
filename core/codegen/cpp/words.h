// Words that no value of a kernel for a CPU may be called by, besides those of every dialect.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::codegen::cpp {

// What the prelude defines.
const std::vector<std::string_view>& reserved_words();

}  // namespace vitrine::codegen::cpp
