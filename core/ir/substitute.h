// A graph of expressions for sizes that are known: each expression becomes its value.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::ir {

// values: by symbol of the table that the graph's expressions are of. Whether its guards hold is the caller's
// to ask. Errors: an expression has no value there.
Result<GraphPtr> at_sizes(const Graph& graph, const SymbolTable& table, std::span<const int64_t> values);

Result<TensorType> at_sizes(const TensorType& type, const SymbolTable& table,
                            std::span<const int64_t> values);
Result<Node> at_sizes(const Node& node, const SymbolTable& table, std::span<const int64_t> values);

}  // namespace vitrine::ir
