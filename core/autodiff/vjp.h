// What a gradient rule works with: one node of the forward graph, the gradients of its outputs, and operators
// to write the gradients of its arguments with. A rule that does not cover a case refuses it: the whole
// program's backward is then borrowed from PyTorch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/table.h"

namespace vitrine::autodiff {

using ir::Arg;
using ir::Dims;
using ir::DType;
using ir::Kwargs;
using ir::Ref;
using ir::TensorType;

// Thrown by refuse().
struct Refused {
  std::string why;
};
[[noreturn]] void refuse(std::string why);

class Vjp {
 public:
  // args: of the row, in schema order. tangents: by output, nothing where no gradient arrives. wanted: by
  // argument and its place in a list, whether its gradient is asked for.
  Vjp(ir::Builder& builder, const ir::Node& node, const ops::OpRow& row, std::vector<Arg> args,
      std::vector<std::optional<Ref>> tangents, std::vector<std::vector<bool>> wanted);
  // For operators only, which stand for the node.
  Vjp(ir::Builder& builder, const ir::Node& node) : node(node), builder_(builder) {}

  const ir::Node& node;

  // The call.
  const Arg& arg(size_t i) const { return args_.at(i); }
  bool none(size_t i) const { return arg(i).is_none(); }
  Ref in(size_t i) const;  // a tensor argument
  size_t count(size_t i) const { return arg(i).as<std::vector<Arg>>().size(); }
  Ref in(size_t i, size_t k) const;                      // of a list of tensors
  Ref out(int32_t k = 0) const { return {node.id, k}; }  // a result
  bool wants(size_t i, size_t k = 0) const { return wanted_.at(i).size() > k && wanted_[i][k]; }
  bool has(size_t k) const { return tangents_.at(k).has_value(); }
  Ref g(size_t k = 0) const;  // the gradient of a result; refuses where none arrives
  const TensorType& type(Ref ref) const {
    return builder_.node(ref.node).outputs.at(static_cast<size_t>(ref.output));
  }
  const Dims& sizes(size_t i) const { return type(in(i)).sizes; }
  Dims dims(size_t i) const;  // a list of integers; None is the empty list
  int64_t integer(size_t i) const { return arg(i).as<int64_t>(); }
  bool flag(size_t i) const { return arg(i).is<bool>() && arg(i).as<bool>(); }
  double number(size_t i) const;

  // The gradient of an argument (of the k-th of a list). It is summed to the argument's sizes and converted
  // to its type, as autograd does.
  void give(size_t i, Ref gradient, size_t k = 0);
  struct Given {
    Ref of, gradient;
  };
  std::vector<Given> given() const;  // in the order of the arguments
  const std::vector<ir::NodeId>& made() const { return made_; }

  // Operators; their types are the table's. Refuses what the table does not cover.
  std::vector<Ref> ops(const std::string& name, std::vector<Arg> args, Kwargs kwargs = {});
  Ref op(const std::string& name, std::vector<Arg> args, Kwargs kwargs = {});
  // The value of an expression of the operator table's language, where a, b, c and names are the arguments, y
  // and y1, y2 the results, g the gradient of the only one, and anything else an operator or let() before.
  Ref eval(std::string_view formula);
  void let(const std::string& name, Arg value) { names_[name] = std::move(value); }
  const Arg* name(const std::string& name) const;
  Ref sum_to(Ref value, const Dims& sizes);
  Ref reshape(Ref value, const Dims& sizes);
  Ref contiguous(Ref value);
  Ref cast(Ref value, DType dtype);
  Ref zeros(Ref like, const Dims& sizes);  // of the type and device of `like`
  // With the dimensions of size 1 that a reduction over `dims` (empty: all) has dropped.
  Ref unsqueezed(Ref value, const Dims& dims, size_t ndim, bool keepdim);

 private:
  ir::Builder& builder_;
  std::vector<Arg> args_;
  std::vector<std::optional<Ref>> tangents_;
  std::vector<std::vector<bool>> wanted_;
  std::vector<ir::NodeId> made_;
  std::map<std::pair<size_t, size_t>, Given> given_;
  std::map<std::string, Arg, std::less<>> names_;
};

// Formulas (formula.cpp): one expression, or "a: expression; b: expression" for the arguments that have a
// gradient.
void apply_formulas(std::string_view cell, Vjp& vjp);

}  // namespace vitrine::autodiff
