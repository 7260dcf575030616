// The operator table: one row an operator overload. A newcomer finds an operator's whole truth in its row.
// Rows live in core/ops/<family>.cpp; an operator without a row runs through PyTorch as an opaque node.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::ops {

enum class Family : uint8_t { pointwise, reduction, matmul, view, memory, random, opaque, collective };
std::string_view family_name(Family family);  // as the session stores it

// An argument as a shape rule sees it: a tensor's type where the node has a Ref, else the constant itself.
struct ShapeArg {
  const ir::TensorType* tensor = nullptr;
  bool is_wrapped_number = false;  // a Python number that became a 0-d tensor: weak in type promotion
  const ir::Arg* constant = nullptr;
  std::vector<ShapeArg> list;  // list of tensors
};
struct ShapeCall {
  std::vector<ShapeArg> args;  // in schema order, defaults filled in
};
// Types (with exact strides and offsets, as PyTorch's CPU kernels give them) of the outputs. Error: the call
// is one that the rule does not cover; PyTorch's meta kernel is asked instead. A rule never guesses.
using ShapeRule = Result<std::vector<ir::TensorType>> (*)(const ShapeCall& call);

// How the compiler treats it below the ATen graph.
enum class Lower : uint8_t { pointwise, reduction, view, library, opaque, decompose };

struct OpRow {
  std::string_view name;  // "aten.add.Tensor"
  Family family;
  Lower lower;
  ShapeRule shape;  // nullptr: PyTorch's meta kernel
  std::string_view
      body;  // pointwise: expression over a, b, c ("a + b * alpha"); reduction: its name; else ""
  std::string_view gradient;  // "later" until autodiff exists, or nondifferentiable("why")
  std::string_view doc;       // one line
};

const OpRow* find(std::string_view name);  // nullptr: no row
const std::vector<const OpRow*>& all();    // in file order

}  // namespace vitrine::ops
