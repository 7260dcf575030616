// The text that stands at the top of every kernel: types, loads and stores, and the functions it uses. No
// header is included: a parse of <cmath> would cost ten times the kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine::codegen::cpp {

// The parts that `body` uses (found by the names it calls), for `lanes` values a vector.
std::string prelude_text(std::string_view body, int lanes);

// What a kernel's text calls of it, a few words a text.
std::vector<std::string_view> prelude_names();

}  // namespace vitrine::codegen::cpp
