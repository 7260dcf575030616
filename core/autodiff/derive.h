// Reverse-mode differentiation of an ATen graph by the operator table's gradient rules (the `gradient` column
// of core/ops; what does not fit into a cell is a function of core/autodiff/rules.h).
//
// The walk goes from the last operator to the first, as autograd's engine does (it runs the node that was
// made last of those that are ready), so that where several gradients of one value are added they are added
// in the same order, and come out bit by bit the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::autodiff {

// The derivative of one operator by PyTorch's own backward, for calls that no rule covers.
struct Borrowed {
  std::vector<ir::Node> nodes;                         // continue the program
  std::vector<std::pair<ir::Ref, ir::Ref>> gradients;  // tensor argument, its gradient; in argument order
};
struct BorrowCall {
  const ir::Node& node;
  const std::vector<bool>& requires_grad;               // by tensor argument, in order of each_ref()
  const std::vector<std::optional<ir::Ref>>& tangents;  // by output, nothing where no gradient arrives
  std::function<const ir::TensorType&(ir::Ref)> type;
};
using Borrow = std::function<Result<Borrowed>(const BorrowCall& call)>;

// A forward program in execution order. Sizes are numbers.
struct ForwardProgram {
  std::vector<ir::Node> leading, tangents, forward;  // leading: inputs and constants
  std::vector<ir::Ref> results;                      // by tangent: whose gradient it is
  std::vector<ir::NodeId> wanted;                    // the leading inputs whose gradients are asked for
  // By forward node that autograd follows: which of its tensor arguments, in order of each_ref(), require
  // grad at that call. Nodes without an entry (gradients off, detach, integers) are constants to it.
  std::unordered_map<ir::NodeId, std::vector<bool>> followed;
  Borrow borrow = nullptr;      // nullptr: what no rule covers is an error
  std::vector<ir::Ref> points;  // values whose gradient is to have a node of its own
};

// What is added to a gradient: by the operator that reads the value, if one of the tangents comes by it.
struct GradientTerm {
  ir::NodeId reader = -1;  // -1: the value is a result itself
  std::vector<int> tangents;
};

struct Derivative {
  std::vector<ir::Node> backward;                 // continues the program
  std::vector<std::optional<ir::Ref>> gradients;  // by `wanted`; nothing: it depends on no result
  std::vector<std::vector<GradientTerm>> terms;   // by `wanted`
  std::vector<size_t> complete;       // places in `wanted`, in the order in which eager has their gradients
  std::vector<std::string> borrowed;  // operators whose derivative is PyTorch's, once each
  std::vector<ir::NodeId> points;  // by `points`: gives the gradient when all is added up; -1: there is none
  std::vector<size_t> before;      // by `points`: how many gradients eager has when it comes by the point
};

// Errors: what neither a rule nor `borrow` covers ("aten.x.default has no gradient rule"), or what only
// autograd itself can see (writes to memory that has several names).
Result<Derivative> derive(const ForwardProgram& program, const std::shared_ptr<ir::NodeIds>& ids);

// What autograd would follow if gradients were on throughout: everything floating that depends on `wanted`,
// but for what is detached.
std::unordered_map<ir::NodeId, std::vector<bool>> follow_all(const ForwardProgram& program);

}  // namespace vitrine::autodiff
