#include "core/package/json_text.h"

#include <limits>

namespace vitrine::package {

namespace {

void add_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6), tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0);
  }
}

}  // namespace

void JsonText::skip_space() {
  const size_t at = rest_.find_first_not_of(" \t\n\r");
  rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
}

char JsonText::next() {
  if (rest_.empty()) throw JsonError("its header ends too early");
  const char out = rest_.front();
  rest_.remove_prefix(1);
  return out;
}

bool JsonText::take(char mark) {
  skip_space();
  if (rest_.empty() || rest_.front() != mark) return false;
  rest_.remove_prefix(1);
  return true;
}

void JsonText::expect(char mark) {
  if (!take(mark)) throw JsonError(std::string("its header lacks a ") + mark);
}

void JsonText::expect_end() {
  skip_space();
  if (!rest_.empty()) throw JsonError("something stands behind its header");
}

int64_t JsonText::number() {
  skip_space();
  int64_t out = 0;
  size_t digits = 0;
  for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
    if (__builtin_mul_overflow(out, int64_t{10}, &out) ||
        __builtin_add_overflow(out, rest_[digits] - '0', &out))
      throw JsonError("a number of its header has too many digits");
  if (digits == 0) throw JsonError("a number of its header is none");
  rest_.remove_prefix(digits);
  return out;
}

uint32_t JsonText::hex() {
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = next();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) throw JsonError("a character of its header is none");
    out = out << 4 | static_cast<uint32_t>(digit);
  }
  return out;
}

std::string JsonText::text() {
  static constexpr std::string_view kMarks = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  expect('"');
  std::string out;
  for (char c = next(); c != '"'; c = next()) {
    if (static_cast<unsigned char>(c) < 0x20) throw JsonError("a text of its header has a control character");
    if (c != '\\') {
      out += c;
      continue;
    }
    c = next();
    if (const size_t at = kMarks.find(c); at != std::string_view::npos) {
      out += kMeant[at];
      continue;
    }
    if (c != 'u') throw JsonError("a character of its header is none");
    uint32_t code = hex();
    if (code >= 0xd800 && code < 0xdc00) {
      if (next() != '\\' || next() != 'u') throw JsonError("half a character stands in its header");
      const uint32_t low = hex();
      if (low < 0xdc00 || low >= 0xe000) throw JsonError("half a character stands in its header");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(out, code);
  }
  return out;
}

std::string json_quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      (out += "\\u00") += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace vitrine::package
