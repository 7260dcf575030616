#include "core/base/visible.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace vitrine {

namespace {

struct CodePointRange {
  char32_t from, to;
};
constexpr std::array<CodePointRange, 13> kHidden = {{
    {0x00, 0x1F},
    {0x7F, 0x9F},
    {0xAD, 0xAD},        // soft hyphen
    {0x61C, 0x61C},      // Arabic letter mark
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200B},    // zero width space
    {0x200E, 0x200F},    // left-to-right and right-to-left marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFF9, 0xFFFB},    // interlinear annotations
    {0xE0000, 0xE007F},  // tags
    {0x110000, 0xFFFFFFFF},
}};

constexpr int kNoCharacter = 0;

// The length of the UTF-8 sequence at the start, and its character; kNoCharacter: it is none.
int decode(std::string_view text, char32_t& out) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return out = first, 1;
  const int length = first >= 0xF0 && first < 0xF5   ? 4
                     : first >= 0xE0 && first < 0xF0 ? 3
                     : first >= 0xC2 && first < 0xE0 ? 2
                                                     : 0;
  if (length == 0 || text.size() < static_cast<size_t>(length)) return kNoCharacter;
  out = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    const uint8_t next = byte(static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) return kNoCharacter;
    out = out << 6 | (next & 0x3F);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = out >= 0xD800 && out <= 0xDFFF;
  return out < kLeast[static_cast<size_t>(length)] || out > 0x10FFFF || surrogate ? kNoCharacter : length;
}

std::string written_out(char32_t character) {
  std::array<char, 16> out{};
  const char* format = character < 0x100 ? "\\x%02x" : character < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(out.data(), out.size(), format, static_cast<unsigned>(character));
  return out.data();
}

}  // namespace

bool is_hidden(char32_t character) {
  return std::any_of(kHidden.begin(), kHidden.end(),
                     [&](const CodePointRange& r) { return r.from <= character && character <= r.to; });
}

std::string visible(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    char32_t character = 0;
    const int length = decode(text, character);
    const bool line = keep == Keep::Lines && (character == '\n' || character == '\t');
    if (length == kNoCharacter)
      out += written_out(static_cast<uint8_t>(text[0]));
    else if (is_hidden(character) && !line)
      out += written_out(character);
    else
      out += text.substr(0, static_cast<size_t>(length));
    text.remove_prefix(static_cast<size_t>(std::max(1, length)));
  }
  return out;
}

}  // namespace vitrine
