// Iteration spaces: dims that can be split so that two loop nests run over the same indices, in the same
// order. [8,128,768] and [1024,768] have the common refinement [8,128,768].
#pragma once

#include <optional>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

// The coarsest dims of which both are made by joining neighbours; nullopt: there are none (6 = [2,3] and
// [3,2]).
std::optional<ir::Dims> refine(const ir::Dims& a, const ir::Dims& b);

// `strides` over `from`, rewritten for `to`, a refinement of `from`.
ir::Dims split_strides(const ir::Dims& strides, const ir::Dims& from, const ir::Dims& to);

// The same the other way: strides over `from`, a refinement of `to`, as strides over `to`; nullopt: a dim of
// `to` is no run of equal steps.
std::optional<ir::Dims> join_strides(const ir::Dims& strides, const ir::Dims& from, const ir::Dims& to);

// Dims joined wherever every list of strides allows it (stride of the outer = stride * size of the inner);
// never across a boundary at position `boundary` (0 or dims.size(): none). Rewrites all of them.
void collapse(ir::Dims& dims, size_t& boundary, const std::vector<ir::Dims*>& strides);

// A range of dim k alone, low <= i < high, as one of all dims from k on, so that they may be joined:
// low * n <= i * n + (the place in the n elements after it) < high * n. shrink() takes back what is still so.
// Afterwards no range falls along the last dim, and a bound that always holds is none.
void stretch(Range& range, const ir::Dims& dims);
void shrink(Range& range, const ir::Dims& dims);

}  // namespace vitrine::fusion
