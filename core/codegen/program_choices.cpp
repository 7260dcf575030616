// What was offered to be measured, once it is chosen.
#include <algorithm>
#include <utility>

#include "core/codegen/program_builder.h"

namespace vitrine::codegen {

namespace {

const Alternative* alternative(const std::vector<Alternative>& ways, int32_t candidate) {
  const auto found = std::find_if(ways.begin(), ways.end(),
                                  [&](const Alternative& way) { return way.candidate == candidate; });
  return found == ways.end() ? nullptr : &*found;
}

}  // namespace

bool ProgramBuilder::settle() {
  const ProductChoices& choices = options_.products.choices;
  const auto choice_of = [&](ir::NodeId node) {
    const auto found = choices.find(node);
    return found == choices.end() ? ProductChoice{} : found->second;
  };
  for (const Step& step : program_.steps) {
    if (step.instead.empty()) continue;
    const ProductChoice choice = choice_of(step.node.id);
    if (choice.fused) return false;
    // PyTorch allocates what its convolutions give, a kernel writes where the program says.
    if (choice.candidate && is_foreign(step)) return false;
  }
  for (Step& step : program_.steps) settle(step, choice_of(step.shaped >= 0 ? step.shaped : step.node.id));
  drop_unused_kernels();
  return true;
}

bool ProgramBuilder::is_foreign(const Step& step) const {
  return std::any_of(step.outs.begin(), step.outs.end(), [&](int32_t b) {
    return program_.buffers[static_cast<size_t>(b)].kind == Buffer::Kind::foreign;
  });
}

void ProgramBuilder::settle(Step& step, const ProductChoice& choice) const {
  const auto instead = std::exchange(step.instead, {}), shapes = std::exchange(step.shapes, {});
  if (step.kind == Step::Kind::kernel) {
    step.node = {};  // the product that it follows, which stays apart
    if (const Alternative* way = alternative(shapes, choice.candidate)) {
      step.kernel = way->kernel;
      step.numbers = way->numbers;
    }
    return;
  }
  const Alternative* way = choice.candidate ? alternative(instead, choice.candidate) : nullptr;
  if (!way) return;
  if (way->kernel < 0) {  // a GPU's: a library's call by another of its algorithms
    step.algorithm = product_candidates()[static_cast<size_t>(choice.candidate)].algorithm;
    return;
  }
  step.kind = Step::Kind::kernel;
  step.kernel = way->kernel;
  step.buffers = way->buffers;
  step.numbers = way->numbers;
  step.may_fail = false;
}

void ProgramBuilder::drop_unused_kernels() {
  std::vector<int32_t> place(program_.kernels.size(), -1);
  for (const Step& step : program_.steps)
    if (step.kind == Step::Kind::kernel) place[static_cast<size_t>(step.kernel)] = 0;
  std::vector<Kernel> left;
  for (size_t k = 0; k < place.size(); ++k) {
    if (place[k] < 0) continue;
    place[k] = static_cast<int32_t>(left.size());
    left.push_back(std::move(program_.kernels[k]));
  }
  program_.kernels = std::move(left);
  for (Step& step : program_.steps)
    if (step.kind == Step::Kind::kernel) step.kernel = place[static_cast<size_t>(step.kernel)];
}

}  // namespace vitrine::codegen
