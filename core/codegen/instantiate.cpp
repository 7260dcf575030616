#include "core/codegen/instantiate.h"

#include <unordered_map>

#include "core/base/result.h"

namespace vitrine::codegen {

namespace {

template <class F>
void each_of(ir::Dims& dims, F& f) {
  for (ir::Sym& number : dims) f(number);
}

template <class F>
void each_of(ir::TensorType& type, F& f) {
  each_of(type.sizes, f);
  each_of(type.strides, f);
  f(type.offset);
}

template <class F>
void each_of(ir::Arg& arg, F& f) {
  if (auto* number = std::get_if<ir::Sym>(&arg.v)) f(*number);
  if (auto* list = std::get_if<std::vector<ir::Arg>>(&arg.v))
    for (ir::Arg& a : *list) each_of(a, f);
}

template <class F>
void each_of(ir::Node& node, F& f) {
  for (ir::Arg& arg : node.args) each_of(arg, f);
  for (auto& [name, arg] : node.kwargs) each_of(arg, f);
  for (ir::TensorType& type : node.outputs) each_of(type, f);
}

template <class F>
void each_of(Kernel& kernel, F& f) {
  for (ir::Sym* number : {&kernel.grid.blocks, &kernel.grid.shared, &kernel.held, &kernel.scratch,
                          &kernel.work, &kernel.grain, &kernel.bytes, &kernel.flops})
    f(*number);
  each_of(kernel.numbers, f);
}

template <class F>
void each_of(Step& step, F& f) {
  each_of(step.numbers, f);
  each_of(step.node, f);
  for (std::vector<Alternative>* ways : {&step.instead, &step.shapes})
    for (Alternative& way : *ways) each_of(way.numbers, f);
}

template <class F>
void each_number(Program& program, F&& f) {
  for (Buffer& buffer : program.buffers) {
    each_of(buffer.type, f);
    f(buffer.arena_offset);
  }
  for (Kernel& kernel : program.kernels) each_of(kernel, f);
  for (Step& step : program.steps) each_of(step, f);
  for (ir::Arg& result : program.results) each_of(result, f);
  f(program.arena_bytes);
  f(program.host_bytes);
}

}  // namespace

Instances::Instances(Program program) : program_(std::move(program)) {
  std::unordered_map<const ir::SymExpr*, uint32_t> known;
  each_number(program_, [&](ir::Sym& number) {
    if (!number.symbolic()) return;
    const auto [at, fresh] = known.try_emplace(number.expr(), static_cast<uint32_t>(expressions_.size()));
    if (fresh) expressions_.push_back(number);
    places_.push_back({&number, at->second});
  });
  values_.resize(expressions_.size());
}

const Program& Instances::at(std::span<const int64_t> values) {
  for (size_t i = 0; i < expressions_.size(); ++i) {
    const auto value = expressions_[i].expr()->table->evaluate(expressions_[i], values);
    VITRINE_CHECK(value, "a size leaves 64 bits: " + ir::text(expressions_[i]));
    values_[i] = *value;
  }
  for (const Place& place : places_) *place.number = values_[place.expression];
  return program_;
}

Program instantiate(const Program& program, std::span<const int64_t> values) {
  return Instances(program).at(values);
}

}  // namespace vitrine::codegen
