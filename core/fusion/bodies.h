// The expression an operator computes for one element, from its row in the operator table, with its constant
// arguments filled in and small constant powers written as products.
#pragma once

#include <optional>
#include <vector>

#include "core/fusion/expr.h"
#include "core/ir/graph.h"

namespace vitrine::fusion {

struct Body {
  ExprPtr expr;                        // over $0, $1, ...: `operands`
  std::vector<ir::Ref> operands;       // tensor arguments that it uses, each once
  ir::DType compute = ir::DType::f32;  // the type that operands are converted to
};

// nullopt: the operator, or this use of it, has no pointwise body.
std::optional<Body> pointwise_body(const ir::Graph& graph, const ir::Node& node);

}  // namespace vitrine::fusion
