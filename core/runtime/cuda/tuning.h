// Ways to compute a step on a GPU, tried on memory of its own: a library's algorithms for a product, shapes
// of a kernel.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/products.h"
#include "core/codegen/schedule/program.h"
#include "core/runtime/kernel_stage.h"

namespace vitrine::runtime::cuda {

// Of a step: Step::instead, or Step::shapes.
enum class Ways : uint8_t { instead, shapes };

// step: of the program. Each way is called several times on ordinary numbers that lie in no cache; its time
// is the median. A kernel that follows a product comes first, then both in one. What fails, for want of
// memory or otherwise, is left out, and `dropped` gets a sentence. No times: there is nothing to choose
// between, or nothing may be measured now. Waits for the GPU. The GIL must be held.
codegen::ProductChoice tune(const codegen::Program& program, const codegen::Step& step, Ways ways,
                            const std::vector<CompiledKernel>& kernels, std::vector<std::string>& dropped);
// The choice among a product's ways once those are known that compute what follows it, too: the times of the
// others become those of both.
void join_fused(codegen::ProductChoice& product, const codegen::ProductChoice& following);

// What tune()'s times depend on besides the step: the GPU, its driver, cuBLASLt. Errors: no GPU.
Result<std::string> tuning_machine(int device);
// Everything about the step itself that its times depend on.
std::string tuning_work(const codegen::Program& program, const codegen::Step& step, Ways ways);

}  // namespace vitrine::runtime::cuda
