// What the prelude is put together from.
#pragma once

#include <string_view>
#include <vector>

namespace vitrine::codegen::cpp {

// One part of the prelude: the names that call for it (of its own text or of the kernel's), and its text, in
// which LANES stands for the number of lanes and v16, d16, n16, l16 for the vector types of that many.
struct PreludePart {
  std::string_view names;
  std::string_view text;
};

// Behind those of prelude.cpp, the second behind the first. A part may use the parts above it.
extern const std::vector<PreludePart> kFunctionParts;
extern const std::vector<PreludePart> kDoubleParts;

}  // namespace vitrine::codegen::cpp
