// A program in the making: from the optimised graph by the rows of the pipeline that follow the last pass.
// Loops, fusion and kernels are made once, with every candidate for a product or a shape beside what it may
// replace; what was measured then decides which of them stay. Whatever is not generated becomes a library or
// an opaque step, so a program is always complete.
#pragma once

#include "core/base/result.h"
#include "core/codegen/record.h"
#include "core/ir/recorder.h"
#include "core/pipeline/pipeline.h"

namespace vitrine::pipeline {

class Draft {
 public:
  // Errors: none of the user's; InternalError for a broken invariant of ours.
  Draft(const ir::GraphPtr& optimised, const codegen::CodegenOptions& options, const Settings& settings);

  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // With all candidates, and no memory planned yet.
  codegen::Program& program() { return build_.builder->program(); }
  // Of each candidate only the chosen ones stay. Steps are laid out anew where a choice changes which there
  // are.
  void settle(const codegen::ProductChoices& choices);
  // Plans the memory. Records (if there is a recorder) the stages loops, fused, memory, kernels and launch:
  // snapshots, decisions, kernel and kernel_range rows, buffers, launches. A kernel's IR and assembly are
  // filled in by who compiles it, in the row Kernel::entity.
  codegen::Program finish(ir::Recorder* recorder);
  const codegen::BuildTimes& times() const { return times_; }

 private:
  void run(const Row& row);  // errors are named by the row
  void lay_out();

  codegen::CodegenOptions options_;
  Settings settings_;
  Build build_;
  fusion::FusedProgram apart_;  // as fusion left it, before products are joined with what follows
  codegen::BuildTimes times_;
  ir::SymbolTable* symbols_ = nullptr;  // of symbolic sizes
};

// All in one, with the candidates that the options offer.
Result<codegen::Program> build_program(const ir::GraphPtr& optimised, const codegen::CodegenOptions& options,
                                       ir::Recorder* recorder, const Settings& settings = {});

}  // namespace vitrine::pipeline
