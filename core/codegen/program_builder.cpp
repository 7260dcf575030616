#include "core/codegen/program_builder.h"
#include "core/codegen/scalar_code.h"

#include <algorithm>
#include <climits>

#include "core/codegen/cpp/emit.h"
#include "core/codegen/cpp/parts.h"
#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/pairs.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/tried_shapes.h"
#include "core/codegen/followers.h"
#include "core/fusion/classify.h"
#include "core/fusion/memory_plan.h"
#include "core/fusion/types.h"

namespace vitrine::codegen {

using fusion::Loop;
using ir::Ref;
using BufferKind = Buffer::Kind;

Program ProgramBuilder::build() {
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
    buffer_of_[key(b.value)] = index;
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
    bool aliases = loop.kind == Loop::Kind::opaque && ops::may_alias(n);
    auto use = [&](Ref root) {
      auto producer = loops_.loop_of.find(root.node);
      if (producer != loops_.loop_of.end() && fused_.unit_of[producer->second] == unit) return;
      int& last = last_unit_.try_emplace(key(root), -1).first->second;
      last = std::max(last, unit);
      if (aliases) keeps_own_[key(root)] = true;
    };
    fusion::each_read(loops_, loop, use);
  }
  for (const ir::Arg& r : loops_.graph->results())
    ir::each_ref(r, [&](Ref ref) { last_unit_[key(loops_.placement(ref).root)] = INT_MAX; });
}

// copy_(input, value) of the input's own layout, where the value comes from a kernel, nothing else writes the
// input and neither leaves the call.
void ProgramBuilder::find_destinations() {
  for (size_t l = 0; l < loops_.loops.size(); ++l) {
    const ir::Node& n = loops_.graph->node(loops_.loops[l].node);
    if (n.op != "aten.copy_.default" || !n.args.at(1).is<Ref>() || last_unit_.contains(key({n.id, 0})))
      continue;
    const fusion::Placement &to = loops_.placement(n.args[0].as<Ref>()),
                            &from = loops_.placement(n.args[1].as<Ref>());
    const ir::NodeKind kind = node(to.root).kind;
    if (kind == ir::NodeKind::op || kind == ir::NodeKind::constant) continue;
    ir::TensorType target = type(to.root);
    if (to.type != target || from.type != type(from.root) || last_unit_[key(to.root)] == INT_MAX ||
        last_unit_[key(from.root)] == INT_MAX)
      continue;
    target.offset = from.type.offset;
    if (target != from.type) continue;
    Destination d{to.root, -1, fused_.unit_of[l]};
    bool single = true;
    for (size_t other = 0; other < loops_.loops.size(); ++other) {
      const Loop& loop = loops_.loops[other];
      if (other == l || fused_.unit_of[other] < 0) continue;
      const bool may_share = loop.kind == Loop::Kind::opaque && ops::may_alias(loops_.graph->node(loop.node));
      fusion::each_read(loops_, loop, [&](Ref root) {
        if ((root == to.root || root == from.root) && may_share) single = false;
        if (root == to.root) d.last_read = std::max(d.last_read, fused_.unit_of[other]);
      });
    }
    if (single) destinations_.emplace(key(from.root), d);
  }
}

// The input's buffer that this argument of a kernel may be written to, or -1.
int32_t ProgramBuilder::destination(int unit, const cpp::Schedule& schedule, const cpp::Argument& written) {
  auto it = destinations_.find(key(written.root));
  // An index out of range is known only when the kernel has run: an input must be as it was then.
  if (it == destinations_.end() || it->second.last_read > unit || schedule.picks()) return -1;
  const Destination& d = it->second;
  if (d.last_read == unit)
    for (const cpp::Argument& read : schedule.arguments)
      if (!read.written && read.root == d.input && !same_place(schedule, read, written)) return -1;
  written_at_once_.insert(d.copy);
  const int32_t buffer = buffer_for(d.input);
  buffer_of_[key(written.root)] = buffer;
  program_.value_buffer.emplace_back(written.root, buffer);
  return buffer;
}

