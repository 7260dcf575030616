// Attention of one query a head, as a token generated with a cache asks for, reads keys and values once. It
// stays one operator where a kernel of ours computes it (core/ops/attention/one_query.h), which reads them
// where they lie: heads that share them need no copies. Otherwise it is written out as sums, which fuse. On a
// GPU, where nothing is dropped. Examples: tests/golden/passes/one_row_attention.txt.
#pragma once

#include <memory>

#include "core/ir/graph.h"

namespace vitrine::passes {

ir::GraphPtr one_row_attention(const ir::GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::passes
