// Plans of one program whose numbers are symbolic, for the sizes of each call. A few plans are kept, and the
// numbers of another size are put into the one that was used longest ago: a size costs its numbers, and not a
// plan.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/codegen/instantiate.h"
#include "core/runtime/kernels/object_cache.h"
#include "core/runtime/plan.h"

namespace vitrine::runtime {

class ProgramPlans : public SizedPlans, public std::enable_shared_from_this<ProgramPlans> {
 public:
  // graph: the program's. table: of its symbols, which must outlive this. kernels: by position of
  // program.kernels.
  ProgramPlans(const ir::Graph& graph, codegen::Program program, std::vector<LoadedKernel> kernels,
               std::vector<Problem> problems, const ir::SymbolTable& table, CompileOptions options);
  ~ProgramPlans() override;
  ProgramPlans(const ProgramPlans&) = delete;

  const SizedMemory& memory() const override { return memory_; }
  std::shared_ptr<Plan> at(std::span<const int64_t> values) override;

  struct Kept {
    std::shared_ptr<ProgramPlan> plan;
    std::vector<int64_t> values;
    int running = 0;
  };
  // One with the numbers of these sizes. Errors: an operator that PyTorch does not have. Throws InternalError
  // where a number leaves 64 bits.
  Result<std::shared_ptr<Kept>> take(std::span<const int64_t> values);

 private:
  static constexpr size_t kKept = 4;
  Result<std::shared_ptr<ProgramPlan>> make(std::span<const int64_t> values);
  const codegen::Program& numbered(std::span<const int64_t> values);
  void keep_arena(size_t bytes);

  const SizedMemory memory_;
  codegen::Instances programs_;
  const ChangingParts changing_;
  const std::vector<LoadedKernel> kernels_;
  const std::vector<Problem> problems_;
  const ir::SymbolTable& table_;
  ir::SymTape required_;  // by the table
  CompileOptions options_;
  std::vector<std::shared_ptr<Kept>> kept_;  // most recently used first
  size_t arena_ = 0;                         // bytes that stay with the pool from call to call
};

}  // namespace vitrine::runtime
