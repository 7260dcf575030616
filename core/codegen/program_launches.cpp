// Launches that several small kernels share: a GPU waits between two launches, and one of these fills a part
// of it.
#include <algorithm>
#include <set>

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/joined_text.h"
#include "core/codegen/program_builder.h"

namespace vitrine::codegen {

namespace {

constexpr size_t kAhead = 12;                       // steps among which others are looked for
constexpr int64_t kMostBytes = int64_t{16} << 20;   // that one of them moves
constexpr int64_t kMostHeld = int64_t{1} << 18;     // that it writes for later steps, if it runs earlier
constexpr int64_t kMostBlocks = int64_t{132} * 16;  // a kernel of more fills the GPU by itself

bool overlap(const std::set<int32_t>& a, const std::set<int32_t>& b) {
  return std::ranges::any_of(a, [&](int32_t x) { return b.contains(x); });
}

}  // namespace

// What a step reads and writes, by place in memory.
ProgramBuilder::Touched ProgramBuilder::touched(const Step& step) const {
  Touched out;
  out.uses.insert(step.buffers.begin(), step.buffers.end());
  // A view is there once it is made, an operator's own result once that has run.
  if (step.kind != Step::Kind::kernel) out.makes.insert(step.outs.begin(), step.outs.end());
  if (step.kind == Step::Kind::view) return out;
  for (int32_t b : step.buffers) {
    out.reads.insert(place(b));
    // What an operator of PyTorch's allocated may be a share of what it was given.
    out.unknown |= program_.buffers[static_cast<size_t>(storage(b))].kind == Buffer::Kind::foreign;
  }
  for (int32_t b : step.outs) {
    out.writes.insert(place(b));
    out.overwrites |= step.writes_input || place(b) != b;
  }
  return out;
}

bool ProgramBuilder::in_order(const Touched& first, const Touched& second) {
  return overlap(first.writes, second.reads) || overlap(first.writes, second.writes) ||
         overlap(first.reads, second.writes) || overlap(first.makes, second.uses) ||
         (first.unknown && second.overwrites) || (first.overwrites && second.unknown);
}

bool ProgramBuilder::may_share_launch(const Step& step) const {
  if (step.kind != Step::Kind::kernel || step.may_fail || step.random || !step.instead.empty() ||
      !step.shapes.empty())
    return false;
  const Kernel& k = program_.kernels[static_cast<size_t>(step.kernel)];
  return cuda::may_join(k) && k.bytes.hint() <= kMostBytes && k.grid.blocks.hint() <= kMostBlocks;
}

// Bytes of temporaries that the step writes: what runs earlier holds them for longer.
int64_t ProgramBuilder::held_bytes(const Step& step) const {
  int64_t bytes = 0;
  for (int32_t b : step.outs) {
    const Buffer& buffer = program_.buffers[static_cast<size_t>(b)];
    if (buffer.kind == Buffer::Kind::temporary) bytes += buffer.type.bytes().hint();
  }
  return bytes;
}

// How much of what a launch has is used by the kernels that share it.
struct ProgramBuilder::LaunchRoom {
  size_t arguments = 0;
  int64_t shared = 0;

  bool take(const Kernel& kernel, const Step& step) {
    const size_t more = arguments + step.buffers.size();
    const int64_t wide = shared + cuda::named_shared_memory(kernel);
    if (more > cuda::kMostLaunchArguments || wide > cuda::kMostNamedShared) return false;
    arguments = more, shared = wide;
    return true;
  }
};

// The steps that run with the one at `first`, which comes first.
std::vector<size_t> ProgramBuilder::sharers(size_t first, const std::vector<bool>& gone) const {
  std::vector<size_t> group = {first};
  const Grid& grid = kernel_of(program_.steps[first]).grid;
  LaunchRoom room;
  if (!room.take(kernel_of(program_.steps[first]), program_.steps[first])) return group;
  std::vector<Touched> before = {
      touched(program_.steps[first])};  // what a step would be moved across, or join
  bool may_fail = false;
  for (size_t s = first + 1; s < std::min(program_.steps.size(), first + kAhead); ++s) {
    if (gone[s]) continue;
    const Step& step = program_.steps[s];
    Touched own = touched(step);
    // Another that fails must find what is written to inputs as it was.
    const bool joins = may_share_launch(step) && !(may_fail && step.writes_input) &&
                       kernel_of(step).grid.threads == grid.threads &&
                       kernel_of(step).grid.device == grid.device && held_bytes(step) <= kMostHeld &&
                       std::ranges::none_of(before, [&](const Touched& t) { return in_order(t, own); }) &&
                       room.take(kernel_of(step), step);
    if (joins) group.push_back(s);
    may_fail = may_fail || (!joins && step.may_fail);
    before.push_back(std::move(own));
  }
  return group;
}

void ProgramBuilder::share_launches() {
  if (options_.products.offered && options_.products.on_gpu) return;  // each is measured by itself
  std::vector<bool> gone(program_.steps.size(), false);
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    if (gone[s] || !may_share_launch(program_.steps[s])) continue;
    const std::vector<size_t> group = sharers(s, gone);
    if (group.size() < 2) continue;
    join(group);
    for (size_t other : group) gone[other] = other != s;
  }
  if (std::ranges::find(gone, true) == gone.end()) return;
  size_t left = 0;
  for (size_t s = 0; s < gone.size(); ++s) {
    if (gone[s]) continue;
    if (left != s) {
      program_.steps[left] = std::move(program_.steps[s]);
      units_of_step_[left] = std::move(units_of_step_[s]);
    }
    ++left;
  }
  program_.steps.resize(left);
  units_of_step_.resize(left);
  drop_unused_kernels();
}

void ProgramBuilder::join(const std::vector<size_t>& group) {
  std::vector<const Kernel*> kernels;
  std::vector<size_t> arguments;
  for (size_t s : group) {
    kernels.push_back(&kernel_of(program_.steps[s]));
    arguments.push_back(program_.steps[s].buffers.size());
  }
  Kernel kernel = cuda::join_kernels(kernels, arguments);
  Step& step = program_.steps[group.front()];
  step.shaped = -1;
  for (size_t i = 1; i < group.size(); ++i) {
    const Step& other = program_.steps[group[i]];
    step.label += "+" + other.label;
    step.buffers.insert(step.buffers.end(), other.buffers.begin(), other.buffers.end());
    step.outs.insert(step.outs.end(), other.outs.begin(), other.outs.end());
    step.writes_input |= other.writes_input;
    std::vector<int>& units = units_of_step_[group.front()];
    const std::vector<int>& more = units_of_step_[group[i]];
    units.insert(units.end(), more.begin(), more.end());
  }
  kernel.label = step.label;
  step.kernel = static_cast<int32_t>(program_.kernels.size());
  program_.kernels.push_back(std::move(kernel));
}

}  // namespace vitrine::codegen
