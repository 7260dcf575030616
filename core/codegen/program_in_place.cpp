// What is copied only to be changed, by a step that is the last to read it, is changed where it lies.
#include "core/codegen/program_builder.h"
#include "core/ops/table.h"

namespace vitrine::codegen {

// Whether the result now lies where what it is copied from does, which nobody reads afterwards.
bool ProgramBuilder::take_over(int u, ir::Ref copied, int32_t result) {
  const fusion::Placement& p = loops_.placement(copied);
  auto last = last_unit_.find(p.root);
  if (!p.type.same(type(p.root)) || last == last_unit_.end() || last->second != u) return false;
  const int32_t source = buffer_for(copied);
  const Buffer &from = program_.buffers[static_cast<size_t>(source)],
               &to = program_.buffers[static_cast<size_t>(result)];
  const bool leaves = options_.own_results && to.kind == Buffer::Kind::output;
  if (from.kind != Buffer::Kind::temporary || !from.type.same(to.type) || leaves ||
      keeps_own_.contains(to.value))
    return false;
  share(source, result);
  return true;
}

// The buffer of the input of which `result` is a changed copy that the input gets back, if nobody reads the
// input as it was from here on; else -1. The unit reads it only to copy it.
int32_t ProgramBuilder::changed_input(int u, ir::Ref copied, ir::Ref result) {
  auto it = destinations_.find(result);
  if (it == destinations_.end() || it->second.last_read > u) return -1;
  const ir::Ref input = it->second.input;
  const fusion::Placement& p = loops_.placement(copied);
  if (p.root != input || !p.type.same(type(input))) return -1;
  written_at_once_.insert(it->second.copy);
  const int32_t buffer = buffer_for(input);
  buffer_of_[result] = buffer;
  program_.value_buffer.emplace_back(result, buffer);
  return buffer;
}

// What PyTorch copies to change the copy by the same kernel, and reads nothing else of. On the CPU: a GPU's
// kernels of this kind are generated.
std::optional<ir::Ref> ProgramBuilder::copied_by(const ir::Node& n) const {
  const ops::OpRow* row = ops::find(n.op);
  if (!row || row->lower != ops::Lower::scatter || row->in_place.empty()) return {};
  if (!n.type().device.is_cpu() || !n.args[0].is<ir::Ref>()) return {};
  const ir::Ref copied = n.args[0].as<ir::Ref>();
  int reads = 0;
  ir::each_ref(
      n, [&](ir::Ref r) { reads += loops_.placement(r).root == loops_.placement(copied).root ? 1 : 0; });
  return reads == 1 ? std::optional(copied) : std::nullopt;
}

// Its result, if what it copies gets that back and may be changed at once; else -1.
int32_t ProgramBuilder::change_input(int u, Step& step) {
  const auto copied = copied_by(step.node);
  const int32_t input = copied ? changed_input(u, *copied, {step.node.id, 0}) : -1;
  if (input >= 0) step.node.op = ops::find(step.node.op)->in_place;
  return input;
}

void ProgramBuilder::change_in_place(int u, Step& step) {
  const auto copied = copied_by(step.node);
  if (copied && take_over(u, *copied, step.outs[0])) step.node.op = ops::find(step.node.op)->in_place;
}

}  // namespace vitrine::codegen
