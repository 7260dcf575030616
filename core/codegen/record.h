// What code generation tells a session: snapshots of the loops and fused stages, decisions, kernels with
// their text and line origins, buffers and the launch plan, with links from node to kernel to launch.
#pragma once

#include "core/codegen/codegen_options.h"
#include "core/fusion/fuse.h"
#include "core/ir/recorder.h"

namespace vitrine::codegen {

struct BuildTimes {
  int64_t start = 0, loops = 0, fused = 0, program = 0;  // CLOCK_MONOTONIC, ns: when each part ended
  int64_t planning = 0, planned = 0;                     // of the memory, once every choice is made
};

// Fills Kernel::entity.
void record_program(const fusion::LoopProgram& loops, const fusion::FusedProgram& fused,
                    const std::vector<std::vector<int>>& units_of_step, const BuildTimes& times,
                    const CodegenOptions& options, Program& program, ir::Recorder& recorder);

}  // namespace vitrine::codegen
