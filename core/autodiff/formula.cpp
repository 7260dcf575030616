// The expressions in the `gradient` cells of the operator table: read, and written as operators.
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/autodiff/vjp.h"
#include "core/base/result.h"

namespace vitrine::autodiff {

namespace {

bool is_number(const Arg& a) {
  return a.is<int64_t>() || a.is<double>() || a.is<bool>();
}
double value_of(const Arg& a) {
  if (a.is<double>()) return a.as<double>();
  return a.is<bool>() ? a.as<bool>() : static_cast<double>(a.as<int64_t>());
}
// A size is asked, and not fixed.
bool is_value(const Arg& a, int64_t value) {
  if (a.is<int64_t>()) return a.as<ir::Sym>() == ir::Sym(value);
  return is_number(a) && value_of(a) == static_cast<double>(value);
}

struct Infix {
  std::string_view sign;
  const char* op;  // of two tensors, or a tensor and a number
};
// By precedence, weakest first. Two-character signs stand before their first character.
constexpr Infix kLogic[] = {{"&", "aten.logical_and.default"}, {"|", "aten.logical_or.default"}};
constexpr Infix kCompare[] = {{"<=", "aten.le."}, {">=", "aten.ge."}, {"==", "aten.eq."},
                              {"!=", "aten.ne."}, {"<", "aten.lt."},  {">", "aten.gt."}};

// Functions whose operator has another name, or another for numbers.
struct RenamedFunction {
  std::string_view name;
  const char *tensors, *number;  // number: the second argument is one
};
constexpr RenamedFunction kFunctions[] = {
    {"pow", "aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar"},
    {"masked_fill", "aten.masked_fill.Tensor", "aten.masked_fill.Scalar"},
    {"max", "aten.maximum.default", "aten.clamp_min.default"},
    {"min", "aten.minimum.default", "aten.clamp_max.default"},
};

class FormulaReader {
 public:
  FormulaReader(std::string_view text, Vjp& v) : text_(text), v_(v) {}

  Ref run() {
    Arg value = logic();
    skip();
    VITRINE_CHECK(text_.empty(), "formula: unexpected " + std::string(text_));
    // "0": zeros, laid out as the gradient
    if (is_value(value, 0)) return v_.op("aten.zeros_like.default", {v_.g()});
    VITRINE_CHECK(value.is<Ref>(), "a formula without a tensor");
    return value.as<Ref>();
  }

 private:
  void skip() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool take(std::string_view sign) {
    skip();
    if (!text_.starts_with(sign)) return false;
    text_.remove_prefix(sign.size());
    return true;
  }
  void expect(std::string_view sign) {
    VITRINE_CHECK(take(sign), "formula: " + std::string(sign) + " is missing before " + std::string(text_));
  }

  Arg logic() {
    Arg left = compare();
    for (bool more = true; more;) {
      more = false;
      for (const Infix& i : kLogic)
        if (take(i.sign)) left = Arg(v_.op(i.op, {left, compare()})), more = true;
    }
    return left;
  }
  Arg compare() {
    Arg left = sum();
    for (const Infix& i : kCompare)
      if (take(i.sign)) {
        Arg right = sum();
        return Arg(v_.op(std::string(i.op) + (right.is<Ref>() ? "Tensor" : "Scalar"), {left, right}));
      }
    return left;
  }
  Arg sum() {
    Arg left = product();
    while (true) {
      if (take("+"))
        left = plus(left, product());
      else if (take("-"))
        left = minus(left, product());
      else
        return left;
    }
  }
  Arg product() {
    Arg left = unary();
    while (true) {
      if (take("*"))
        left = times(left, unary());
      else if (take("/"))
        left = over(left, unary());
      else
        return left;
    }
  }
  Arg unary() {
    if (!take("-")) return primary();
    Arg value = unary();
    if (value.is<int64_t>()) return Arg(-value.as<int64_t>());
    if (is_number(value)) return Arg(-value_of(value));
    return Arg(v_.op("aten.neg.default", {value}));
  }

