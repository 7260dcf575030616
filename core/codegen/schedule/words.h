// Words that no value of a kernel may be called by, whichever dialect it is written in: those of C++ and of
// the generated texts. What a prelude defines is its dialect's to add.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::codegen {

const std::vector<std::string_view>& language_words();

// Adds the words of a text that single spaces separate.
void add_words(std::string_view words, std::vector<std::string_view>& out);

}  // namespace vitrine::codegen
