// Operators on tensors whose sizes are expressions: no kernel of PyTorch's says what they give, our rules do.
#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/ops/device.h"
#include "core/recording/operator_call.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

bool OperatorCall::is_of_expressions() const {
  return recording_.symbols && std::any_of(bound_.begin(), bound_.end(), [&](const BoundArg& b) {
           const auto symbolic = [&](int t) { return ir::has_expression(recording_.at(t).type); };
           return ir::has_expression(b.arg) || std::any_of(b.tensors.begin(), b.tensors.end(), symbolic);
         });
}

std::vector<ir::TensorType> OperatorCall::types_by_rule() const {
  if (!op_.row || !op_.row->shape)
    stop("unsupported_operator", op_.name + " of sizes that are expressions has no rule");
  auto types = ops::types_of(*op_.row, shape_call());
  if (!types)
    stop("unsupported_operator", op_.name + " of sizes that are expressions: " + types.error().what);
  return types.take();
}

PyRef OperatorCall::view_by_rule() {
  if (bound_[0].tensors.size() != 1) stop("unsupported_operator", op_.name + " is no view of one tensor");
  std::vector<PyRef> made;
  node_.id = recording_.next_id();
  for (const ir::TensorType& type : types_by_rule()) {
    made.push_back(symbolic_view(recording_.at(bound_[0].tensors[0]).object.get(), type));
    output(recording_.add(made.back(), type));
  }
  add_node();
  return op_.returns[0].kind == ReturnKind::tensor_list ? listed(made) : packed(made);
}

}  // namespace vitrine::torch_api
