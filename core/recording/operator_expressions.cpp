// Operators on tensors whose sizes are expressions: no kernel of PyTorch's says what they give, our rules do.
#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/ops/device.h"
#include "core/recording/operator_call.h"
#include "core/recording/sized_types.h"
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

// What the operator's row does not cover.
PyRef OperatorCall::by_sized_rule() {
  const ops::ShapeRule rule = ops::sized_types(op_.name);
  std::string why = " of sizes that are expressions is not known";
  std::optional<ir::Device> device;
  for (const BoundArg& b : bound_)
    for (int t : b.tensors) {
      const ir::Device here = recording_.at(t).type.device;
      if (device && *device != here) stop("unsupported_operator", op_.name + why);
      device = here;
    }
  if (!rule || op_.writes) {
    const bool has_rule = op_.row && op_.row->shape;
    const auto types = has_rule ? ops::types_of(*op_.row, shape_call()) : Error{};
    if (has_rule && !types) why += ": " + types.error().what;
    stop("unsupported_operator", op_.name + why);
  }
  auto types = rule(shape_call());
  if (!types) stop("unsupported_operator", op_.name + why + ": " + types.error().what);
  for (ir::TensorType& type : types.value()) type.device = device.value_or(ir::Device{});
  PyRef made = results(types.value());
  if (!made) stop("unsupported_operator", op_.name + why);
  return made;
}

}  // namespace vitrine::torch_api
