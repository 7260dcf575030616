#include "core/codegen/cpp/words.h"

#include <algorithm>

namespace vitrine::codegen::cpp {

namespace {

constexpr std::string_view kWords =
    "args begin end r c n all first row rest fixed any i0 i1 i2 i3 i4 c0 c1 c2 load store splat where "
    "keep gather float "
    "double int bool auto if for while do else return switch case default new delete class struct union "
    "enum this and or not xor f32 f64 i64 i32 long short char signed unsigned const static template "
    "typename operator true false isnan isinf v16 v8 d16 d8 n16 n8 l16 l8 mask All First Some Any Fixed "
    "namespace using "
    "try catch throw public private register goto sizeof void break continue f16 bf16 i16 u16 u32 u64 i8 "
    "u8 item part place stop from to added j j0 t bad load_in load_at load_back steps most least load1_if "
    "gather_in steps_to index_at index_lanes from_end from_end_lanes lanes_in lanes_below lanes_from";

}  // namespace

const std::vector<std::string_view>& reserved_words() {
  static const std::vector<std::string_view> kSplit = [] {
    std::vector<std::string_view> out;
    for (size_t at = 0, end; at < kWords.size(); at = end + 1) {
      end = std::min(kWords.find(' ', at), kWords.size());
      out.push_back(kWords.substr(at, end - at));
    }
    return out;
  }();
  return kSplit;
}

}  // namespace vitrine::codegen::cpp
