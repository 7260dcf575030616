#include "core/torch_bridge/errors_aside.h"

#include <iostream>
#include <streambuf>
#include <string_view>
#include <utility>

#include "core/torch_bridge/api.h"

namespace vitrine::torch_bridge {

namespace {

thread_local int lives = 0;
thread_local std::string kept;

// In front of std::cerr's own buffer, for the rest of the process: which thread writes is known here only.
class Sieve : public std::streambuf {
 public:
  explicit Sieve(std::streambuf* behind) : behind_(behind) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    constexpr std::string_view kSign = "Exception in aoti_torch: ";
    const std::string_view all(text, static_cast<size_t>(n));
    const size_t at = lives > 0 ? all.find(kSign) : std::string_view::npos;
    if (at == std::string_view::npos) return behind_->sputn(text, n);
    const std::string_view said = all.substr(at + kSign.size());
    kept = said.substr(0, said.find('\n'));
    return n;
  }
  int_type overflow(int_type c) override {
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c)
                                                           : behind_->sputc(traits_type::to_char_type(c));
  }
  int sync() override { return behind_->pubsync(); }

 private:
  std::streambuf* const behind_;
};

}  // namespace

ErrorsAside::ErrorsAside() {
  static const bool installed = [] {
    if (api().symbols.error_text) return false;
    std::cerr.rdbuf(new Sieve(std::cerr.rdbuf()));  // never freed: std::cerr outlives all
    return true;
  }();
  (void)installed;
  ++lives;
}
ErrorsAside::~ErrorsAside() {
  --lives;
}

std::string take_error_aside() {
  return std::exchange(kept, std::string());
}

}  // namespace vitrine::torch_bridge
