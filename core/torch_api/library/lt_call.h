// Library calls that cuBLASLt computes: matrix products, plain, with something added, or with a bias and an
// activation in one kernel.
#pragma once

#include <memory>

#include "core/torch_api/library/library.h"

namespace vitrine::torch_api {

// mm, bmm, addmm, baddbmm or _addmm_activation on a GPU by cuBLASLt's algorithm of that number (from 0, the
// last one where there are fewer); kAnyProblem: by one that serves about these sizes. otherwise: PyTorch's
// call of the same, for what has no such form at run time; may be null. nullptr: no cuBLASLt, another
// operator, or eager would look at determinism first.
constexpr size_t kAnyProblem = static_cast<size_t>(-1);
std::unique_ptr<LibraryCall> make_lt_call(const ir::Node& node, const LibraryCall::SlotOf& slot_of,
                                          size_t algorithm, std::unique_ptr<LibraryCall> otherwise);

}  // namespace vitrine::torch_api
