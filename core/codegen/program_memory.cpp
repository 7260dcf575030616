// Where the buffers of a program lie: in whose place a value may be written, what shares memory, the arena.
#include <algorithm>
#include <utility>

#include "core/codegen/program_builder.h"
#include "core/fusion/memory_plan.h"

namespace vitrine::codegen {

using ir::Ref;
using BufferKind = Buffer::Kind;

int32_t ProgramBuilder::storage(int32_t buffer) const {
  while (program_.buffers[static_cast<size_t>(buffer)].view_of >= 0)
    buffer = program_.buffers[static_cast<size_t>(buffer)].view_of;
  return buffer;
}

int32_t ProgramBuilder::place(int32_t buffer) const {
  buffer = storage(buffer);
  while (shares_with_[static_cast<size_t>(buffer)] >= 0)
    buffer = storage(shares_with_[static_cast<size_t>(buffer)]);
  return buffer;
}

// An element a row, known once the row has been walked: what reads the row's element did so before, and a
// GPU's threads, which all read it, have met since. Those of rows in parts have not, but across rows.
bool ProgramBuilder::same_row(const Schedule& s, const Argument& read, const Argument& written) const {
  if (s.both_ways() || (s.parts > 1 && !s.across)) return false;
  auto is = [&](int argument, const Argument& a) {
    return argument >= 0 && &s.arguments[static_cast<size_t>(argument)] == &a;
  };
  const Load* only = nullptr;
  for (const Load& l : s.loads) {
    if (!is(l.argument, read)) continue;
    if (only || !l.affine() || !l.per_row || !l.offset.same(0)) return false;
    only = &l;
  }
  const ScheduledValue* stored = nullptr;
  for (const ScheduledValue& v : s.values)
    if (is(v.store, written)) stored = &v;
  return only && stored && stored->per_row && stored->statement->reduce == fusion::Statement::Reduce::none &&
         (stored->phase == static_cast<int>(s.phases.size()) || read_before(s, *only, *stored)) &&
         s.reduces && ir::same(stored->store_strides, only->strides);
}

// Whether what reads a load of the row is known before the phase of `stored`. Where several threads have a
// row, or several launches, `stored` alone may follow from the load: it is stored once, by one that reads
// first.
bool ProgramBuilder::read_before(const Schedule& s, const Load& load, const ScheduledValue& stored) const {
  if (!type(s.arguments[static_cast<size_t>(load.argument)].root).device.is_cpu()) return false;
  std::vector<bool> follows(s.values.size(), false);
  for (size_t i = 0; i < s.values.size(); ++i) {
    const ScheduledValue& v = s.values[i];
    bool reads = false;
    for (const OperandSource& from : v.sources) {
      const auto at = static_cast<size_t>(from.index);
      const bool is_load = from.kind == OperandSource::Kind::load;
      if (is_load && &s.loads[at] == &load) reads = true;
      if (is_load ? &s.loads[at] == &load : follows[at]) follows[i] = true;
    }
    if (reads && (!v.per_row || v.phase > stored.phase)) return false;
    if (follows[i] && s.parts > 1 && (!v.per_row || (v.store >= 0 && &v != &stored))) return false;
  }
  return true;
}

// Whether the kernel reads each element of `read` before, and only where, it writes that of `written`.
bool ProgramBuilder::same_place(const Schedule& s, const Argument& read, const Argument& written) const {
  if (ir::dtype_bytes(read.dtype) != ir::dtype_bytes(written.dtype) || read.by_value) return false;
  // A kernel of one element reads all before it writes.
  if (!s.reduces && (s.row_count() * s.columns()).same(1) && type(read.root).numel().same(1)) return true;
  if (!type(read.root).bytes().same(type(written.root).bytes())) return false;
  if (same_row(s, read, written)) return true;
  if (written.first_store < 0 || read.last_read < 0 || read.last_read > written.first_store) return false;
  if (type(read.root).numel().same(1) && read.dtype == written.dtype) return true;
  const Load* only = nullptr;
  for (const Load& l : s.loads) {
    if (l.argument < 0 || &s.arguments[static_cast<size_t>(l.argument)] != &read) continue;
    if (only || !l.affine()) return false;
    only = &l;
  }
  if (!only || only->per_row || !only->offset.same(0)) return false;
  for (const ScheduledValue& v : s.values)
    if (v.store >= 0 && &s.arguments[static_cast<size_t>(v.store)] == &written)
      return ir::same(v.store_strides, only->strides);
  return false;
}

// On a GPU and in training what is large is taken from PyTorch's allocator when it is written and given back
// after its last use, as eager does: an arena would hold memory from the first step to the last. What is held
// between calls lies in no arena either.
bool ProgramBuilder::has_own_memory(const Buffer& buffer) const {
  constexpr int64_t kLargeOnCpu = int64_t{1} << 16;
  const int64_t bytes = buffer.type.bytes().hint();
  if (buffer.held) return true;
  return buffer.type.device.is_cuda() ? bytes >= large_on_gpu_ : options_.gives_back && bytes >= kLargeOnCpu;
}

// In the arena bytes are bytes. Elsewhere one tensor shows what the other held, and all before it in its
// place, which has to be of one type.
bool ProgramBuilder::may_become(int32_t source, const Buffer& target) const {
  const int32_t first = place(source);
  if (target.kind == BufferKind::temporary && !has_own_memory(program_.buffers[static_cast<size_t>(first)]))
    return true;
  for (size_t b = 0; b < program_.buffers.size(); ++b)
    if (place(static_cast<int32_t>(b)) == first && program_.buffers[b].type.dtype != target.type.dtype)
      return false;
  return true;
}

// A value that is read for the last time gives its memory to one that is written at the same places.
void ProgramBuilder::reuse_in_place(int u, const Schedule& schedule, const Step& step) {
  std::vector<bool> taken(step.buffers.size(), false);
  for (size_t w = 0; w < schedule.arguments.size(); ++w) {
    if (!schedule.arguments[w].written) continue;
    if (options_.own_results &&
        program_.buffers[static_cast<size_t>(step.buffers[w])].kind == BufferKind::output)
      continue;
    for (size_t r = 0; r < schedule.arguments.size(); ++r) {
      const Argument& read = schedule.arguments[r];
      if (read.written || taken[r]) continue;
      if (program_.buffers[static_cast<size_t>(step.buffers[w])].kind == BufferKind::input) continue;
      const Buffer& source = program_.buffers[static_cast<size_t>(step.buffers[r])];
      if (source.kind != BufferKind::temporary) continue;
      auto last = last_unit_.find(read.root);
      if (last == last_unit_.end() || last->second != u || keeps_own_.contains(schedule.arguments[w].root))
        continue;
      if (!same_place(schedule, read, schedule.arguments[w]) ||
          !may_become(step.buffers[r], program_.buffers[static_cast<size_t>(step.buffers[w])]))
        continue;
      taken[r] = true;
      share(step.buffers[r], step.buffers[w]);
      break;
    }
  }
}

void ProgramBuilder::share(int32_t source, int32_t target) {
  Buffer& to = program_.buffers[static_cast<size_t>(target)];
  to.reuses = source;
  int32_t first = place(source);
  if (to.kind == BufferKind::temporary && has_own_memory(program_.buffers[static_cast<size_t>(first)])) {
    to.view_of = first;
    return;
  }
  if (to.kind == BufferKind::temporary) {
    shares_with_[static_cast<size_t>(target)] = first;
    return;
  }
  // The result leaves the call: everything in its place moves out of the arena with it.
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    auto index = static_cast<int32_t>(b);
    if (index == first || index == target || program_.buffers[b].view_of >= 0 || place(index) != first)
      continue;
    program_.buffers[b].kind = BufferKind::output;
    program_.buffers[b].view_of = first;
    shares_with_[b] = -1;
  }
  program_.buffers[static_cast<size_t>(first)].kind = BufferKind::output;
  to.view_of = first;
}

