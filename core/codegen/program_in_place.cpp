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

// What PyTorch would change a copy of by the same kernel. On the CPU: a GPU's kernels of this kind are
// generated.
void ProgramBuilder::change_in_place(int u, Step& step) {
  const ops::OpRow* row = ops::find(step.node.op);
  if (!row || row->lower != ops::Lower::scatter || row->in_place.empty()) return;
  if (!step.node.type().device.is_cpu() || !step.node.args[0].is<ir::Ref>()) return;
  const ir::Ref copied = step.node.args[0].as<ir::Ref>();
  int reads = 0;
  ir::each_ref(step.node, [&](ir::Ref r) {
    reads += loops_.placement(r).root == loops_.placement(copied).root ? 1 : 0;
  });
  if (reads != 1 || !take_over(u, copied, step.outs[0])) return;
  step.node.op = row->in_place;
}

}  // namespace vitrine::codegen
