// Which words of the text form stand for themselves: shared by printer and parser, so that they agree.
#pragma once

#include <string_view>

#include "core/ir/types.h"

namespace vitrine::ir {

constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_name_char(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}
// Operators and words: "aten.add.Tensor", "torch.channels_last", "cuda:0".
constexpr bool is_word_char(char c) {
  return is_name_char(c) || c == '.' || c == ':';
}

// A node's name: letters, digits, underscores.
inline bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

// Whether a Word prints without quotes: no other constant may read the same.
inline bool is_bare_word(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return false;
  for (char c : text) {
    if (!is_word_char(c)) return false;
  }
  for (std::string_view taken : {"None", "True", "False", "nan", "inf", "other", "word"}) {
    if (text == taken) return false;
  }
  return dtype_from_name(text) == DType::other;
}

}  // namespace vitrine::ir
