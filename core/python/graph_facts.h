// Graphs as Python's own values: what tests, passes of the user's and vitrine.graph read.
#pragma once

#include "core/ir/graph.h"

struct _object;

namespace vitrine::python {

// (dtype, sizes, strides, offset). New reference, as of the others.
_object* python_type(const ir::TensorType& type);

// {"stage", "nodes": [{"id", "kind", "name", "op", "args", "kwargs", "types", "devices", "from", "rule",
// "file", "line", "module", "source"}], "results", "text"}. A reference is ("ref", node, output); words and
// dtypes are (kind, text); an integer that is an expression is its text.
_object* python_graph(const ir::Graph& graph);

}  // namespace vitrine::python
