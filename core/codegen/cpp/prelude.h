// The text that stands at the top of every kernel: types, loads and stores, and the functions it uses. No
// header is included: a parse of <cmath> would cost ten times the kernel.
#pragma once

#include <string>
#include <string_view>

namespace vitrine::codegen::cpp {

// The parts that `body` uses (found by the names it calls), for `lanes` values a vector.
std::string prelude_text(std::string_view body, int lanes);

}  // namespace vitrine::codegen::cpp
