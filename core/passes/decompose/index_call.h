// How the rules of the index analysis see a call, and what they share: a rule an operator, in
// index_arithmetic.cpp and data_movement.cpp. A NaN among a rule's numbers is one that is not known.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "core/ops/node.h"
#include "core/passes/decompose/index_values.h"

namespace vitrine::passes {

using ir::Arg;
using ir::Dims;
using ir::DType;
using ir::TensorType;

constexpr double kAny = std::numeric_limits<double>::quiet_NaN();

inline IndexValue number(double value) {
  return std::isnan(value) ? IndexValue(Unknown{}) : IndexValue(value);
}
// The number as an element of this type; what would be rounded is not known.
double held(double number, DType dtype);
// The value of a tensor of this type, in its simplest form; what its type does not hold is not known.
IndexValue settled(IndexValue value, const TensorType& type);
void broadcast_to(IndexValue& value, const Dims& sizes, const Dims& to);
// As a linear value; a whole number is one without steps.
std::optional<Linear> as_linear(const IndexValue& value, size_t dims);
// a * factor + b * other
Linear sum(const Linear& a, int64_t factor, const Linear& b, int64_t other);

// A call of an operator with a row: its arguments by the schema's names, its operands as wide as its result.
class IndexCall {
 public:
  IndexCall(const ir::Node& node, const ops::OpRow& row, std::vector<Arg> args, IndexValues& values)
      : node_(node), params_(ops::params(row)), args_(std::move(args)), values_(values) {}

  const TensorType& type() const { return node_.type(); }
  const Arg& arg(std::string_view name) const {
    for (size_t i = 0; i < params_.size(); ++i)
      if (params_[i].name == name) return args_[i];
    static const Arg none;
    return none;
  }
  int64_t integer(std::string_view name, int64_t otherwise = 0) const {
    const Arg& a = arg(name);
    return a.is<int64_t>() ? a.as<int64_t>() : otherwise;
  }
  size_t dim(std::string_view name, size_t dims) const {
    const int64_t d = integer(name);
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(dims) : d);
  }
  const TensorType& type_of(std::string_view name) const { return values_.type(arg(name).as<ir::Ref>()); }
  // As it is, without broadcasting.
  IndexValue given(std::string_view name) const {
    const Arg& a = arg(name);
    if (a.is<ir::Ref>()) return values_.of(a.as<ir::Ref>());
    if (a.is<bool>()) return a.as<bool>() ? 1.0 : 0.0;
    if (a.is<int64_t>()) return number(held(static_cast<double>(a.as<int64_t>()), number_type()));
    if (a.is<double>()) return number(held(a.as<double>(), number_type()));
    return Unknown{};
  }
  IndexValue operand(std::string_view name) const {
    IndexValue value = given(name);
    if (arg(name).is<ir::Ref>()) broadcast_to(value, type_of(name).sizes, type().sizes);
    return value;
  }
  IndexValues& values() const { return values_; }

 private:
  // What a number is converted to: the type of the tensor beside it.
  DType number_type() const {
    const bool beside = arg("self").is<ir::Ref>();
    return beside ? type_of("self").dtype : type().dtype;
  }

  const ir::Node& node_;
  const std::vector<ops::Param>& params_;
  std::vector<Arg> args_;
  IndexValues& values_;
};

// All constants, or choices by one test: f of the numbers, in which a NaN is one that is not known.
template <size_t N, class F>
IndexValue each(const std::array<IndexValue, N>& operands, F f) {
  const Linear* test = nullptr;
  for (const IndexValue& o : operands)
    if (const Choice* c = std::get_if<Choice>(&o); c && !test) test = &c->test;
  auto side = [&](bool yes) {
    std::array<double, N> numbers;
    for (size_t i = 0; i < N; ++i) {
      const Choice* c = std::get_if<Choice>(&operands[i]);
      const double* n = std::get_if<double>(&operands[i]);
      numbers[i] = n ? *n : c && c->test == *test ? (yes ? c->yes : c->no) : kAny;
    }
    return std::apply(f, numbers);
  };
  if (test) return Choice{*test, side(true), side(false)};
  return number(side(true));
}

struct IndexRule {
  std::string_view op;  // without its overload: "add"
  IndexValue (*rule)(const IndexCall& call);
};
extern const std::span<const IndexRule> kIndexArithmetic, kIndexMoves;

}  // namespace vitrine::passes
