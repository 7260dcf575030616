#include "core/codegen/instantiate.h"

#include <unordered_map>

#include "core/base/result.h"
#include "core/ir/each_integer.h"

namespace vitrine::codegen {

namespace {

template <class F>
void each_of(Kernel& kernel, F& f) {
  for (ir::Sym* number : {&kernel.grid.blocks, &kernel.grid.shared, &kernel.held, &kernel.scratch,
                          &kernel.work, &kernel.grain, &kernel.bytes, &kernel.flops})
    f(*number);
  for (ir::Sym& number : kernel.numbers) f(number);
}

template <class F>
void each_of(Step& step, F& f) {
  for (ir::Sym& number : step.numbers) f(number);
  ir::each_integer(step.node, f);
  for (std::vector<Alternative>* ways : {&step.instead, &step.shapes})
    for (Alternative& way : *ways)
      for (ir::Sym& number : way.numbers) f(number);
}

template <class F>
void each_number(Program& program, F&& f) {
  for (Buffer& buffer : program.buffers) {
    ir::each_integer(buffer.type, f);
    f(buffer.arena_offset);
  }
  for (Kernel& kernel : program.kernels) each_of(kernel, f);
  for (Step& step : program.steps) each_of(step, f);
  for (ir::Arg& result : program.results) ir::each_integer(result, f);
  f(program.arena_bytes);
  f(program.host_bytes);
}

}  // namespace

Instances::Instances(Program program) : program_(std::move(program)) {
  std::unordered_map<const ir::SymExpr*, uint32_t> known;
  each_number(program_, [&](ir::Sym& number) {
    if (!number.symbolic()) return;
    const auto [at, fresh] = known.try_emplace(number.expr(), 0);
    if (fresh) {
      expressions_.push_back(number);
      at->second = tape_.add(number);
    }
    places_.push_back({&number, at->second});
  });
}

const Program& Instances::at(std::span<const int64_t> values) {
  if (!tape_.run(values))
    for (const ir::Sym& expression : expressions_)
      VITRINE_CHECK(expression.expr()->table->evaluate(expression, values),
                    "a size leaves 64 bits: " + ir::text(expression));
  for (const Place& place : places_) *place.number = tape_.at(place.on_tape);
  return program_;
}

Program instantiate(const Program& program, std::span<const int64_t> values) {
  return Instances(program).at(values);
}

}  // namespace vitrine::codegen