  Arg plus(Arg a, Arg b) {
    if (is_number(a) && is_number(b)) return Arg(value_of(a) + value_of(b));
    if (is_number(a)) std::swap(a, b);
    return Arg(v_.op("aten.add.Tensor", {a, b}));
  }
  Arg minus(const Arg& a, const Arg& b) {
    if (is_number(a) && is_number(b)) return Arg(value_of(a) - value_of(b));
    if (is_number(a)) return Arg(v_.op("aten.rsub.Scalar", {b, a}));
    return Arg(v_.op("aten.sub.Tensor", {a, b}));
  }
  Arg times(Arg a, Arg b) {
    if (is_number(a) && is_number(b)) return Arg(value_of(a) * value_of(b));
    if (is_number(a)) std::swap(a, b);
    return Arg(v_.op("aten.mul.Tensor", {a, b}));
  }
  Arg over(const Arg& a, const Arg& b) {
    if (is_number(a) && is_number(b)) return Arg(value_of(a) / value_of(b));
    return Arg(v_.op("aten.div.Tensor", {a, b}));
  }

  std::string word() {
    skip();
    size_t n = 0;
    while (n < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[n])) || text_[n] == '_')) ++n;
    std::string out(text_.substr(0, n));
    text_.remove_prefix(n);
    return out;
  }

  Arg primary() {
    if (take("(")) {
      Arg value = logic();
      expect(")");
      return value;
    }
    skip();
    VITRINE_CHECK(!text_.empty(), "a formula ends too early");
    if (std::isdigit(static_cast<unsigned char>(text_.front()))) return literal();
    const std::string name = word();
    VITRINE_CHECK(!name.empty(), "formula: unexpected " + std::string(text_));
    if (take("(")) return call(name);
    if (name == "True" || name == "False") return Arg(name == "True");
    const Arg* value = v_.name(name);
    if (!value && name == "g") refuse("its first result has no gradient");
    VITRINE_CHECK(value, "formula: " + name + " is unknown");
    return *value;
  }

  Arg literal() {
    size_t n = std::min(text_.find_first_not_of("0123456789."), text_.size());
    if (text_.substr(n).starts_with("e-"))
      n = std::min(text_.find_first_not_of("0123456789", n + 2), text_.size());
    const std::string digits(text_.substr(0, n));
    text_.remove_prefix(digits.size());
    if (digits.find_first_of(".e") == std::string::npos) return Arg(static_cast<int64_t>(std::stoll(digits)));
    return Arg(std::strtod(digits.c_str(), nullptr));
  }

  Arg call(const std::string& name) {
    std::vector<Arg> args;
    while (!take(")")) {
      if (!args.empty()) expect(",");
      args.push_back(logic());
    }
    VITRINE_CHECK(!args.empty(), "formula: " + name + " of nothing");
    if (name == "where") return where(args);
    if (name == "scaled") {
      VITRINE_CHECK(args.size() == 2, "scaled takes two");
      return is_value(args[1], 1) ? args[0] : times(args[0], args[1]);
    }
    const bool number = !args.back().is<Ref>();
    for (const RenamedFunction& f : kFunctions)
      if (f.name == name) return Arg(v_.op(number ? f.number : f.tensors, std::move(args)));
    return Arg(v_.op("aten." + name + ".default", std::move(args)));
  }
  // A number in a branch is a tensor without dimensions, of the other branch's type.
  Arg where(std::vector<Arg> args) {
    VITRINE_CHECK(args.size() == 3, "where takes three");
    for (size_t i : {1, 2})
      if (is_number(args[i])) {
        const Ref other = args[3 - i].as<Ref>();
        args[i] = is_value(args[i], 0) ? Arg(v_.zeros(other, {}))
                                       : Arg(v_.op("aten.new_full.default", {other, Arg::ints({}), args[i]}));
      }
    return Arg(v_.op("aten.where.self", std::move(args)));
  }

  std::string_view text_;
  Vjp& v_;
};

}  // namespace

Ref Vjp::eval(std::string_view formula) {
  return FormulaReader(formula, *this).run();
}

void apply_formulas(std::string_view cell, Vjp& vjp) {
  for (size_t which = 0; !cell.empty(); ++which) {
    const size_t end = cell.find(';');
    std::string_view one = cell.substr(0, end);
    cell = end == std::string_view::npos ? std::string_view() : cell.substr(end + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    size_t argument = 0;
    if (const size_t colon = one.find(':'); colon != std::string_view::npos) {
      argument = static_cast<size_t>(one[0] - 'a');
      one = one.substr(colon + 1);
    }
    if (vjp.wants(argument)) vjp.give(argument, vjp.eval(one));
  }
}

}  // namespace vitrine::autodiff
