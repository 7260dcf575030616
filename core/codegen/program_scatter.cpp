// Steps of what has kernels of its own kind. What writes where an index says: one that fills the result, one
// that goes through the indices; of ordered sums several. Running sums: one.
#include <algorithm>

#include "core/codegen/cpp/emit.h"
#include "core/codegen/cpp/words.h"
#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/emit_ordered.h"
#include "core/codegen/cuda/emit_scan.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/shape.h"
#include "core/codegen/program_builder.h"
#include "core/fusion/scatters.h"

namespace vitrine::codegen {

void ProgramBuilder::add_scattering(int u) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const std::vector<ir::Ref> stored = this->stored(unit.group);
  if (stored.empty()) return;  // nobody wants what it computes
  const fusion::LoopProgram fill = fusion::filling_loop(loops_, loops_.loops[unit.loops.front()]);
  std::string why;
  fusion::Unit first;
  first.kind = fusion::Loop::Kind::pointwise;
  first.label = unit.label;
  first.loops = {0};
  auto group = fusion::make_group(fill, first.loops, why);
  VITRINE_CHECK(group, "what fills a result is no group: " + why);
  first.group = std::move(*group);
  const fusion::Loop& loop = loops_.loops[unit.loops.front()];
  const ir::Ref copied = loop.filled->copied ? loop.filled->copied->value : ir::Ref{};
  const bool read_besides =
      std::any_of(loop.operands.begin(), loop.operands.end(), [&](const fusion::Operand& o) {
        return copied.node >= 0 && o.at.root == loops_.placement(copied).root;
      });
  const int32_t input = copied.node < 0 || read_besides ? -1 : changed_input(u, copied, stored.front());
  const int32_t result = input >= 0 ? input : new_buffer(stored.front());
  if (loop.ordered) return add_ordered(u, result, input >= 0, fill, first);
  if (input < 0) add_part(fill, first, u, stored.front(), result, unit.label);
  add_part(loops_, unit, u, stored.front(), result, unit.label + (input < 0 ? "b" : ""), input >= 0);
}

// Tables of sums come to all of a result that was 0; otherwise it is filled before.
void ProgramBuilder::add_ordered(int u, int32_t result, bool filled, const fusion::LoopProgram& fill,
                                 const fusion::Unit& first) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const Schedule schedule =
      make_schedule(loops_, unit.group, stored(unit.group), {0, false, cuda::reserved_words()});
  const cuda::OrderedSums sums = cuda::ordered_sums(schedule, loops_.loops[unit.loops.front()]);
  const std::optional<fusion::Operand>& copied = loops_.loops[unit.loops.front()].filled->copied;
  char letter = 'a';
  const bool changes_input = filled;
  filled = filled || (sums.zero && sums.has_tables()) || (copied && take_over(u, copied->value, result));
  if (!filled) {
    add_part(fill, first, u, stored(unit.group).front(), result, unit.label);
    ++letter;
  }
  std::vector<int32_t> memory;
  for (ir::TensorType& type : cuda::ordered_memory(schedule, sums))
    memory.push_back(temporary(std::move(type), program_.buffers[static_cast<size_t>(result)].value));
  for (size_t launch = 0; launch < sums.stages.size(); ++launch, ++letter) {
    Step step;
    step.kind = Step::Kind::kernel;
    step.may_fail = false;
    const cuda::OrderedArguments given = cuda::ordered_arguments(schedule, sums, launch);
    for (int i : given.own) {
      const Argument& a = schedule.arguments[static_cast<size_t>(i)];
      step.buffers.push_back(a.written ? result : buffer_for(a.root));
      if (!a.written) continue;
      step.outs = {result};
      step.writes_input = changes_input;
    }
    for (size_t i : given.memory) step.buffers.push_back(memory[i]);
    for (size_t i : given.written) step.outs.push_back(memory[i]);
    step.label = unit.label + (letter == 'a' ? "" : std::string(1, letter));
    Kernel kernel = cuda::emit_ordered(loops_, unit, schedule, sums, launch, options_.sizes.get());
    kernel.label = step.label;
    step.kernel = static_cast<int32_t>(program_.kernels.size());
    step.numbers = kernel.numbers;
    program_.kernels.push_back(std::move(kernel));
    add_step(std::move(step), u);
  }
}

void ProgramBuilder::add_scan(int u) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const std::vector<ir::Ref> stored = this->stored(unit.group);
  if (stored.empty()) return;  // nobody wants what it computes
  add_part(loops_, unit, u, stored.front(), new_buffer(stored.front()), unit.label);
}

// One kernel that writes `value` to `result`.
void ProgramBuilder::add_part(const fusion::LoopProgram& program, const fusion::Unit& unit, int u,
                              ir::Ref value, int32_t result, std::string label, bool writes_input) {
  const bool gpu = type(value).device.is_cuda();
  Schedule schedule = make_schedule(program, unit.group, {value},
                                    {0, false, gpu ? cuda::reserved_words() : cpp::reserved_words()});
  Step step;
  step.kind = Step::Kind::kernel;
  step.may_fail = !gpu && schedule.gathers();
  step.writes_input = writes_input;
  step.label = std::move(label);
  for (const Argument& a : schedule.arguments)
    step.buffers.push_back(a.written ? result : buffer_for(a.root));
  step.outs = {result};
  const fusion::Statement::Reduce scan = program.loops[unit.loops.front()].scans;
  Kernel kernel;
  if (!gpu) {
    schedule.turns = false;  // a row is run through from its begin to its end
    kernel = cpp::emit_kernel(program, unit, schedule,
                              {options_.lanes, options_.stream_bytes, options_.sizes.get(), true});
  } else if (scan != fusion::Statement::Reduce::none) {
    kernel = cuda::emit_scan(program, unit, schedule, scan, options_.sizes.get());
  } else {
    kernel =
        cuda::emit_kernel(program, unit, schedule, cuda::choose_shape(schedule), 0, options_.sizes.get());
  }
  kernel.label = step.label;
  step.kernel = static_cast<int32_t>(program_.kernels.size());
  step.numbers = kernel.numbers;
  program_.kernels.push_back(std::move(kernel));
  add_step(std::move(step), u);
}

}  // namespace vitrine::codegen
