#include "core/runtime/compile.h"

#include "core/runtime/opaque_program.h"
#include "core/runtime/plan.h"

namespace vitrine::runtime {

Result<std::shared_ptr<Plan>> compile(const ir::GraphPtr& aten, const CompileOptions& options,
                                      ir::Recorder* recorder, const std::function<bool()>& cancelled) {
  if (cancelled && cancelled()) return Error{"the compilation was cancelled"};
  return ProgramPlan::make(opaque_program(*aten), {});
}

void warm_up(const CompileOptions& options) {}

}  // namespace vitrine::runtime