void ProgramBuilder::plan_memory() {
  auto touch = [&](int32_t buffer, int32_t step) {
    for (int32_t b : {buffer, storage(buffer), place(buffer)}) {
      Buffer& row = program_.buffers[static_cast<size_t>(b)];
      if (row.first_step < 0) row.first_step = step;
      row.last_step = std::max(row.last_step, step);
    }
  };
  auto steps = static_cast<int32_t>(program_.steps.size());
  for (int32_t s = 0; s < steps; ++s) {
    for (int32_t b : program_.steps[static_cast<size_t>(s)].buffers) touch(b, s);
    for (int32_t b : program_.steps[static_cast<size_t>(s)].outs) touch(b, s);
  }
  for (const ir::Arg& r : program_.results)
    ir::each_ref(r, [&](Ref ref) { touch(buffer_of_.at(ref), steps); });
  // One arena on the device of most of the work, and one for numbers that the CPU computes beside a GPU: what
  // else is needed is allocated call by call.
  ir::Device arena;
  for (const Buffer& row : program_.buffers)
    if (row.kind == BufferKind::temporary && row.type.device.is_cuda()) arena = row.type.device;
  if (arena.is_cuda()) choose_what_is_large(arena);
  program_.arena_bytes = plan_arena(arena);
  if (arena.is_cuda()) program_.host_bytes = plan_arena({});
}

