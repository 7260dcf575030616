// A text that many rows have: eight bytes, one allocation for all copies. Constant, and safe to copy between
// threads. Read it as a std::string or a std::string_view; to change it, assign another one.
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace vitrine {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : block_(text.empty() ? nullptr : new Block{{1}, std::move(text)}) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}
  SharedText(const SharedText& other) : block_(other.block_) {
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedText() {
    if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;
  }

  const std::string& str() const {
    static const std::string none;
    return block_ ? block_->text : none;
  }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }

  bool empty() const { return !block_; }
  size_t size() const { return str().size(); }
  const char* c_str() const { return str().c_str(); }
  const char* data() const { return str().data(); }
  auto begin() const { return str().begin(); }
  auto end() const { return str().end(); }
  char operator[](size_t i) const { return str()[i]; }
  char front() const { return str().front(); }
  char back() const { return str().back(); }
  bool starts_with(std::string_view text) const { return str().starts_with(text); }
  bool ends_with(std::string_view text) const { return str().ends_with(text); }
  size_t find(std::string_view text, size_t from = 0) const { return str().find(text, from); }
  size_t find(char c, size_t from = 0) const { return str().find(c, from); }
  size_t rfind(std::string_view text) const { return str().rfind(text); }
  size_t rfind(char c) const { return str().rfind(c); }
  std::string substr(size_t from, size_t count = std::string::npos) const {
    return str().substr(from, count);
  }

  // Friends, so that they are not asked about other texts.
  friend bool operator==(const SharedText& a, const SharedText& b) { return a.str() == b.str(); }
  template <std::convertible_to<std::string_view> T>
  friend bool operator==(const SharedText& a, const T& b) {
    return std::string_view(a) == std::string_view(b);
  }
  friend auto operator<=>(const SharedText& a, const SharedText& b) { return a.str() <=> b.str(); }
  template <std::convertible_to<std::string_view> T>
  friend auto operator<=>(const SharedText& a, const T& b) {
    return std::string_view(a) <=> std::string_view(b);
  }
  template <std::convertible_to<std::string_view> T>
  friend std::string operator+(const SharedText& a, const T& b) {
    return a.str() + std::string(b);
  }
  template <std::convertible_to<std::string_view> T>
  friend std::string operator+(const T& a, const SharedText& b) {
    return std::string(a) + b.str();
  }
  friend std::string operator+(const SharedText& a, const SharedText& b) { return a.str() + b.str(); }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.str(); }

 private:
  struct Block {
    std::atomic<int64_t> owners;
    const std::string text;
  };
  Block* block_ = nullptr;  // none: the empty text
};

}  // namespace vitrine
