// Launches that several small kernels share: a GPU waits between two launches, and one of these fills a part
// of it.
#include <algorithm>
#include <map>
#include <set>

#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/joined_text.h"
#include "core/codegen/program_builder.h"
#include "core/ops/node.h"

namespace vitrine::codegen {

namespace {

constexpr size_t kAhead = 12;                      // steps among which others are looked for
constexpr size_t kFarAhead = 256;                  // among which those of the same shape are
constexpr int64_t kMostBytes = int64_t{16} << 20;  // that one of them moves
constexpr int64_t kMostHeld = int64_t{1} << 20;    // that it writes for later steps, if it runs earlier
constexpr int64_t kMostHeldTogether = int64_t{4} << 20;
constexpr int64_t kMostBlocks = int64_t{132} * 16;  // a kernel of more fills the GPU by itself

// Whether two kernels are the same but for names. Numbers tell most apart.
bool are_alike(const Kernel& a, const Kernel& b) {
  return a.grid.blocks.same(b.grid.blocks) && a.bytes.same(b.bytes) && a.flops.same(b.flops) &&
         cuda::text_without_names(a) == cuda::text_without_names(b);
}

// Whether it is better off with company of any kind. One that fills the GPU gains nothing but a launch.
bool is_small(const Kernel& k) {
  return k.bytes.hint() <= kMostBytes && k.grid.blocks.hint() <= kMostBlocks;
}

}  // namespace

// What a step reads and writes, by place in memory.
ProgramBuilder::Touched ProgramBuilder::touched(const Step& step) const {
  Touched out;
  out.uses = step.buffers;
  // A view is there once it is made, an operator's own result once that has run.
  if (step.kind != Step::Kind::kernel) out.makes = step.outs;
  if (step.kind == Step::Kind::view) return out;
  // An operator that writes to something it is given may write to any of it.
  const bool writes = step.kind != Step::Kind::kernel && ops::writes(step.node);
  out.overwrites = writes;
  for (int32_t b : step.buffers) {
    out.reads.push_back(place(b));
    if (writes) out.writes.push_back(place(b));
    // What an operator of PyTorch's allocated may be a share of what it was given.
    out.unknown |= program_.buffers[static_cast<size_t>(storage(b))].kind == Buffer::Kind::foreign;
  }
  for (int32_t b : step.outs) {
    out.writes.push_back(place(b));
    out.overwrites |= step.writes_input || place(b) != b;
  }
  return out;
}

// What some steps read and write together: what a step would be moved across, or join.
class ProgramBuilder::Crossed {
 public:
  explicit Crossed(size_t buffers) : marks_(buffers) {}

  void clear() {
    ++now_;
    unknown_ = overwrites_ = false;
  }
  void add(const Touched& step) {
    for (int32_t b : step.reads) mark(b).read = now_;
    for (int32_t b : step.writes) mark(b).written = now_;
    for (int32_t b : step.makes) mark(b).made = now_;
    unknown_ |= step.unknown, overwrites_ |= step.overwrites;
  }
  // Whether one of them comes before the step in any order.
  bool precedes(const Touched& step) const {
    const auto any = [&](const std::vector<int32_t>& of, uint32_t Mark::* kind) {
      return std::ranges::any_of(of, [&](int32_t b) { return marks_[static_cast<size_t>(b)].*kind == now_; });
    };
    return any(step.reads, &Mark::written) || any(step.writes, &Mark::written) ||
           any(step.writes, &Mark::read) || any(step.uses, &Mark::made) || (unknown_ && step.overwrites) ||
           (overwrites_ && step.unknown);
  }

 private:
  struct Mark {
    uint32_t read = 0, written = 0, made = 0;  // the round in which it was
  };
  Mark& mark(int32_t buffer) { return marks_[static_cast<size_t>(buffer)]; }

