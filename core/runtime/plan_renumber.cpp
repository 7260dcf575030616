// Other numbers for a plan that is built: what its shape decides stays.

#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/runtime/plan.h"

namespace vitrine::runtime {

namespace bridge = torch_api;
using StepKind = codegen::Step::Kind;

namespace {

bool changes(const codegen::Kernel& kernel) {
  const auto is = [](const ir::Sym& number) { return number.symbolic(); };
  return is(kernel.grid.blocks) || is(kernel.grid.shared) || is(kernel.work) || is(kernel.grain) ||
         is(kernel.scratch);
}

// What a call is made of, whose results tell their sizes themselves.
bool changes(const codegen::Step& call) {
  const auto is = [](const ir::Arg& arg) { return ir::has_expression(arg); };
  return std::ranges::any_of(call.node.args, is) ||
         std::ranges::any_of(call.node.kwargs, [&](const auto& each) { return is(each.second); }) ||
         (call.algorithm != 0 && ir::has_expression(call.node));
}

}  // namespace

ChangingParts::ChangingParts(const codegen::Program& program) {
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (ir::has_expression(program.buffers[b].type) || program.buffers[b].arena_offset.symbolic())
      buffers.push_back(static_cast<int32_t>(b));
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const codegen::Step& step = program.steps[s];
    const codegen::Kernel* kernel =
        step.kind == StepKind::kernel ? &program.kernels.at(static_cast<size_t>(step.kernel)) : nullptr;
    if (kernel && kernel->held.symbolic()) in_place = false;
    const bool own = std::ranges::any_of(step.numbers, [](const ir::Sym& n) { return n.symbolic(); });
    if (kernel ? own || changes(*kernel) : changes(step)) steps.push_back(static_cast<int32_t>(s));
  }
  for (const ir::Arg& result : program.results)
    if (ir::has_expression(result)) in_place = false;
  if (program.draws_on >= 0 || program.host_bytes.symbolic()) in_place = false;
  for (const auto& [value, buffer] : program.value_buffer) slots.try_emplace(value, buffer);
}

size_t ProgramPlan::arena_on_host() const {
  return table_.arena_bytes > 0 && table_.arena_device.is_cpu() ? static_cast<size_t>(table_.arena_bytes) : 0;
}

void ProgramPlan::renumber_buffers(const codegen::Program& program, const std::vector<int32_t>& changing) {
  const auto at = [](int32_t b) { return static_cast<size_t>(b); };
  for (int32_t b : changing) {
    table_.rows[at(b)].type = program.buffers[at(b)].type;
    table_.rows[at(b)].arena_offset = program.buffers[at(b)].arena_offset;
  }
  for (BufferTable::Row& row : table_.rows)
    if (row.view_of >= 0) row.shift = row.type.offset - table_.rows[at(row.view_of)].type.offset;
  table_.arena_bytes = program.arena_bytes;
}

// Whether it is called as it was.
bool ProgramPlan::renumber_call(const codegen::Step& from, Step& step, const ChangingParts& changing) {
  const auto slot = [&](ir::Ref ref) { return changing.slots.at(ref); };
  if (step.kind == StepKind::view || (step.library && step.library->for_any_size())) return true;
  auto library = bridge::LibraryCall::make(from.node, slot, from.algorithm);
  if (!library != !step.library) return false;
  if (library) {
    step.library = std::move(library);
    return true;
  }
  return step.op && !step.op->renumber(from.node);
}

bool ProgramPlan::renumber(const codegen::Program& program, const ChangingParts& changing) {
  renumber_buffers(program, changing.buffers);
  std::erase_if(free_, [&](const auto& state) { return !state->resize(changing.buffers); });
  for (int32_t s : changing.steps) {
    const codegen::Step& from = program.steps[static_cast<size_t>(s)];
    Step& step = steps_[static_cast<size_t>(s)];
    if (from.kind != StepKind::kernel) {
      if (!renumber_call(from, step, changing)) return false;
      continue;
    }
    const codegen::Kernel& kernel = program.kernels[static_cast<size_t>(from.kernel)];
    step.grid = kernel.grid;
    step.work = kernel.work;
    step.grain = std::max<int64_t>(1, kernel.grain);
    step.numbers.assign(from.numbers.begin(), from.numbers.end());
    scratch_.reserve(kernel.scratch);
  }
  for (ResultItem& item : results_) {
    if (!item.view) continue;
    if (item.view->renumber(view_node(item.buffer))) return false;
  }
  return true;
}

}  // namespace vitrine::runtime
