#include "core/pipeline/draft.h"

#include <algorithm>
#include <utility>

#include "core/base/clock.h"
#include "core/codegen/schedule/shared_offsets.h"

namespace vitrine::pipeline {

namespace {

// The rows that follow fusion depend on what was chosen.
bool follows_choices(const Row& row) {
  return row.stage == "kernels" || (row.stage == "fused" && row.name != "fuse");
}

}  // namespace

Draft::Draft(const ir::GraphPtr& optimised, const codegen::CodegenOptions& options, const Settings& settings)
    : options_(options), settings_(settings), build_{optimised, options_, {}, {}, {}, nullptr} {
  settings_.spares_memory = options.gives_back;
  symbols_ = ir::symbols_of(*optimised);
  // A text has symbolic numbers as arguments.
  if (symbols_ && !options_.sizes) options_.sizes = std::make_shared<codegen::SizeMemory>();
  times_.start = monotonic_ns();
  for (const Row& row : rows()) {
    if (!row.build || follows_choices(row)) continue;
    run(row);
    if (row.stage == "loops") times_.loops = monotonic_ns();
  }
  apart_ = std::move(build_.fused);
  lay_out();
}

void Draft::run(const Row& row) {
  if (!runs(row, settings_)) return;
  if (options_.bisect && row.required.empty() &&
      !options_.bisect->allows(OptBisect::Of::rewrite, "pass " + std::string(row.name)))
    return;
  std::optional<ir::SymPlace> place;
  if (symbols_) place.emplace(*symbols_, "pass " + std::string(row.name));
  try {
    row.build(build_);
  } catch (const std::exception& e) {
    throw InternalError("pass " + std::string(row.name) + ": " + e.what());
  }
}

// What a stage took is what it took the first time: between that and the second lie the kernel compiler and
// what is measured.
void Draft::lay_out() {
  const bool first = !times_.program;
  build_.fused = apart_;
  for (const Row& row : rows()) {
    if (!row.build || !follows_choices(row)) continue;
    if (row.stage == "kernels" && first) times_.fused = monotonic_ns();
    run(row);
  }
  codegen::share_offsets(program());
  if (options_.edited)
    for (codegen::Kernel& kernel : program().kernels) use_edited_text(kernel, *options_.edited);
  if (options_.faults)
    for (codegen::Kernel& kernel : program().kernels) make_wrong(kernel, *build_.graph, *options_.faults);
  if (first) times_.program = monotonic_ns();
}

void Draft::settle(const codegen::ProductChoices& choices) {
  options_.products.choices = choices;
  const bool apart = std::exchange(options_.products.offered, false) && options_.products.on_gpu;
  if (!build_.builder->settle() || apart) lay_out();
}

codegen::Program Draft::finish(ir::Recorder* recorder) {
  std::optional<ir::SymPlace> place;
  if (symbols_) place.emplace(*symbols_, "memory plan");
  times_.planning = monotonic_ns();
  codegen::Program program = build_.builder->finish();
  times_.planned = monotonic_ns();
  if (recorder)
    record_program(build_.loops, build_.fused, build_.builder->units_of_step(), times_, options_, program,
                   *recorder);
  return program;
}

Result<codegen::Program> build_program(const ir::GraphPtr& optimised, const codegen::CodegenOptions& options,
                                       ir::Recorder* recorder, const Settings& settings) {
  return Draft(optimised, options, settings).finish(recorder);
}

}  // namespace vitrine::pipeline
