#include "core/codegen/cpp/words.h"

#include "core/codegen/cpp/prelude.h"
#include "core/codegen/schedule/words.h"

namespace vitrine::codegen::cpp {

const std::vector<std::string_view>& reserved_words() {
  static const std::vector<std::string_view> kSplit = [] {
    std::vector<std::string_view> out;
    for (std::string_view names : prelude_names()) add_words(names, out);
    return out;
  }();
  return kSplit;
}

}  // namespace vitrine::codegen::cpp
