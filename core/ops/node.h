// What a node of a graph means by the operator table: its arguments in schema order, what it writes, whether
// it may return a view, the type in which it computes. An operator without a row gets the safe answer.
#pragma once

#include <optional>
#include <span>

#include "core/ir/graph.h"
#include "core/ops/table.h"

namespace vitrine::ops {

struct Param {
  std::string name;
  ir::Arg fallback;  // default value
  bool required = true, keyword_only = false, written = false;
  std::string written_if;  // name of the bool parameter on which writing depends, or ""
};
const std::vector<Param>& params(const OpRow& row);

// Whether the argument is the number 1, as alpha and beta mostly are.
bool is_one(const ir::Arg& arg);

// The node's arguments in schema order (keyword-only ones last), defaults filled in: what `body` and
// ShapeCall go by. Errors: too many arguments, an unknown keyword, a missing one.
Result<std::vector<ir::Arg>> bind(const OpRow& row, const ir::Node& node);

// Runs the row's shape rule on bound arguments. Error: no rule, or the rule does not cover the call.
using TypeOf = std::function<const ir::TensorType&(ir::Ref)>;
Result<std::vector<ir::TensorType>> infer(const OpRow& row, const std::vector<ir::Arg>& args,
                                          const TypeOf& type_of);

// The type in which a pointwise body is evaluated: the output's (a bool output: what the operands promote
// to), f32 for f16 and bf16.
ir::DType compute_dtype(const OpRow& row, const std::vector<ir::Arg>& args, const TypeOf& type_of,
                        ir::DType output);

// The operator that computes what this one writes into its first argument: "aten.add.Tensor" of
// "aten.add_.Tensor". Of an operator without a row PyTorch's naming says so. nullptr: none in the table.
const OpRow* functional_of(std::string_view op);

// Values whose storage the node writes. An operator that is unknown may write every tensor it gets, unless
// its schema says that it only reads.
std::vector<ir::Ref> written(const ir::Node& node);
// Those among them whose write PyTorch counts in the tensor's version: its batch norm writes the running
// statistics behind the counter's back, and its fused optimizers all that they write.
std::vector<ir::Ref> counted(const ir::Node& node);
// A barrier for fusion: written() is not empty.
bool writes(const ir::Node& node);
bool only_reads(const ir::Graph& graph);  // none of its nodes writes
// Arguments with which an output may share storage: a view's base, what the node writes; every tensor
// argument of an operator that is unknown.
std::vector<ir::Ref> aliased(const ir::Node& node);
bool may_alias(const ir::Node& node);  // aliased() is not empty
// Draws random numbers: neither merged nor dropped nor reordered among its like.
bool is_random(const ir::Node& node);
// A parameter or a buffer of a module: what is constant between calls while nobody writes to it.
bool is_weight(const ir::Node& node);
// PyTorch's attention, or its backward. On a GPU its 0-d tensors are the generator's seed and offset, which
// are read only if it drops out, and lie on the CPU, but on the GPU while a CUDA Graph is recorded.
bool is_attention(const ir::Node& node);
bool drops_out(const ir::Node& node);
// It makes what its backward needs only while grad mode is on, and did so when it was recorded.
bool asks_grad_mode(const ir::Node& node);
// Which of its outputs is memory for its backward alone, whose size only the operator knows.
std::optional<size_t> workspace(const ir::Node& node);
// Positions of the gradients that a backward operator takes, where each may be None if another is given.
std::span<const size_t> optional_gradients(const ir::Node& node);

}  // namespace vitrine::ops
