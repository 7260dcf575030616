// What shape rules are written with: typed access to a call's arguments, and the way out for a call that a
// rule does not cover.
#pragma once

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/table.h"

namespace vitrine::ops {

using Types = std::vector<ir::TensorType>;
using ir::Dims;
using ir::DType;
using ir::Sym;
using ir::TensorType;

// Thrown by a rule for a call that it does not cover (or that eager rejects); covered<> turns it into an
// Error.
struct Uncovered : std::exception {
  explicit Uncovered(std::string reason) : why(std::move(reason)) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
};
[[noreturn]] inline void uncovered(std::string why) {
  throw Uncovered(std::move(why));
}
inline void need(bool condition, const char* why) {
  if (!condition) uncovered(why);
}

class Call {
 public:
  explicit Call(const ShapeCall& call)
      : call_(call), default_dtype(call.default_dtype), grad_enabled(call.grad_enabled) {}
  size_t size() const { return call_.args.size(); }

  bool none(size_t i) const {
    const ShapeArg& a = arg(i);
    return !a.tensor && a.list.empty() && (!a.constant || a.constant->is_none());
  }
  bool is_tensor(size_t i) const { return arg(i).tensor; }
  const TensorType& tensor(size_t i) const;
  const TensorType* tensor_or_null(size_t i) const { return none(i) ? nullptr : &tensor(i); }
  bool wrapped(size_t i) const { return arg(i).is_wrapped_number; }
  std::vector<const TensorType*> tensors(size_t i) const;  // a list; null where an element is None
  Sym integer(size_t i) const;
  bool flag(size_t i) const;
  double number(size_t i) const;  // bool, int or float
  // A number's own type: b1, i64 or the default floating type.
  DType number_dtype(size_t i) const;
  Dims ints(size_t i) const;                // a list of integers; a single integer is a list of one
  std::vector<bool> flags(size_t i) const;  // a list of bools
  std::string text(size_t i) const;
  std::optional<DType> dtype(size_t i) const;  // none -> nullopt
  std::string word(size_t i) const;            // memory format or layout, "" for none

 private:
  const ShapeArg& arg(size_t i) const {
    if (i >= call_.args.size()) uncovered("too few arguments");
    return call_.args[i];
  }
  const ir::Arg& constant(size_t i) const {
    if (!arg(i).constant) uncovered("an argument is not a constant");
    return *arg(i).constant;
  }
  const ShapeCall& call_;

 public:
  const DType default_dtype;
  const bool grad_enabled;
};

template <auto Rule>
Result<Types> covered(const ShapeCall& call) {
  try {
    return Rule(Call(call));
  } catch (const Uncovered& u) {
    return Error{"The shape rule does not cover this call: " + u.why, "", ""};
  }
}

// Index of a dimension, negative ones counted from the end. A 0-d tensor has the dimensions 0 and -1.
size_t wrap_dim(int64_t dim, size_t ndim);
// One flag a dimension; an empty list means all (as reductions read it).
std::vector<bool> dim_mask(const Dims& dims, size_t ndim);

// Rows of the table, one list a family file.
extern const std::vector<OpRow> kPointwiseBinary, kPointwiseUnary, kCompare, kReduction, kNorm, kSoftmax,
    kView, kMatmul, kConvPool, kEmbeddingIndex, kFactory, kCopy, kRandom, kLoss, kBackward;

// Cells of the gradient column.
inline constexpr std::string_view kRule = "rule", kFunctional = "functional";
inline bool is_borrowed(const OpRow& row) {
  return row.gradient.starts_with("borrowed(\"");
}

}  // namespace vitrine::ops
