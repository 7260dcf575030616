#include "core/fusion/expr.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace vitrine::fusion {

ExprPtr Expr::make_number(double v) {
  auto e = std::make_shared<Expr>();
  e->number = v;
  return e;
}

ExprPtr Expr::make_whole(int64_t v) {
  auto e = std::make_shared<Expr>();
  e->number = static_cast<double>(v);
  e->integer = v;
  e->whole = true;
  return e;
}

ExprPtr Expr::make_integer(const ir::Sym& v) {
  if (!v.symbolic()) return make_whole(v.hint());
  auto e = std::make_shared<Expr>();
  e->kind = Kind::size;
  e->size = v;
  return e;
}

ExprPtr Expr::make_name(std::string name) {
  auto e = std::make_shared<Expr>();
  e->kind = Kind::name;
  e->name = std::move(name);
  return e;
}

ExprPtr Expr::make_operand(int index) {
  auto e = std::make_shared<Expr>();
  e->kind = Kind::operand;
  e->operand = index;
  return e;
}

ExprPtr Expr::make_call(std::string name, std::vector<ExprPtr> args) {
  auto e = std::make_shared<Expr>();
  e->kind = Kind::call;
  e->name = std::move(name);
  e->args = std::move(args);
  return e;
}

namespace {

// Binary operators by precedence, weakest first.
const std::vector<std::vector<std::string_view>> kLevels = {
    {"==", "!="}, {"<=", ">=", "<", ">"}, {"|"}, {"^"}, {"&"}, {"+", "-"}, {"*", "/"},
};

int level_of(std::string_view op) {
  for (size_t i = 0; i < kLevels.size(); ++i)
    if (std::find(kLevels[i].begin(), kLevels[i].end(), op) != kLevels[i].end()) return static_cast<int>(i);
  return -1;
}

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}

  Result<ExprPtr> parse() {
    ExprPtr e = binary(0);
    skip_space();
    if (!failed_ && at_ != text_.size()) fail("nothing more was expected");
    if (failed_) return Error{message_, "", ""};
    return e;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  ExprPtr fail(const std::string& why) {
    if (!failed_)
      message_ = "expression '" + std::string(text_) + "', column " + std::to_string(at_) + ": " + why;
    failed_ = true;
    return Expr::make_number(0);
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  ExprPtr binary(size_t level) {
    if (level == kLevels.size()) return unary();
    ExprPtr left = binary(level + 1);
    for (bool more = true; more && !failed_;) {
      more = false;
      for (std::string_view op : kLevels[level]) {
        if (!take(op)) continue;
        left = Expr::make_call(std::string(op), {left, binary(level + 1)});
        more = true;
        break;
      }
    }
    return left;
  }
  ExprPtr unary() {
    if (take("-")) return Expr::make_call("neg", {unary()});
    if (take("~")) return Expr::make_call("~", {unary()});
    return primary();
  }
  ExprPtr primary() {
    skip_space();
    if (at_ >= text_.size()) return fail("an operand is missing");
    if (take("(")) {
      ExprPtr e = binary(0);
      if (!take(")")) return fail("')' is missing");
      return e;
    }
    char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return word();
    return fail("an operand was expected");
  }
  ExprPtr number() {
    double value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail("not a number");
    std::string_view spelled = text_.substr(at_, static_cast<size_t>(end - text_.data()) - at_);
    at_ += spelled.size();
    if (spelled.find_first_of(".eE") == std::string_view::npos)
      return Expr::make_integer(static_cast<int64_t>(value));
    return Expr::make_number(value);
  }
  ExprPtr word() {
    size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    std::string name(text_.substr(start, at_ - start));
    if (!take("(")) {
      if (name == "inf") return Expr::make_number(std::numeric_limits<double>::infinity());
      if (name == "nan") return Expr::make_number(std::numeric_limits<double>::quiet_NaN());
      if (name == "true") return Expr::make_integer(1);
      if (name == "false") return Expr::make_integer(0);
      return Expr::make_name(std::move(name));
    }
    std::vector<ExprPtr> args;
    if (!take(")")) {
      do args.push_back(binary(0));
      while (!failed_ && take(","));
      if (!take(")")) return fail("')' is missing");
    }
    return Expr::make_call(std::move(name), std::move(args));
  }

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
  std::string message_;
};

std::string print(const Expr& e, int outer) {
  switch (e.kind) {
    case Expr::Kind::number: {
      if (e.whole) return std::to_string(e.integer);
      if (std::isinf(e.number)) return e.number > 0 ? "inf" : "-inf";
      if (std::isnan(e.number)) return "nan";
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%.9g", e.number);
      return buffer;
    }
    case Expr::Kind::size:
      return "(" + ir::text(e.size) + ")";
    case Expr::Kind::name:
      return e.name;
    case Expr::Kind::operand:
      return "$" + std::to_string(e.operand);
    case Expr::Kind::call:
      break;
  }
  int level = level_of(e.name);
  if (level >= 0 && e.args.size() == 2) {
    std::string out = print(*e.args[0], level) + " " + e.name + " " + print(*e.args[1], level + 1);
    return level < outer ? "(" + out + ")" : out;
  }
  std::string list;
  for (const ExprPtr& a : e.args) list += (list.empty() ? "" : ", ") + print(*a, 0);
  return e.name + "(" + list + ")";
}

void collect(const ExprPtr& e, std::vector<std::string>& out) {
  if (e->kind == Expr::Kind::name && std::find(out.begin(), out.end(), e->name) == out.end())
    out.push_back(e->name);
  for (const ExprPtr& a : e->args) collect(a, out);
}

}  // namespace

Result<ExprPtr> parse_expr(std::string_view text) {
  return ExprParser(text).parse();
}

std::string to_text(const ExprPtr& expr) {
  return print(*expr, 0);
}

ExprPtr replace_names(const ExprPtr& expr, const std::function<ExprPtr(const std::string&)>& f) {
  if (expr->kind == Expr::Kind::name) {
    ExprPtr r = f(expr->name);
    return r ? r : expr;
  }
  if (expr->kind != Expr::Kind::call) return expr;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : expr->args) args.push_back(replace_names(a, f));
  return Expr::make_call(expr->name, std::move(args));
}

bool has_size(const Expr& expr) {
  return expr.kind == Expr::Kind::size ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const ExprPtr& a) { return has_size(*a); });
}

std::vector<std::string> names_in(const ExprPtr& expr) {
  std::vector<std::string> out;
  collect(expr, out);
  return out;
}

}  // namespace vitrine::fusion