int32_t ProgramBuilder::new_buffer(Ref root) {
  auto index = static_cast<int32_t>(program_.buffers.size());
  Buffer b;
  b.name = "buf" + std::to_string(index - static_cast<int32_t>(program_.input_buffer.size()));
  auto last = last_unit_.find(key(root));
  bool leaves = last != last_unit_.end() && last->second == INT_MAX;
  b.kind = leaves || keeps_own_.contains(key(root)) ? BufferKind::output : BufferKind::temporary;
  b.type = type(root);
  b.value = root;
  buffer_of_[key(root)] = index;
  program_.value_buffer.emplace_back(root, index);
  program_.buffers.push_back(std::move(b));
  shares_with_.push_back(-1);
  return index;
}

int32_t ProgramBuilder::buffer_for(Ref value) {
  if (auto known = buffer_of_.find(key(value)); known != buffer_of_.end()) return known->second;
  const fusion::Placement& p = loops_.placement(value);
  auto base = buffer_of_.find(key(p.root));
  VITRINE_CHECK(base != buffer_of_.end(), node(p.root).name + " is read but nothing stored it");
  int32_t root = base->second;
  if (p.type == type(p.root)) {
    buffer_of_[key(value)] = root;
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
  unit_of_step_.push_back(unit);
}

// What waits for another launch waits in an output, or is computed again.
cpp::Schedule ProgramBuilder::cpu_schedule(const fusion::Group& group, const std::vector<Ref>& stored) const {
  cpp::Schedule whole = cpp::make_schedule(loops_, group, stored);
  const int64_t parts = cpp::parts_of(whole, options_.lanes, options_.sizes != nullptr);
  if (parts == 1) return whole;
  cpp::Schedule split = cpp::make_schedule(loops_, group, stored, {0, true});
  split.parts = parts;
  return split;
}

// Rows that fit keep their values in registers; of the others, each phase computes them anew.
cpp::Schedule ProgramBuilder::gpu_schedule(const fusion::Group& group, const std::vector<Ref>& stored) const {
  constexpr int64_t kAnyNumber = int64_t{1} << 40;
  cpp::Schedule kept = cpp::make_schedule(loops_, group, stored, {kAnyNumber, false, cuda::reserved_words()});
  if (!kept.reduces) return kept;
  if (kept.both_ways()) {
    cpp::Schedule walked = cpp::make_schedule(loops_, group, stored, {0, false, cuda::reserved_words()});
    walked.walkers = cuda::choose_shape(walked).blocks;
    return walked;
  }
  // A row that fits is passed over once, which is worth more than many blocks.
  const bool fits = !kept.across && cuda::choose_shape(kept).registers;
  if (fits && (kept.phases.size() > 1 || cuda::parts_of(kept) == 1)) return kept;
  cpp::Schedule walked = cpp::make_schedule(loops_, group, stored, {0, false, cuda::reserved_words()});
  if (!walked.across && walked.phases.size() > 1 && cuda::choose_shape(walked).registers) return walked;
  cuda::join_pairs(walked);
  walked.parts = cuda::parts_of(walked);
  return walked;
}

// In the shape that was chosen for it, if one was.
Kernel ProgramBuilder::gpu_kernel(const fusion::Unit& unit, const cpp::Schedule& schedule, ir::NodeId first,
                                  size_t launch) const {
  cuda::Shape shape = cuda::choose_shape(schedule, launch);
  auto choice = options_.products.choices.find(first);
  if (choice != options_.products.choices.end() && choice->second.candidate > 0 && schedule.launches() == 1)
    shape = cuda::tried_shapes(schedule).at(static_cast<size_t>(choice->second.candidate));
  return cuda::emit_kernel(loops_, unit, schedule, shape, launch, options_.sizes.get());
}

// While they are measured: the kernel in each shape.
void ProgramBuilder::offer_shapes(const fusion::Unit& unit, const cpp::Schedule& schedule, Step& step) {
  const std::vector<cuda::Shape> shapes = cuda::tried_shapes(schedule);
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
      if (last_unit_.contains(key(s.root))) out.push_back(s.root);
  return out;
}

void ProgramBuilder::add_kernel(int u) {
  if (!fused_.units[static_cast<size_t>(u)].alike.empty()) return add_alike(u);
  if (loops_.loops[fused_.units[static_cast<size_t>(u)].loops.front()].filled) return add_scattering(u);
  fusion::Unit unit = fused_.units[static_cast<size_t>(u)];
  const bool joined = unit.product >= 0;
  if (joined) std::erase(unit.loops, static_cast<size_t>(unit.product));
  const std::vector<Ref> stored = this->stored(unit.group);
  if (stored.empty()) return;  // nobody wants what it computes
  const bool gpu = type(stored[0]).device.is_cuda();
  cpp::Schedule schedule = gpu ? gpu_schedule(unit.group, stored) : cpu_schedule(unit.group, stored);
  Step step;
  step.kind = Step::Kind::kernel;
  step.label = unit.label;
  step.may_fail = !gpu && schedule.picks();
  for (const cpp::Argument& a : schedule.arguments) {
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
void ProgramBuilder::add_launches(const fusion::Unit& unit, int u, const cpp::Schedule& schedule, Step step) {
  const bool gpu = type(schedule.arguments.front().root).device.is_cuda(), joined = unit.product >= 0;
  // One number is computed as one.
  const bool one = schedule.row_count() * schedule.columns() == 1;
  const cpp::Target cpu{one && !joined ? 1 : options_.lanes, options_.stream_bytes, options_.sizes.get()};
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
    Step one = step;
    one.label = kernel.label;
    one.kernel = static_cast<int32_t>(program_.kernels.size());
    one.numbers = kernel.numbers;
    program_.kernels.push_back(std::move(kernel));
    const bool tuned = options_.products.offered && options_.products.on_gpu && schedule.launches() == 1;
    if (gpu && tuned && program_.kernels.back().by_value.empty()) offer_shapes(unit, schedule, one);
    if (joined)
      compute_with_product(u, schedule, one);
    else if (!gpu && !one.writes_input)
      offer_with_product(u, schedule, one);
    add_step(std::move(one), u);
  }
}

// Memory for the sums of the parts of each row, or of the rows of each walker.
int32_t ProgramBuilder::partial_sums(const cpp::Schedule& schedule, const cpp::Value& sum) {
  auto index = static_cast<int32_t>(program_.buffers.size());
  Buffer b;
  b.name = "buf" + std::to_string(index - static_cast<int32_t>(program_.input_buffer.size()));
  b.kind = BufferKind::temporary;
  b.type = ir::TensorType::contiguous(fusion::lane_dtype(sum.statement->dtype),
                                      schedule.both_ways() ? ir::Dims{schedule.walkers, schedule.columns()}
                                                           : ir::Dims{schedule.parts, schedule.row_count()});
  b.type.device = loops_.graph->node(sum.node).type().device;
  b.value = {sum.node, 0};
  program_.buffers.push_back(std::move(b));
  shares_with_.push_back(-1);
  return index;
}

// Arithmetic on known types, which are only not generated, or a copy between equal ones.
bool ProgramBuilder::cannot_fail(const ir::Node& n) const {
  const ops::OpRow* row = ops::find(n.op);
  if (n.op != "aten.copy_.default") return row && row->lower == ops::Lower::pointwise;
  if (!n.args.at(0).is<Ref>() || !n.args.at(1).is<Ref>()) return false;
  const ir::TensorType &to = type(n.args[0].as<Ref>()), &from = type(n.args[1].as<Ref>());
  return to.dtype == from.dtype && to.sizes == from.sizes && to.device == from.device;
}

void ProgramBuilder::add_call(int u) {
  if (written_at_once_.contains(u)) return;
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const ir::Node& n = loops_.graph->node(loops_.loops[unit.loops[0]].node);
  Step step;
  step.may_fail = !cannot_fail(n);
  step.kind = unit.kind == Loop::Kind::library ? Step::Kind::library : Step::Kind::opaque;
  step.label = unit.label;
  step.node = n;
  ir::each_ref(n, [&](Ref r) { step.buffers.push_back(buffer_for(r)); });
  for (size_t i = 0; i < n.outputs.size(); ++i)
    step.outs.push_back(new_buffer({n.id, static_cast<int32_t>(i)}));
  if (step.kind == Step::Kind::library) offer_product(unit, step);
  bool allocates = step.kind == Step::Kind::opaque ||
                   (step.kind == Step::Kind::library && n.op.find("convolution") != std::string::npos);
  for (int32_t b : step.outs)
    if (allocates) program_.buffers[static_cast<size_t>(b)].kind = BufferKind::foreign;
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
  if (step.node.type().device.is_cuda()) return offer_algorithms(step, chosen);
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
  if (!chosen || step.instead.empty()) return;
  Alternative only = std::move(step.instead.front());
  step.instead.clear();
  step.kind = Step::Kind::kernel;
  step.kernel = only.kernel;
  step.buffers = std::move(only.buffers);
  step.numbers = std::move(only.numbers);
  step.may_fail = false;
}

// A GPU's product is a library's call: PyTorch's, or one of cuBLASLt's algorithms.
void ProgramBuilder::offer_algorithms(Step& step, int32_t chosen) const {
  if (!is_gpu_product(step.node)) return;
  const auto candidates = product_candidates();
  if (chosen) step.algorithm = candidates[static_cast<size_t>(chosen)].algorithm;
  if (!options_.products.offered || !options_.products.on_gpu) return;
  for (size_t i = 1; i < candidates.size(); ++i)
    if (candidates[i].algorithm > 0)
      step.instead.push_back({static_cast<int32_t>(i), -1, "", step.buffers, {}});
}

// Both in one kernel; step: the follower's, with its buffers.
std::optional<Alternative> ProgramBuilder::with_product(size_t product, const cpp::Schedule& schedule,
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

// While products are measured: the follower's kernel carries the alternative of both in one.
void ProgramBuilder::offer_with_product(int u, const cpp::Schedule& schedule, Step& step) {
  const ProductOptions& how = options_.products;
  auto product = how.offered ? followed_product(loops_, fused_, static_cast<size_t>(u)) : std::nullopt;
  if (!product) return;
  const Kernel kernel = program_.kernels.back();
  const auto count = static_cast<int32_t>(product_candidates().size());
  for (int32_t candidate = 1; candidate < count && step.instead.empty(); ++candidate) {
    if (how.only && candidate != how.only) continue;
    if (auto made = with_product(*product, schedule, step, kernel, candidate))
      step.instead.push_back(std::move(*made));
  }
  step.node = loops_.graph->node(loops_.loops[*product].node);
}

void ProgramBuilder::compute_with_product(int u, const cpp::Schedule& schedule, Step& step) {
  const fusion::Unit& unit = fused_.units[static_cast<size_t>(u)];
  const auto product = static_cast<size_t>(unit.product);
  const ir::Node& n = loops_.graph->node(loops_.loops[product].node);
  const Kernel kernel = std::move(program_.kernels.back());
  program_.kernels.pop_back();
  auto made = with_product(product, schedule, step, kernel, options_.products.choices.at(n.id).candidate);
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
bool ProgramBuilder::same_row(const cpp::Schedule& s, const cpp::Argument& read,
                              const cpp::Argument& written) const {
  if (s.both_ways() || (s.parts > 1 && !s.across)) return false;
  auto is = [&](int argument, const cpp::Argument& a) {
    return argument >= 0 && &s.arguments[static_cast<size_t>(argument)] == &a;
  };
  const cpp::Load* only = nullptr;
  for (const cpp::Load& l : s.loads) {
    if (!is(l.argument, read)) continue;
    if (only || !l.affine() || !l.per_row || l.offset != 0) return false;
    only = &l;
  }
  const cpp::Value* stored = nullptr;
  for (const cpp::Value& v : s.values)
    if (is(v.store, written)) stored = &v;
  return only && stored && stored->per_row && stored->statement->reduce == fusion::Statement::Reduce::none &&
         (stored->phase == static_cast<int>(s.phases.size()) || read_before(s, *only, *stored)) &&
         s.reduces && stored->store_strides == only->strides;
}

// Whether what reads a load of the row is known before the phase of `stored`. Where several threads have a
// row, or several launches, `stored` alone may follow from the load: it is stored once, by one that reads
// first.
bool ProgramBuilder::read_before(const cpp::Schedule& s, const cpp::Load& load,
                                 const cpp::Value& stored) const {
  if (!type(s.arguments[static_cast<size_t>(load.argument)].root).device.is_cpu()) return false;
  std::vector<bool> follows(s.values.size(), false);
  for (size_t i = 0; i < s.values.size(); ++i) {
    const cpp::Value& v = s.values[i];
    bool reads = false;
    for (const cpp::Source& from : v.sources) {
      const auto at = static_cast<size_t>(from.index);
      const bool is_load = from.kind == cpp::Source::Kind::load;
      if (is_load && &s.loads[at] == &load) reads = true;
      if (is_load ? &s.loads[at] == &load : follows[at]) follows[i] = true;
    }
    if (reads && (!v.per_row || v.phase > stored.phase)) return false;
    if (follows[i] && s.parts > 1 && (!v.per_row || (v.store >= 0 && &v != &stored))) return false;
  }
  return true;
}

// Whether the kernel reads each element of `read` before, and only where, it writes that of `written`.
bool ProgramBuilder::same_place(const cpp::Schedule& s, const cpp::Argument& read,
                                const cpp::Argument& written) const {
  if (ir::dtype_bytes(read.dtype) != ir::dtype_bytes(written.dtype) || read.by_value) return false;
  // A kernel of one element reads all before it writes.
  if (!s.reduces && s.row_count() * s.columns() == 1 && type(read.root).numel() == 1) return true;
  if (type(read.root).bytes() != type(written.root).bytes()) return false;
  if (same_row(s, read, written)) return true;
  if (written.first_store < 0 || read.last_read < 0 || read.last_read > written.first_store) return false;
  if (type(read.root).numel() == 1 && read.dtype == written.dtype) return true;
  const cpp::Load* only = nullptr;
  for (const cpp::Load& l : s.loads) {
    if (l.argument < 0 || &s.arguments[static_cast<size_t>(l.argument)] != &read) continue;
    if (only || !l.affine()) return false;
    only = &l;
  }
  if (!only || only->per_row || only->offset != 0) return false;
  for (const cpp::Value& v : s.values)
    if (v.store >= 0 && &s.arguments[static_cast<size_t>(v.store)] == &written)
      return v.store_strides == only->strides;
  return false;
}

// On a GPU and in training what is large is taken from PyTorch's allocator when it is written and given back
// after its last use, as eager does: an arena would hold memory from the first step to the last.
bool ProgramBuilder::has_own_memory(const Buffer& buffer) const {
  constexpr int64_t kLarge = int64_t{1} << 20, kLargeOnCpu = int64_t{1} << 16;
  return buffer.type.device.is_cuda() ? buffer.type.bytes() >= kLarge
                                      : options_.gives_back && buffer.type.bytes() >= kLargeOnCpu;
}

// A value that is read for the last time gives its memory to one that is written at the same places.
void ProgramBuilder::reuse_in_place(int u, const cpp::Schedule& schedule, const Step& step) {
  std::vector<bool> taken(step.buffers.size(), false);
  for (size_t w = 0; w < schedule.arguments.size(); ++w) {
    if (!schedule.arguments[w].written) continue;
    if (options_.own_results &&
        program_.buffers[static_cast<size_t>(step.buffers[w])].kind == BufferKind::output)
      continue;
    for (size_t r = 0; r < schedule.arguments.size(); ++r) {
      const cpp::Argument& read = schedule.arguments[r];
      if (read.written || taken[r]) continue;
      if (program_.buffers[static_cast<size_t>(step.buffers[w])].kind == BufferKind::input) continue;
      const Buffer& source = program_.buffers[static_cast<size_t>(step.buffers[r])];
      if (source.kind != BufferKind::temporary) continue;
      // One tensor then shows what the other held.
      if (has_own_memory(source) && read.dtype != schedule.arguments[w].dtype) continue;
      auto last = last_unit_.find(key(read.root));
      if (last == last_unit_.end() || last->second != u ||
          keeps_own_.contains(key(schedule.arguments[w].root)))
        continue;
      if (!same_place(schedule, read, schedule.arguments[w])) continue;
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
    ir::each_ref(r, [&](Ref ref) { touch(buffer_of_.at(key(ref)), steps); });
  // One arena on the device of most of the work, and one for numbers that the CPU computes beside a GPU: what
  // else is needed is allocated call by call.
  ir::Device arena;
  for (const Buffer& row : program_.buffers)
    if (row.kind == BufferKind::temporary && row.type.device.is_cuda()) arena = row.type.device;
  program_.arena_bytes = plan_arena(arena);
  if (arena.is_cuda()) program_.host_bytes = plan_arena({});
}

// Places for what lives on the device between two steps; how many bytes it takes.
int64_t ProgramBuilder::plan_arena(ir::Device arena) {
  std::vector<fusion::Lifetime> lifetimes;
  std::vector<int32_t> owner;
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& row = program_.buffers[b];
    if (row.kind != BufferKind::temporary || row.view_of >= 0 || shares_with_[b] >= 0) continue;
    if (row.type.device != arena || has_own_memory(row)) continue;
    lifetimes.push_back({row.type.bytes(), row.first_step, row.last_step});
    owner.push_back(static_cast<int32_t>(b));
  }
  const int64_t bytes = fusion::plan_arena(lifetimes);
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