// To allocate takes the CPU as long as a launch. What is not that large goes into the arena, too, unless a
// call then needs more memory at once.
void ProgramBuilder::choose_what_is_large(ir::Device gpu) {
  constexpr int64_t kNotThatLarge = int64_t{16} << 20;
  const auto between = [&](const Buffer& row) {
    const int64_t bytes = row.type.bytes().hint();
    return row.kind == BufferKind::temporary && bytes >= large_on_gpu_ && bytes < kNotThatLarge;
  };
  if (std::ranges::none_of(program_.buffers, between)) return;
  const int64_t before = most_bytes(gpu), first = std::exchange(large_on_gpu_, kNotThatLarge);
  if (most_bytes(gpu) > before) large_on_gpu_ = first;
}

// Bytes that a call takes of the GPU at once: the arena, and what is allocated besides while it is held.
int64_t ProgramBuilder::most_bytes(ir::Device gpu) const {
  std::vector<fusion::Lifetime> in_arena;
  std::vector<int64_t> change(program_.steps.size() + 2, 0);
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& row = program_.buffers[b];
    if (row.view_of >= 0 || shares_with_[b] >= 0 || row.type.device != gpu || row.held || row.first_step < 0)
      continue;
    if (row.kind == BufferKind::input || row.kind == BufferKind::constant) continue;
    if (row.kind == BufferKind::temporary && !has_own_memory(row)) {
      in_arena.push_back({row.type.bytes().hint(), row.first_step, row.last_step});
      continue;
    }
    change[static_cast<size_t>(row.first_step)] += row.type.bytes().hint();
    change[static_cast<size_t>(row.last_step) + 1] -= row.type.bytes().hint();
  }
  int64_t now = 0, most = 0;
  for (int64_t step : change) most = std::max(most, now += step);
  return fusion::plan_arena(in_arena).hint() + most;
}

// Places for what lives on the device between two steps; how many bytes it takes.
ir::Sym ProgramBuilder::plan_arena(ir::Device arena) {
  std::vector<fusion::Lifetime> lifetimes;
  std::vector<int32_t> owner;
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& row = program_.buffers[b];
    if (row.kind != BufferKind::temporary || row.view_of >= 0 || shares_with_[b] >= 0) continue;
    if (row.type.device != arena || has_own_memory(row)) continue;
    lifetimes.push_back({row.type.bytes(), row.first_step, row.last_step});
    owner.push_back(static_cast<int32_t>(b));
  }
  const ir::Sym bytes = fusion::plan_arena(lifetimes);
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    Buffer& row = program_.buffers[static_cast<size_t>(owner[i])];
    row.arena_offset = lifetimes[i].offset;
    if (lifetimes[i].reuses >= 0) row.reuses = owner[static_cast<size_t>(lifetimes[i].reuses)];
  }
  for (size_t b = 0; b < program_.buffers.size(); ++b)
    if (shares_with_[b] >= 0 && program_.buffers[b].type.device == arena)
      program_.buffers[b].arena_offset =
          program_.buffers[static_cast<size_t>(place(static_cast<int32_t>(b)))].arena_offset;
  return bytes;
}

// What a call allocated goes after its last use; results and what lies in their storage stay.
void ProgramBuilder::free_foreign() {
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& root = program_.buffers[static_cast<size_t>(storage(static_cast<int32_t>(b)))];
    const bool own = root.kind == BufferKind::temporary && has_own_memory(root);
    if (root.kind != BufferKind::foreign && root.kind != BufferKind::output && !own) continue;
    if (root.last_step < 0 || root.last_step >= static_cast<int32_t>(program_.steps.size())) continue;
    program_.steps[static_cast<size_t>(root.last_step)].free_after.push_back(static_cast<int32_t>(b));
  }
}

}  // namespace vitrine::codegen
