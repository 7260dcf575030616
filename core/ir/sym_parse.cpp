// The text of a symbolic integer read back. Text comes from files, so every mistake is an Error.
#include <cctype>
#include <charconv>
#include <functional>

#include "core/ir/sym_arithmetic.h"

namespace vitrine::ir {
namespace {

constexpr int kDeepest = 200;

// sum := product (('+'|'-') product)*, product := factor (('*'|'//'|'%') factor)*,
// factor := '-' factor | number | symbol | '(' sum ')' | ('min'|'max') '(' sum ',' sum ')'
class SymReader {
 public:
  SymReader(std::string_view text, const std::map<std::string, Sym, std::less<>>& symbols)
      : text_(text), symbols_(symbols) {}

  std::optional<Sym> all() {
    auto value = sum();
    skip();
    return value && at_ == text_.size() ? value : std::nullopt;
  }
  size_t at() const { return at_; }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool eat(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::optional<Sym> sum() {
    auto value = product();
    while (value) {
      bool minus = false;
      if (!eat("+") && !(minus = eat("-"))) break;
      auto next = product();
      if (!next) return {};
      value = minus ? *value - *next : *value + *next;
    }
    return value;
  }

  std::optional<Sym> product() {
    auto value = factor();
    while (value) {
      char op = eat("*") ? '*' : eat("//") ? '/' : eat("%") ? '%' : ' ';
      if (op == ' ') break;
      auto next = factor();
      if (!next || (op != '*' && next->hint() == 0)) return {};
      value = op == '*' ? *value * *next : op == '/' ? floordiv(*value, *next) : mod(*value, *next);
    }
    return value;
  }

  std::optional<Sym> factor() {
    if (++depth_ > kDeepest) return {};
    auto value = factor_here();
    --depth_;
    return value;
  }

  std::optional<Sym> factor_here() {
    if (eat("-")) {
      auto value = factor();
      return value ? std::optional(-*value) : std::nullopt;
    }
    bool least = eat("min(");
    if (least || eat("max(")) {
      auto a = sum();
      if (!a || !eat(",")) return {};
      auto b = sum();
      if (!b || !eat(")")) return {};
      return least ? min(*a, *b) : max(*a, *b);
    }
    if (eat("(")) {
      auto value = sum();
      return value && eat(")") ? value : std::nullopt;
    }
    return number_or_symbol();
  }

  std::optional<Sym> number_or_symbol() {
    skip();
    size_t end = at_;
    while (end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end]))) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    std::optional<Sym> result;
    int64_t number = 0;
    auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (auto found = symbols_.find(word); found != symbols_.end()) {
      result = found->second;
    } else if (error == std::errc() && stop == word.data() + word.size()) {
      result = Sym(number);
    }
    if (result) at_ = end;
    return result;
  }

  std::string_view text_;
  const std::map<std::string, Sym, std::less<>>& symbols_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Sym> SymbolTable::parse(std::string_view text) {
  std::map<std::string, Sym, std::less<>> names;
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    names.emplace(symbols_[i].name, atom(SymOp::Symbol, i, Sym(), Sym(), symbols_[i].hint));
  }
  SymReader reader(text, names);
  try {
    if (auto value = reader.all()) return *value;
  } catch (const InternalError&) {  // a number in the text leaves 64 bits
  }
  return Error{"This is not a size: " + std::string(text.substr(0, 80)),
               "Numbers, declared symbols, + - * // % min max and parentheses are read",
               "column " + std::to_string(reader.at() + 1)};
}

}  // namespace vitrine::ir
