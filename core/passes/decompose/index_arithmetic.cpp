// Rules of the index analysis: what is computed element by element, and triangles.
#include "core/passes/decompose/index_call.h"

namespace vitrine::passes {

namespace {

bool has_steps(const IndexValue& value) {
  return std::holds_alternative<Linear>(value);
}

// a * factor + b * other
IndexValue combined(const IndexValue& a, double factor, const IndexValue& b, double other, size_t dims) {
  if (!has_steps(a) && !has_steps(b))
    return each<2>({a, b}, [&](double x, double y) { return factor * x + other * y; });
  const auto x = as_linear(a, dims), y = as_linear(b, dims);
  auto whole = [](double n) { return n == std::trunc(n) && std::abs(n) < 1 << 10; };
  if (!x || !y || !whole(factor) || !whole(other)) return Unknown{};
  return sum(*x, static_cast<int64_t>(factor), *y, static_cast<int64_t>(other));
}

double alpha_of(const IndexCall& c) {
  const IndexValue alpha = c.given("alpha");
  const double* n = std::get_if<double>(&alpha);
  return n ? *n : kAny;
}
IndexValue add(const IndexCall& c) {
  return combined(c.operand("self"), 1, c.operand("other"), alpha_of(c), c.type().sizes.size());
}
IndexValue sub(const IndexCall& c) {
  return combined(c.operand("self"), 1, c.operand("other"), -alpha_of(c), c.type().sizes.size());
}
IndexValue rsub(const IndexCall& c) {
  return combined(c.operand("self"), -alpha_of(c), c.operand("other"), 1, c.type().sizes.size());
}
IndexValue neg(const IndexCall& c) {
  return combined(c.operand("self"), -1, 0.0, 0, c.type().sizes.size());
}
IndexValue mul(const IndexCall& c) {
  const IndexValue a = c.operand("self"), b = c.operand("other");
  const size_t dims = c.type().sizes.size();
  if (has_steps(a) && std::holds_alternative<double>(b))
    return combined(a, std::get<double>(b), 0.0, 0, dims);
  if (has_steps(b) && std::holds_alternative<double>(a))
    return combined(b, std::get<double>(a), 0.0, 0, dims);
  return each<2>({a, b}, [](double x, double y) { return x * y; });
}

// self - other + shift >= 0, or the other way round.
IndexValue compared(const IndexCall& c, int sign, int64_t shift) {
  const IndexValue a = c.operand("self"), b = c.operand("other");
  if (!has_steps(a) && !has_steps(b))
    return each<2>({a, b}, [&](double x, double y) {
      if (std::isnan(x) || std::isnan(y)) return kAny;
      return (shift == 0 ? sign * x >= sign * y : sign * x > sign * y) ? 1.0 : 0.0;
    });
  const auto x = as_linear(a, c.type().sizes.size()), y = as_linear(b, c.type().sizes.size());
  if (!x || !y) return Unknown{};
  Linear test = sum(*x, sign, *y, -sign);
  test.start += shift;
  return Choice{test, 1, 0};
}
IndexValue ge(const IndexCall& c) {
  return compared(c, 1, 0);
}
IndexValue gt(const IndexCall& c) {
  return compared(c, 1, -1);
}
IndexValue le(const IndexCall& c) {
  return compared(c, -1, 0);
}
IndexValue lt(const IndexCall& c) {
  return compared(c, -1, -1);
}
// Whether a value is another: known where they are constants, or where the difference is never 0.
IndexValue differs(const IndexCall& c, double yes) {
  const IndexValue a = c.operand("self"), b = c.operand("other");
  if (!has_steps(a) && !has_steps(b))
    return each<2>({a, b}, [&](double x, double y) {
      return std::isnan(x) || std::isnan(y) ? kAny : x != y ? yes : 1 - yes;
    });
  const auto x = as_linear(a, c.type().sizes.size()), y = as_linear(b, c.type().sizes.size());
  if (!x || !y) return Unknown{};
  const ValueRange range = range_of(sum(*x, 1, *y, -1), c.type().sizes);
  return range.least > 0 || range.most < 0 ? IndexValue(yes) : IndexValue(Unknown{});
}
IndexValue eq(const IndexCall& c) {
  return differs(c, 0);
}
IndexValue ne(const IndexCall& c) {
  return differs(c, 1);
}

// Of numbers as of truth values; an operator on the bits of others is not followed.
IndexValue both(const IndexCall& c) {
  if (c.type().dtype != DType::b1) return Unknown{};
  return each<2>({c.operand("self"), c.operand("other")}, [](double x, double y) {
    if (x == 0 || y == 0) return 0.0;
    return std::isnan(x) || std::isnan(y) ? kAny : 1.0;
  });
}
IndexValue either(const IndexCall& c) {
  if (c.type().dtype != DType::b1) return Unknown{};
  auto is_true = [](double x) { return !std::isnan(x) && x != 0; };
  return each<2>({c.operand("self"), c.operand("other")}, [&](double x, double y) {
    if (is_true(x) || is_true(y)) return 1.0;
    return std::isnan(x) || std::isnan(y) ? kAny : 0.0;
  });
}
IndexValue negated(const IndexCall& c) {
  if (c.type().dtype != DType::b1) return Unknown{};
  return each<1>({c.operand("self")}, [](double x) { return std::isnan(x) ? kAny : x == 0 ? 1.0 : 0.0; });
}

double chosen(double condition, double yes, double no) {
  if (std::isnan(condition)) return yes == no ? yes : kAny;
  return condition != 0 ? yes : no;
}
IndexValue where(const IndexCall& c) {
  return each<3>({c.operand("condition"), c.operand("self"), c.operand("other")}, chosen);
}
IndexValue masked_fill(const IndexCall& c) {
  return each<3>({c.operand("mask"), c.operand("value"), c.operand("self")}, chosen);
}
// sign * (column - row - diagonal) >= 0 keeps the element.
IndexValue triangle(const IndexCall& c, int sign) {
  Linear test{-sign * c.integer("diagonal"), Dims(c.type().sizes.size(), 0)};
  test.steps[test.steps.size() - 1] = sign;
  test.steps[test.steps.size() - 2] = -sign;
  const IndexValue inside = settled(Choice{test, 1, 0}, [&] {
    TensorType type = c.type();
    type.dtype = DType::b1;
    return type;
  }());
  return each<3>({inside, c.operand("self"), 0.0}, chosen);
}
IndexValue triu(const IndexCall& c) {
  return triangle(c, 1);
}
IndexValue tril(const IndexCall& c) {
  return triangle(c, -1);
}

IndexValue converted(const IndexCall& c) {
  const IndexValue value = c.operand("self");
  if (c.type().dtype != DType::b1) return value;
  if (const Linear* l = std::get_if<Linear>(&value)) {
    const ValueRange range = range_of(*l, c.type().sizes);
    return range.least > 0 || range.most < 0 ? IndexValue(1.0) : IndexValue(Unknown{});
  }
  return each<1>({value}, [](double x) { return std::isnan(x) ? kAny : x != 0 ? 1.0 : 0.0; });
}

// Running sums of a number grow by it.
IndexValue cumsum(const IndexCall& c) {
  const IndexValue value = c.given("self");
  const double* n = std::get_if<double>(&value);
  if (!n || c.type().sizes.empty() || !ir::is_integer(c.type().dtype)) return Unknown{};
  Linear out = *as_linear(value, c.type().sizes.size());
  out.steps[c.dim("dim", out.steps.size())] = out.start;
  return out;
}

constexpr IndexRule kArithmetic[] = {
    {"add", add},
    {"sub", sub},
    {"rsub", rsub},
    {"neg", neg},
    {"mul", mul},
    {"ge", ge},
    {"gt", gt},
    {"le", le},
    {"lt", lt},
    {"eq", eq},
    {"ne", ne},
    {"bitwise_and", both},
    {"logical_and", both},
    {"bitwise_or", either},
    {"logical_or", either},
    {"bitwise_not", negated},
    {"logical_not", negated},
    {"where", where},
    {"masked_fill", masked_fill},
    {"triu", triu},
    {"tril", tril},
    {"_to_copy", converted},
    {"cumsum", cumsum},
};

}  // namespace

const std::span<const IndexRule> kIndexArithmetic = kArithmetic;

}  // namespace vitrine::passes
