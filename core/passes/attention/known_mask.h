// Attention with a mask that is true everywhere is attention without one, and with a mask that lets each row
// see the columns up to its own it is causal attention: PyTorch has faster kernels for both, and nothing of
// the mask is made. Programs make such masks where they do not look at data, as Hugging Face's encoders do
// when they are compiled. What a mask holds is told by the operators that make it (index_values.h), for the
// sizes of the graph at hand; a mask that depends on data, one that a gradient is asked of, and attention
// that drops out on a GPU, whose draws are each kernel's own, stay. Examples:
// tests/golden/passes/known_mask.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"
#include "core/passes/decompose/index_values.h"

namespace vitrine::passes {

// Not negative where the column, the last dimension, is the row's own or an earlier one.
bool sees_up_to_itself(const Linear& test);

enum class KnownMask : uint8_t { unknown, nothing, causal };

// What the mask leaves out of attention between a query and a key of these types. Boolean masks and masks of
// the query's own type that are added; `unknown` also for what eager refuses.
KnownMask known_mask(IndexValues& values, ir::Ref mask, const ir::TensorType& query,
                     const ir::TensorType& key);

ir::GraphPtr known_masks(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
