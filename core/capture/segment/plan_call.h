// One run of a segment's plan: outside autograd where the graph has its own backward pass.
#pragma once

#include <span>
#include <vector>

#include "core/capture/trace/trace.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

// results: new references, as the ATen graph's. false: a Python error is set, and nothing was written.
bool run_plan(runtime::Plan& plan, const Trace& trace, std::span<_object* const> inputs,
              std::vector<_object*>& results, std::vector<runtime::LaunchTime>* times);

// What a plan gave as the program's own tensors: views of what they view (views: of the graph, may be null),
// distinct objects where the program made them distinct. inputs: those of the plan. false: a Python error is
// set.
bool tell_apart(const Trace& trace, const torch_api::ViewProgram* views, std::span<_object* const> inputs,
                std::vector<_object*>& results);
// And with a graph that is used up where a backward pass has been there.
bool finish_results(const Trace& trace, const torch_api::ViewProgram* views, std::span<_object* const> inputs,
                    std::vector<_object*>& results);
// The latter only: what a replay gave is distinct already.
bool use_up(const Trace& trace, std::span<_object* const> inputs, std::vector<_object*>& results);

}  // namespace vitrine::capture
