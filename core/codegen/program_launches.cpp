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

// What is asked of each step once.
struct ProgramBuilder::Sharing {
  std::vector<Touched> touches;
  std::vector<bool> may, gone;  // share a launch; have joined another step
  Crossed crossed;
  std::vector<int32_t> texts;  // the number of its kernel's text without names; -1: not asked for yet
  std::map<std::string, int32_t> numbers;
};

int32_t ProgramBuilder::text_of(size_t step, Sharing& all) const {
  int32_t& number = all.texts[step];
  if (number >= 0) return number;
  std::string text = cuda::text_without_names(kernel_of(program_.steps[step]));
  return number =
             all.numbers.try_emplace(std::move(text), static_cast<int32_t>(all.numbers.size())).first->second;
}

// Whether the kernels of two steps are the same but for names. Numbers tell most apart.
bool ProgramBuilder::are_alike(size_t a, size_t b, Sharing& all) const {
  const Kernel &one = kernel_of(program_.steps[a]), &other = kernel_of(program_.steps[b]);
  return one.grid.blocks.same(other.grid.blocks) && one.bytes.same(other.bytes) &&
         one.flops.same(other.flops) && text_of(a, all) == text_of(b, all);
}

// How much of what a launch has is used by the kernels that share it.
class ProgramBuilder::LaunchRoom {
 public:
  bool take(const Kernel& kernel, int32_t text, size_t more, int64_t held) {
    more += arguments_, held += held_;
    const int64_t shared = shared_ + (texts_.contains(text) ? 0 : cuda::named_shared_memory(kernel));
    if (more > cuda::kMostJoinedArguments || shared > cuda::kMostNamedShared || held > kMostHeldTogether)
      return false;
    arguments_ = more, shared_ = shared, held_ = held;
    texts_.insert(text);
    return true;
  }

 private:
  size_t arguments_ = 0;
  int64_t shared_ = 0, held_ = 0;
  std::set<int32_t> texts_;
};

// Close to the first of the group any small kernel may join. Far from it, or of large ones, those that are
// the same as one of these but for names.
bool ProgramBuilder::fits(size_t step, const std::vector<size_t>& group, Sharing& all) const {
  const bool close = step < group.front() + kAhead;
  if (close && is_small(kernel_of(program_.steps[step])) &&
      is_small(kernel_of(program_.steps[group.front()])))
    return true;
  return std::ranges::any_of(group, [&](size_t other) { return are_alike(step, other, all); });
}

// The steps that run with the one at `first`, which comes first; those far from it until they are the next
// layer's.
std::vector<size_t> ProgramBuilder::sharers(size_t first, Sharing& all) const {
  std::vector<size_t> group = {first};
  const Grid& grid = kernel_of(program_.steps[first]).grid;
  LaunchRoom room;
  const auto take = [&](size_t s) {
    const Step& step = program_.steps[s];
    return room.take(kernel_of(step), text_of(s, all), step.buffers.size(),
                     s == first ? 0 : held_bytes(step));
  };
  all.crossed.clear();
  all.crossed.add(all.touches[first]);
  bool may_fail = false, begun = false;
  for (size_t s = first + 1; s < std::min(program_.steps.size(), first + kFarAhead); ++s) {
    if (all.gone[s]) continue;
    const Step& step = program_.steps[s];
    // Another that fails must find what is written to inputs as it was.
    bool joins = all.may[s] && !(may_fail && step.writes_input) &&
                 kernel_of(step).grid.threads == grid.threads && kernel_of(step).grid.device == grid.device &&
                 held_bytes(step) <= kMostHeld && fits(s, group, all);
    if (joins && all.crossed.precedes(all.touches[s])) {
      if (s >= first + kAhead && are_alike(s, first, all)) break;
      joins = false;
    }
    if (joins && !begun && !take(first)) return group;
    begun = begun || joins;
    joins = joins && take(s);
    if (joins) group.push_back(s);
    may_fail = may_fail || (!joins && step.may_fail);
    all.crossed.add(all.touches[s]);
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
  const size_t count = program_.steps.size();
  Sharing all{{},
              {},
              std::vector<bool>(count, false),
              Crossed(program_.buffers.size()),
              std::vector<int32_t>(count, -1),
              {}};
  for (const Step& step : program_.steps) {
    all.touches.push_back(touched(step));
    all.may.push_back(may_share_launch(step));
  }
  for (size_t s = 0; s < count; ++s) {
    if (all.gone[s] || !all.may[s]) continue;
    const std::vector<size_t> group = sharers(s, all);
    if (group.size() < 2) continue;
    join(group, all);
    all.touches[s] = touched(program_.steps[s]);
    for (size_t other : group) all.gone[other] = other != s;
  }
  const std::vector<bool>& gone = all.gone;
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
void ProgramBuilder::join(std::vector<size_t> group, Sharing& all) {
  std::vector<int32_t> order;
  for (size_t s : group)
    if (std::ranges::find(order, text_of(s, all)) == order.end()) order.push_back(text_of(s, all));
  std::ranges::stable_sort(
      group, {}, [&](size_t s) { return std::ranges::find(order, text_of(s, all)) - order.begin(); });
  std::vector<cuda::Joining> kernels;
  for (size_t s : group) {
    const Step& each = program_.steps[s];
    kernels.push_back({&kernel_of(each), each.buffers.size(), text_of(s, all)});
  }
  Kernel kernel = cuda::join_kernels(kernels);
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
