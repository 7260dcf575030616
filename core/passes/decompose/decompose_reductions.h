// Reductions that are made of others: norms of vectors, logarithms of sums, sums and counts of some elements.
#pragma once

#include "core/passes/rewrite/writer.h"

namespace vitrine::passes {

Values vector_norm(Writer& w);
Values logsumexp(Writer& w);
Values nansum(Writer& w);
Values count_nonzero(Writer& w);
Values smallest_and_largest(Writer& w);

}  // namespace vitrine::passes
