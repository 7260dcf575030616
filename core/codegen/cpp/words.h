// Words of the generated texts and of C++ itself, which no value of a kernel may be called by.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::codegen::cpp {

const std::vector<std::string_view>& reserved_words();

// Adds the words of a text that single spaces separate.
void add_words(std::string_view words, std::vector<std::string_view>& out);

}  // namespace vitrine::codegen::cpp
