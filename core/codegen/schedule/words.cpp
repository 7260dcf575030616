#include "core/codegen/schedule/words.h"

#include <algorithm>

namespace vitrine::codegen {

namespace {

// C++'s own, with the other spellings of its operators and what Clang and CUDA's compiler add.
constexpr std::string_view kKeywords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t "
    "class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield "
    "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public register reinterpret_cast requires return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq typeof __bf16 _Float16 __fp16 __int128";

// Of the kernels' texts: arguments, indices, types.
constexpr std::string_view kWords =
    "args begin end r c n all first row rest fixed any i0 i1 i2 i3 i4 c0 c1 c2 f32 f64 i64 i32 isnan isinf "
    "v16 v8 d16 d8 n16 n8 l16 l8 w16 w8 f16s i8s u8s i16s u16s mask All First Some Any Fixed VECTOR INLINE "
    "f16 bf16 i16 u16 u32 u64 i8 u8 item part place start stop from to first_row height added j j0 t bad "
    "before";

}  // namespace

void add_words(std::string_view words, std::vector<std::string_view>& out) {
  for (size_t at = 0, end; at < words.size(); at = end + 1) {
    end = std::min(words.find(' ', at), words.size());
    if (end > at) out.push_back(words.substr(at, end - at));
  }
}

const std::vector<std::string_view>& language_words() {
  static const std::vector<std::string_view> kSplit = [] {
    std::vector<std::string_view> out;
    add_words(kKeywords, out);
    add_words(kWords, out);
    return out;
  }();
  return kSplit;
}

}  // namespace vitrine::codegen
