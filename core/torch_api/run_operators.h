// A graph's operators one after the other through PyTorch, on whatever tensors are given: for calls whose
// tensors are not those that the graph was made for. Nothing is checked against the graph's types.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

// inputs: tensors by placeholder and constant, in order. Its results; null where the graph has None. Errors:
// an operator that cannot be called, or that raises: then its Python error is set.
Result<std::vector<PyRef>> run_operators(const ir::Graph& graph, std::span<PyObject* const> inputs);

}  // namespace vitrine::torch_api
