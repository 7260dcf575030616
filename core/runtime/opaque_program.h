// The program that any graph has: every node through PyTorch's own operator, in order, on real storages. The
// way back when a kernel or a pass fails, and the reference when a compiler bug is bisected.
#pragma once

#include "core/codegen/schedule/program.h"
#include "core/ir/graph.h"
#include "core/ir/recorder.h"

namespace vitrine::runtime {

codegen::Program opaque_program(const ir::Graph& aten);

// Its operators and launches, and the stages that it does without.
void record_opaque(const codegen::Program& program, ir::Recorder& recorder);

}  // namespace vitrine::runtime
