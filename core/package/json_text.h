// As much of JSON as the header of a safetensors file has: objects, lists of whole numbers, texts.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace vitrine::package {

class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads a text from front to back. Every function may throw a JsonError.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : rest_(text) {}
  std::string text();
  int64_t number();  // not negative
  bool take(char mark);
  void expect(char mark);
  void expect_end();
  // Calls f(key) in front of each value of an object.
  template <class F>
  void each_member(F&& f) {
    expect('{');
    if (take('}')) return;
    do {
      const std::string key = text();
      expect(':');
      f(key);
    } while (take(','));
    expect('}');
  }
  template <class F>
  void each_item(F&& f) {
    expect('[');
    if (take(']')) return;
    do f();
    while (take(','));
    expect(']');
  }

 private:
  void skip_space();
  char next();
  uint32_t hex();
  std::string_view rest_;
};

// The text between its quotes.
std::string json_quoted(std::string_view text);

}  // namespace vitrine::package
