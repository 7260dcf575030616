#include "core/codegen/program_builder.h"
#include "core/codegen/schedule/scalar_code.h"

#include <algorithm>
#include <climits>

#include "core/codegen/cpp/emit.h"
#include "core/codegen/cpp/words.h"
#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/pairs.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/row_order.h"
#include "core/codegen/cuda/tried_shapes.h"
#include "core/codegen/epilogue_fusion.h"
#include "core/codegen/schedule/parts.h"
#include "core/fusion/classify.h"
#include "core/fusion/types.h"

namespace vitrine::codegen {

using fusion::Loop;
using ir::Ref;
using BufferKind = Buffer::Kind;

void ProgramBuilder::add_steps() {
  add_inputs();
  find_uses();
  find_destinations();
  for (size_t u = 0; u < fused_.units.size(); ++u) {
    const fusion::Unit& unit = fused_.units[u];
    bool generated = unit.kind == Loop::Kind::pointwise || unit.kind == Loop::Kind::reduction;
    if (generated)
      add_kernel(static_cast<int>(u));
    else
      add_call(static_cast<int>(u));
  }
  add_results();
  program_.draws = loops_.drawn;
  program_.draws_on = loops_.draws_on;
}

Program ProgramBuilder::finish() {
  plan_memory();
  free_foreign();
  return std::move(program_);
}

void ProgramBuilder::add_inputs() {
  for (const ir::Node* n : loops_.graph->inputs()) {
    Buffer b;
    b.name = n->name;
    b.kind = n->kind == ir::NodeKind::constant ? BufferKind::constant : BufferKind::input;
    b.type = n->type();
    b.value = {n->id, 0};
    b.input = static_cast<int32_t>(program_.input_buffer.size());
    auto index = static_cast<int32_t>(program_.buffers.size());
    program_.input_buffer.push_back(index);
    buffer_of_[b.value] = index;
    program_.value_buffer.emplace_back(b.value, index);
    program_.buffers.push_back(std::move(b));
    shares_with_.push_back(-1);
  }
}

// Who reads which root from memory, last.
void ProgramBuilder::find_uses() {
  for (size_t l = 0; l < loops_.loops.size(); ++l) {
    const Loop& loop = loops_.loops[l];
    int unit = fused_.unit_of[l];
    if (unit < 0) continue;
    const ir::Node& n = loops_.graph->node(loop.node);
    bool aliases = loop.kind == Loop::Kind::opaque && ops::may_alias(n) && !own_attention(n);
    auto use = [&](Ref root) {
      auto producer = loops_.loop_of.find(root.node);
      if (producer != loops_.loop_of.end() && fused_.unit_of[producer->second] == unit) return;
      int& last = last_unit_.try_emplace(root, -1).first->second;
      last = std::max(last, unit);
      if (aliases) keeps_own_[root] = true;
    };
    fusion::each_read(loops_, loop, use);
  }
  for (const ir::Arg& r : loops_.graph->results())
    ir::each_ref(r, [&](Ref ref) { last_unit_[loops_.placement(ref).root] = INT_MAX; });
}

// copy_(input, value) of the input's own layout, where the value comes from a kernel, nothing else writes the
// input and neither leaves the call.
void ProgramBuilder::find_destinations() {
  for (size_t l = 0; l < loops_.loops.size(); ++l) {
    const ir::Node& n = loops_.graph->node(loops_.loops[l].node);
    if (n.op != "aten.copy_.default" || !n.args.at(1).is<Ref>() || last_unit_.contains(ir::Ref{n.id, 0}))
      continue;
    const fusion::Placement &to = loops_.placement(n.args[0].as<Ref>()),
                            &from = loops_.placement(n.args[1].as<Ref>());
    const ir::NodeKind kind = node(to.root).kind;
    if (kind == ir::NodeKind::op || kind == ir::NodeKind::constant) continue;
    ir::TensorType target = type(to.root);
    if (!to.type.same(target) || !from.type.same(type(from.root)) || last_unit_[to.root] == INT_MAX ||
        last_unit_[from.root] == INT_MAX)
      continue;
    target.offset = from.type.offset;
    if (!target.same(from.type)) continue;
    Destination d{to.root, -1, fused_.unit_of[l]};
    if (may_share(to.root, l) || may_share(from.root, l)) continue;
    for (size_t other : readers_.of(to.root))
      if (other != l) d.last_read = std::max(d.last_read, fused_.unit_of[other]);
    destinations_.emplace(from.root, d);
  }
}

// Whether an operator besides the copy may hand out a share of this storage.
bool ProgramBuilder::may_share(Ref root, size_t copy) const {
  const std::vector<size_t>& readers = readers_.of(root);
  return std::any_of(readers.begin(), readers.end(), [&](size_t l) {
    const Loop& loop = loops_.loops[l];
    const ir::Node& n = loops_.graph->node(loop.node);
    return l != copy && fused_.unit_of[l] >= 0 && loop.kind == Loop::Kind::opaque && ops::may_alias(n) &&
           !own_attention(n);
  });
}

// The input's buffer that this argument of a kernel may be written to, or -1.
int32_t ProgramBuilder::destination(int unit, const Schedule& schedule, const Argument& written) {
  auto it = destinations_.find(written.root);
  // An index out of range is known only when the kernel has run: an input must be as it was then.
  if (it == destinations_.end() || it->second.last_read > unit || schedule.gathers()) return -1;
  const Destination& d = it->second;
  if (d.last_read == unit)
    for (const Argument& read : schedule.arguments)
      if (!read.written && read.root == d.input && !same_place(schedule, read, written)) return -1;
  written_at_once_.insert(d.copy);
  const int32_t buffer = buffer_for(d.input);
  buffer_of_[written.root] = buffer;
  program_.value_buffer.emplace_back(written.root, buffer);
  return buffer;
}

int32_t ProgramBuilder::new_buffer(Ref root) {
  auto index = static_cast<int32_t>(program_.buffers.size());
  Buffer b;
  b.name = "buf" + std::to_string(index - static_cast<int32_t>(program_.input_buffer.size()));
  auto last = last_unit_.find(root);
  bool leaves = last != last_unit_.end() && last->second == INT_MAX;
  b.kind = leaves || keeps_own_.contains(root) ? BufferKind::output : BufferKind::temporary;
  b.type = type(root);
  b.held = held_.contains(root);
  b.value = root;
  buffer_of_[root] = index;
  program_.value_buffer.emplace_back(root, index);
  program_.buffers.push_back(std::move(b));
  shares_with_.push_back(-1);
  return index;
}

int32_t ProgramBuilder::buffer_for(Ref value) {
  if (auto known = buffer_of_.find(value); known != buffer_of_.end()) return known->second;
  const fusion::Placement& p = loops_.placement(value);
  auto base = buffer_of_.find(p.root);
  VITRINE_CHECK(base != buffer_of_.end(), node(p.root).name + " is read but nothing stored it");
  int32_t root = base->second;
  if (p.type.same(type(p.root))) {
    buffer_of_[value] = root;
    program_.value_buffer.emplace_back(value, root);
    return root;
  }
  int32_t index = new_buffer(value);
  Buffer& b = program_.buffers[static_cast<size_t>(index)];
  b.kind = program_.buffers[static_cast<size_t>(root)].kind;
  if (b.kind == BufferKind::input || b.kind == BufferKind::constant) b.kind = BufferKind::foreign;
  b.view_of = root;
  Step step;
  step.kind = Step::Kind::view;
  step.label = b.name;
  step.buffers = {root};
  step.outs = {index};
  step.node = node(value);
  step.may_fail = false;
  add_step(std::move(step), -1);
  return index;
}

void ProgramBuilder::add_step(Step step, int unit) {
  program_.steps.push_back(std::move(step));
  units_of_step_.push_back(unit < 0 ? std::vector<int>() : std::vector<int>{unit});
}

// What waits for another launch waits in an output, or is computed again.
Schedule ProgramBuilder::cpu_schedule(const fusion::Group& group, const std::vector<Ref>& stored) const {
  Schedule whole = make_schedule(loops_, group, stored, {.reserved = cpp::reserved_words()});
  const int64_t parts = parts_of(whole, options_.lanes, options_.sizes != nullptr);
  if (parts == 1) return whole;
  Schedule split = make_schedule(loops_, group, stored, {0, true, cpp::reserved_words()});
  split.parts = parts;
  return split;
}

// Rows that fit keep their values in registers; of the others, each phase computes them anew.
Schedule ProgramBuilder::gpu_schedule(const fusion::Group& group, const std::vector<Ref>& stored) const {
  constexpr int64_t kAnyNumber = int64_t{1} << 40;
  Schedule kept = make_schedule(loops_, group, stored, {kAnyNumber, false, cuda::reserved_words()});
  if (!kept.reduces) return kept;
  if (kept.both_ways()) {
    Schedule walked = make_schedule(loops_, group, stored, {0, false, cuda::reserved_words()});
    walked.walkers = cuda::choose_shape(walked, options_.gpu).blocks;
    return walked;
  }
  // A row that fits is passed over once, which is worth more than many blocks.
  const bool fits = !kept.across && cuda::choose_shape(kept, options_.gpu).registers;
  if (fits && (kept.phases.size() > 1 || cuda::parts_of(kept, options_.gpu) == 1)) return kept;
  Schedule walked = make_schedule(loops_, group, stored, {0, false, cuda::reserved_words()});
  if (!walked.across && walked.phases.size() > 1 && cuda::choose_shape(walked, options_.gpu).registers)
    return walked;
  cuda::join_pairs(walked);
  walked.parts = cuda::parts_of(walked, options_.gpu);
  return walked;
}

// In the shape that was chosen for it, if one was.
Kernel ProgramBuilder::gpu_kernel(const fusion::Unit& unit, const Schedule& schedule, ir::NodeId first,
                                  size_t launch) const {
  cuda::LaunchShape shape = cuda::choose_shape(schedule, options_.gpu, launch);
  auto choice = options_.products.choices.find(first);
  if (choice != options_.products.choices.end() && choice->second.candidate > 0 && schedule.launches() == 1)
    shape = cuda::tried_shapes(schedule, options_.gpu).at(static_cast<size_t>(choice->second.candidate));
  return cuda::emit_kernel(loops_, unit, schedule, shape, launch, options_.sizes.get());
}

// While they are measured: the kernel in each shape. What moves little is over before its shape tells, and
// each shape is compiled.
void ProgramBuilder::offer_shapes(const fusion::Unit& unit, const Schedule& schedule, Step& step) {
  constexpr int64_t kLittleBytes = int64_t{1} << 20;
  int64_t moved = 0;
  for (const Argument& a : schedule.arguments) moved += type(a.root).bytes().hint();
  if (moved < kLittleBytes) return;
  const std::vector<cuda::LaunchShape> shapes = cuda::tried_shapes(schedule, options_.gpu);
  for (size_t i = 0; shapes.size() > 1 && i < shapes.size(); ++i) {
    Alternative way{static_cast<int32_t>(i), step.kernel, cuda::shape_text(shapes[i]), step.buffers,
                    step.numbers};
    if (i > 0) {
      way.kernel = static_cast<int32_t>(program_.kernels.size());
      Kernel kernel = cuda::emit_kernel(loops_, unit, schedule, shapes[i], 0, options_.sizes.get());
      kernel.label = unit.label;
      way.numbers = kernel.numbers;
      program_.kernels.push_back(std::move(kernel));
    }
    step.shapes.push_back(std::move(way));
  }
}

// Roots of the group that somebody outside of it wants.
std::vector<Ref> ProgramBuilder::stored(const fusion::Group& group) const {
  std::vector<Ref> out;
  for (const fusion::Member& m : group.members)
    for (const fusion::Access& s : m.stores)
      if (last_unit_.contains(s.root)) out.push_back(s.root);
  return out;
}

void ProgramBuilder::add_kernel(int u) {
  if (!fused_.units[static_cast<size_t>(u)].horizontal.empty()) return add_horizontal(u);
  if (loops_.loops[fused_.units[static_cast<size_t>(u)].loops.front()].filled) return add_scattering(u);
  if (loops_.loops[fused_.units[static_cast<size_t>(u)].loops.front()].scans !=
      fusion::Statement::Reduce::none)
    return add_scan(u);
  fusion::Unit unit = fused_.units[static_cast<size_t>(u)];
  const bool joined = unit.product >= 0;
  if (joined) std::erase(unit.loops, static_cast<size_t>(unit.product));
  const std::vector<Ref> stored = this->stored(unit.group);
  if (stored.empty()) return;  // nobody wants what it computes
  const bool gpu = type(stored[0]).device.is_cuda();
  Schedule schedule = gpu ? gpu_schedule(unit.group, stored) : cpu_schedule(unit.group, stored);
  if (gpu && !joined) schedule = cuda::with_shared_rows_together(std::move(schedule));
  Step step;
  step.kind = Step::Kind::kernel;
  step.label = unit.label;
  step.may_fail = !gpu && schedule.gathers();
  step.of_weights = !gpu && !joined && is_of_weights(schedule);
  if (step.of_weights) hold(schedule);
  for (const Argument& a : schedule.arguments) {
    if (joined && a.root.node == loops_.loops[static_cast<size_t>(unit.product)].node) {
      step.buffers.push_back(-1);  // it is never in memory
      continue;
    }
    // The product's sums stand in what is written, while other tiles still read the inputs.
    const int32_t given = a.written && !joined ? destination(u, schedule, a) : -1;
    step.writes_input |= given >= 0;
    int32_t b = given >= 0 ? given : a.written ? new_buffer(a.root) : buffer_for(a.root);
    step.buffers.push_back(b);
    if (a.written) step.outs.push_back(b);
  }
  if (!joined) reuse_in_place(u, schedule, step);
  if (gpu) step.shaped = stored[0].node;
  add_launches(unit, u, schedule, std::move(step));
}

// A step a launch; all get the same arguments. What passes from one to the next are partial sums.
void ProgramBuilder::add_launches(const fusion::Unit& unit, int u, const Schedule& schedule, Step step) {
  const bool gpu = type(schedule.arguments.front().root).device.is_cuda(), joined = unit.product >= 0;
  // One number is computed as one.
  const bool one = (schedule.row_count() * schedule.columns()).same(1);
  const cpp::Target cpu{one && !joined ? 1 : options_.lanes, options_.stream_bytes, options_.sizes.get(),
                        !joined};
  if (schedule.leaves_sums())
    for (int i : schedule.sums()) {
      const int32_t partial = partial_sums(schedule, schedule.values[static_cast<size_t>(i)]);
      step.buffers.push_back(partial);
      step.outs.push_back(partial);
    }
  for (size_t launch = 0; launch < schedule.launches(); ++launch) {
    Kernel kernel = gpu ? gpu_kernel(unit, schedule, step.shaped, launch)
                        : cpp::emit_kernel(loops_, unit, schedule, cpu, launch);
    if (!gpu && !joined && schedule.launches() == 1) kernel.scalar = scalar_code({schedule});
    kernel.label = unit.label + (launch ? std::string(1, static_cast<char>('a' + launch)) : "");
    if (step.of_weights) name_kept(kernel);
    Step one = step;
    one.label = kernel.label;
    one.kernel = static_cast<int32_t>(program_.kernels.size());
    one.numbers = kernel.numbers;
    program_.kernels.push_back(std::move(kernel));
    const bool tuned = options_.products.offered && options_.products.on_gpu && schedule.launches() == 1;
    if (gpu && tuned && program_.kernels.back().by_value.empty()) offer_shapes(unit, schedule, one);
    if (joined)
      compute_with_product(u, schedule, one);
    else if (!one.writes_input && (!gpu || tuned))
      offer_with_product(u, schedule, one);
    add_step(std::move(one), u);
  }
}

// Memory for the sums of the parts of each row, or of the rows of each walker.
int32_t ProgramBuilder::partial_sums(const Schedule& schedule, const ScheduledValue& sum) {
  ir::TensorType type =
      ir::TensorType::contiguous(fusion::lane_dtype(sum.statement->dtype),
                                 schedule.both_ways() ? ir::Dims{schedule.walkers, schedule.columns()}
                                                      : ir::Dims{schedule.parts, schedule.row_count()});
  return temporary(std::move(type), {sum.node, 0});
}

// Memory that passes from one launch to the next, on the device of that value.
int32_t ProgramBuilder::temporary(ir::TensorType type, Ref value) {
  auto index = static_cast<int32_t>(program_.buffers.size());
  Buffer b;
  b.name = "buf" + std::to_string(index - static_cast<int32_t>(program_.input_buffer.size()));
  b.kind = BufferKind::temporary;
  b.type = std::move(type);
  b.type.device = node(value).type().device;
  b.value = value;
  program_.buffers.push_back(std::move(b));
  shares_with_.push_back(-1);
  return index;
}

// Arithmetic and products of known types, which are only not generated, or a copy between equal ones.
bool ProgramBuilder::cannot_fail(const ir::Node& n) const {
  const ops::OpRow* row = ops::find(n.op);
  if (is_matrix_product(n)) return true;
  if (n.op != "aten.copy_.default") return row && row->lower == ops::Lower::pointwise;
  if (!n.args.at(0).is<Ref>() || !n.args.at(1).is<Ref>()) return false;
  const ir::TensorType &to = type(n.args[0].as<Ref>()), &from = type(n.args[1].as<Ref>());
  return to.dtype == from.dtype && ir::same(to.sizes, from.sizes) && to.device == from.device;
}

void ProgramBuilder::add_call(int u) {
  if (written_at_once_.contains(u)) return;
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const ir::Node& n = loops_.graph->node(loops_.loops[unit.loops[0]].node);
  if (unit.kind == Loop::Kind::opaque ? add_attention(u) : add_cpu_attention(u)) return;
  Step step;
  step.may_fail = !cannot_fail(n);
  step.kind = unit.kind == Loop::Kind::library ? Step::Kind::library : Step::Kind::opaque;
  step.label = unit.label;
  step.node = n;
  ir::each_ref(n, [&](Ref r) { step.buffers.push_back(buffer_for(r)); });
  const int32_t input = step.kind == Step::Kind::opaque ? change_input(u, step) : -1;
  if (input >= 0) step.outs.push_back(input), step.writes_input = true;
  for (size_t i = 0; i < n.outputs.size() && input < 0; ++i)
    step.outs.push_back(new_buffer({n.id, static_cast<int32_t>(i)}));
  if (step.kind == Step::Kind::library) offer_product(unit, step);
  bool allocates = step.kind == Step::Kind::opaque ||
                   (step.kind == Step::Kind::library && n.op.find("convolution") != std::string::npos);
  if (step.kind == Step::Kind::opaque && input < 0) change_in_place(u, step);
  for (int32_t b : step.outs)
    if (allocates && step.node.op == n.op)
      program_.buffers[static_cast<size_t>(b)].kind = BufferKind::foreign;
  step.random = ops::is_random(n);
  for (Ref r : ops::written(n)) {
    BufferKind kind = program_.buffers[static_cast<size_t>(storage(buffer_for(r)))].kind;
    step.writes_input |= kind == BufferKind::input || kind == BufferKind::constant;
  }
  add_step(std::move(step), u);
}

// Kernels of our own for a product: beside the library's call while all are measured, one of them in its
// place where it was the fastest.
void ProgramBuilder::offer_product(const fusion::Unit& unit, Step& step) {
  const ProductOptions& how = options_.products;
  auto choice = how.choices.find(step.node.id);
  const int32_t chosen = choice == how.choices.end() ? 0 : choice->second.candidate;
  if (!how.offered && !chosen) return;
  if (step.node.type().device.is_cuda()) return offer_gpu_product(unit, step, chosen);
  const auto count = static_cast<int32_t>(product_candidates().size());
  for (int32_t candidate = 1; candidate < count; ++candidate) {
    if (chosen ? candidate != chosen : how.only && candidate != how.only) continue;
    auto call = product_call(*loops_.graph, step.node, candidate, options_.lanes, how);
    if (!call) continue;
    Alternative made;
    made.candidate = candidate;
    made.kernel = static_cast<int32_t>(program_.kernels.size());
    for (Ref r : call->reads) made.buffers.push_back(buffer_for(r));
    made.buffers.insert(made.buffers.begin() + 2, step.outs.at(0));
    made.numbers = std::move(call->numbers);
    call->kernel.label = unit.label;
    program_.kernels.push_back(std::move(call->kernel));
    step.instead.push_back(std::move(made));
  }
  if (chosen && !step.instead.empty()) take_first(step);
}

// The one that was chosen.
void ProgramBuilder::take_first(Step& step) {
  Alternative only = std::move(step.instead.front());
  step.instead.clear();
  step.kind = Step::Kind::kernel;
  step.kernel = only.kernel;
  step.buffers = std::move(only.buffers);
  step.numbers = std::move(only.numbers);
  step.may_fail = false;
}

// Both in one kernel; step: the epilogue's, with its buffers.
std::optional<Alternative> ProgramBuilder::with_product(size_t product, const Schedule& schedule,
                                                        const Step& step, const Kernel& kernel,
                                                        int32_t candidate) {
  const ir::Node& n = loops_.graph->node(loops_.loops[product].node);
  auto call = product_call(*loops_.graph, n, candidate, options_.lanes, options_.products);
  if (!call || !call->space) return {};
  const size_t first = call->reads.size() + 1;
  auto epilogue = cpp::make_epilogue(schedule, {n.id, 0}, *call->space, options_.lanes, first);
  if (!epilogue) return {};
  add_epilogue(*call, *epilogue, kernel, candidate);
  call->kernel.label = kernel.label;
  Alternative made;
  made.candidate = candidate;
  made.kernel = static_cast<int32_t>(program_.kernels.size());
  for (Ref r : call->reads) made.buffers.push_back(buffer_for(r));
  made.buffers.insert(made.buffers.begin() + 2, step.buffers[static_cast<size_t>(epilogue->accumulator)]);
  for (int a : epilogue->arguments) made.buffers.push_back(step.buffers[static_cast<size_t>(a)]);
  made.numbers = std::move(call->numbers);
  program_.kernels.push_back(std::move(call->kernel));
  return made;
}

// While products are measured: the epilogue's kernel carries the alternative of both in one.
void ProgramBuilder::offer_with_product(int u, const Schedule& schedule, Step& step) {
  const ProductOptions& how = options_.products;
  auto product =
      how.offered ? followed_product(loops_, readers_, fused_, static_cast<size_t>(u)) : std::nullopt;
  if (!product) return;
  const Kernel kernel = program_.kernels.back();
  const auto count = static_cast<int32_t>(product_candidates().size());
  const bool gpu = is_gpu_product(loops_.graph->node(loops_.loops[*product].node));
  for (int32_t candidate = 1; candidate < count && (gpu || step.instead.empty()); ++candidate) {
    if (how.only && candidate != how.only) continue;
    if (auto made = product_and(*product, u, schedule, step, kernel, candidate))
      step.instead.push_back(std::move(*made));
  }
  if (!step.instead.empty() || !gpu) step.node = loops_.graph->node(loops_.loops[*product].node);
}

std::optional<Alternative> ProgramBuilder::product_and(size_t product, int u, const Schedule& schedule,
                                                       const Step& step, const Kernel& kernel,
                                                       int32_t candidate) {
  if (is_gpu_product(loops_.graph->node(loops_.loops[product].node)))
    return tiled_with(product, fused_.units[static_cast<size_t>(u)], schedule, step, candidate);
  return with_product(product, schedule, step, kernel, candidate);
}

void ProgramBuilder::compute_with_product(int u, const Schedule& schedule, Step& step) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const auto product = static_cast<size_t>(unit.product);
  const ir::Node& n = loops_.graph->node(loops_.loops[product].node);
  const Kernel kernel = std::move(program_.kernels.back());
  program_.kernels.pop_back();
  auto made = product_and(product, u, schedule, step, kernel, options_.products.choices.at(n.id).candidate);
  VITRINE_CHECK(made, "a product and what follows it fell apart");
  step.node = n;
  step.kernel = made->kernel;
  step.buffers = std::move(made->buffers);
  step.numbers = std::move(made->numbers);
}

void ProgramBuilder::add_results() {
  program_.results = loops_.graph->results();
  for (const ir::Arg& r : program_.results) ir::each_ref(r, [&](Ref ref) { buffer_for(ref); });
}

}  // namespace vitrine::codegen
