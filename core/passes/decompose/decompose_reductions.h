// Reductions that are made of others: norms of vectors, logarithms of sums, sums and counts of some elements.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

OutputValues vector_norm(NodeWriter& w);
OutputValues logsumexp(NodeWriter& w);
OutputValues nansum(NodeWriter& w);
OutputValues count_nonzero(NodeWriter& w);
OutputValues smallest_and_largest(NodeWriter& w);

}  // namespace vitrine::passes
