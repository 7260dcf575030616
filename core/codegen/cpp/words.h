// Words of the generated texts and of C++ itself, which no value of a kernel may be called by.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::codegen::cpp {

const std::vector<std::string_view>& reserved_words();

}  // namespace vitrine::codegen::cpp
