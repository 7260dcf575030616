// Text that a stranger wrote, as a terminal or a window may show it.
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

enum class Keep { Nothing, Lines };  // Lines: line ends and tabs stay

// Escape sequences, control characters, characters without width and those that turn the direction of text
// are written out: "\x1b", "\u202e". So is what is no UTF-8. Anything else stays as it is.
std::string visible(std::string_view text, Keep keep = Keep::Nothing);

// Whether the character is one of these.
bool is_hidden(char32_t character);

}  // namespace vitrine