  std::vector<Mark> marks_;
  uint32_t now_ = 1;
  bool unknown_ = false, overwrites_ = false;
};

bool ProgramBuilder::may_share_launch(const Step& step) const {
  if (step.kind != Step::Kind::kernel || step.may_fail || step.random || !step.instead.empty() ||
      !step.shapes.empty())
    return false;
  return cuda::may_join(kernel_of(step));
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
class ProgramBuilder::LaunchRoom {
 public:
  bool take(const Kernel& kernel, const Step& step, int64_t held) {
    std::string text = cuda::text_without_names(kernel);
    const size_t arguments = arguments_ + step.buffers.size();
    const int64_t shared = shared_ + (texts_.contains(text) ? 0 : cuda::named_shared_memory(kernel));
    held += held_;
    if (arguments > cuda::kMostJoinedArguments || shared > cuda::kMostNamedShared || held > kMostHeldTogether)
      return false;
    arguments_ = arguments, shared_ = shared, held_ = held;
    texts_.insert(std::move(text));
    return true;
  }

 private:
  size_t arguments_ = 0;
  int64_t shared_ = 0, held_ = 0;
  std::set<std::string> texts_;
};

// Close to the first of the group any small kernel may join. Far from it, or of large ones, those that are
// the same as one of these but for names.
bool ProgramBuilder::fits(const Kernel& kernel, const std::vector<size_t>& group, bool close) const {
  const Kernel& first = kernel_of(program_.steps[group.front()]);
  if (close && is_small(kernel) && is_small(first)) return true;
  return std::ranges::any_of(group,
                             [&](size_t s) { return are_alike(kernel, kernel_of(program_.steps[s])); });
}

// The steps that run with the one at `first`, which comes first; those far from it until they are
// the next layer's.
std::vector<size_t> ProgramBuilder::sharers(size_t first, const std::vector<Touched>& touches,
                                            const std::vector<bool>& gone, Crossed& crossed) const {
  std::vector<size_t> group = {first};
  const Kernel& kernel = kernel_of(program_.steps[first]);
  LaunchRoom room;
  if (!room.take(kernel, program_.steps[first], 0)) return group;
  crossed.clear();
  crossed.add(touches[first]);
  bool may_fail = false;
  for (size_t s = first + 1; s < std::min(program_.steps.size(), first + kFarAhead); ++s) {
    if (gone[s]) continue;
    const Step& step = program_.steps[s];
    const bool far = s >= first + kAhead;
    // Another that fails must find what is written to inputs as it was.
    bool joins = may_share_launch(step) && !(may_fail && step.writes_input) &&
                 kernel_of(step).grid.threads == kernel.grid.threads &&
                 kernel_of(step).grid.device == kernel.grid.device && held_bytes(step) <= kMostHeld &&
                 fits(kernel_of(step), group, s < first + kAhead);
    if (joins && crossed.precedes(touches[s])) {
      if (far && are_alike(kernel_of(step), kernel)) break;
      joins = false;
    }
    joins = joins && room.take(kernel_of(step), step, held_bytes(step));
    if (joins) group.push_back(s);
    may_fail = may_fail || (!joins && step.may_fail);
    crossed.add(touches[s]);
  }
  return group;
}

// A view reads nothing: it stands right behind what makes its storage, in nobody's way.
void ProgramBuilder::hoist_views() {
  std::vector<int32_t> made(program_.buffers.size(), -1);  // behind which step a buffer is there
  std::vector<std::vector<size_t>> behind(program_.steps.size() + 1);
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    const Step& step = program_.steps[s];
    auto place = static_cast<int32_t>(s);
    if (step.kind == Step::Kind::view) {
      place = -1;
      for (int32_t b : step.buffers) place = std::max(place, made[static_cast<size_t>(b)]);
    }
    for (int32_t b : step.outs) made[static_cast<size_t>(b)] = std::max(made[static_cast<size_t>(b)], place);
    if (step.kind == Step::Kind::view) behind[static_cast<size_t>(place + 1)].push_back(s);
  }
  std::vector<Step> steps;
  std::vector<std::vector<int>> units;
  const auto take = [&](size_t s) {
    steps.push_back(std::move(program_.steps[s]));
    units.push_back(std::move(units_of_step_[s]));
  };
  for (size_t s = 0; s <= behind.size() - 1; ++s) {
    if (s > 0 && program_.steps[s - 1].kind != Step::Kind::view) take(s - 1);
    for (size_t view : behind[s]) take(view);
  }
  program_.steps = std::move(steps);
  units_of_step_ = std::move(units);
}

void ProgramBuilder::share_launches() {
  if (options_.products.offered && options_.products.on_gpu) return;  // each is measured by itself
  if (std::ranges::none_of(program_.steps, [&](const Step& step) { return may_share_launch(step); })) return;
  hoist_views();
  std::vector<bool> gone(program_.steps.size(), false);
  std::vector<Touched> touches;
  for (const Step& step : program_.steps) touches.push_back(touched(step));
  Crossed crossed(program_.buffers.size());
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    if (gone[s] || !may_share_launch(program_.steps[s])) continue;
    const std::vector<size_t> group = sharers(s, touches, gone, crossed);
    if (group.size() < 2) continue;
    join(group);
    touches[s] = touched(program_.steps[s]);
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

// Those that are the same but for names become neighbours.
void ProgramBuilder::join(std::vector<size_t> group) {
  std::map<std::string, size_t> known;
  std::vector<size_t> number(program_.steps.size());
  for (size_t s : group)
    number[s] =
        known.try_emplace(cuda::text_without_names(kernel_of(program_.steps[s])), known.size()).first->second;
  std::ranges::stable_sort(group, {}, [&](size_t s) { return number[s]; });
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
