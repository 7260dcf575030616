#include "core/codegen/build_program.h"

#include <chrono>

#include "core/codegen/epilogue_fusion.h"
#include "core/codegen/program_builder.h"
#include "core/codegen/record.h"
#include "core/fusion/add_in_place.h"
#include "core/fusion/horizontal.h"
#include "core/fusion/order.h"
#include "core/fusion/recompute.h"

namespace vitrine::codegen {

namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<Program> build_program(const ir::GraphPtr& optimised, const CodegenOptions& options,
                              ir::Recorder* recorder) {
  BuildTimes times;
  times.start = now_ns();
  fusion::LoopProgram loops = fusion::recompute_small(fusion::add_in_place(
      fusion::build_loops(optimised, options.fuse, options.by_pytorch, options.draws, options.ordered)));
  times.loops = now_ns();
  fusion::FusedProgram fused = fusion::fuse(loops, options.gives_back);
  join_products(loops, fused, options.products.choices);
  fusion::fuse_horizontally(loops, fused);
  if (options.gives_back) fusion::run_early(loops, fused);
  fusion::run_late(loops, fused);
  times.fused = now_ns();
  ProgramBuilder builder(loops, fused, options);
  Program program = builder.build();
  if (options.edited)
    for (Kernel& kernel : program.kernels) use_edited_text(kernel, *options.edited);
  times.program = now_ns();
  if (recorder) record_program(loops, fused, builder.unit_of_step(), times, options, program, *recorder);
  return program;
}

}  // namespace vitrine::codegen
