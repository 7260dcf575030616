// What is copied only to be changed, by a step that is the last to read it, is changed where it lies.
#include <algorithm>
#include <string_view>
#include <utility>

#include "core/codegen/program_builder.h"

namespace vitrine::codegen {

namespace {

// Operators of PyTorch's that change a copy of their first operand, and those that change the operand itself
// by the same kernel.
constexpr std::pair<std::string_view, std::string_view> kInPlace[] = {
    {"aten.index_add.default", "aten.index_add_.default"},
    {"aten.index_put.default", "aten.index_put_.default"},
    {"aten.scatter.src", "aten.scatter_.src"},
    {"aten.scatter.value", "aten.scatter_.value"},
    {"aten.scatter_add.default", "aten.scatter_add_.default"},
};

}  // namespace

// Whether the result now lies where what it is copied from does, which nobody reads afterwards.
bool ProgramBuilder::take_over(int u, ir::Ref copied, int32_t result) {
  const fusion::Placement& p = loops_.placement(copied);
  auto last = last_unit_.find(key(p.root));
  if (p.type != type(p.root) || last == last_unit_.end() || last->second != u) return false;
  const int32_t source = buffer_for(copied);
  const Buffer &from = program_.buffers[static_cast<size_t>(source)],
               &to = program_.buffers[static_cast<size_t>(result)];
  const bool leaves = options_.own_results && to.kind == Buffer::Kind::output;
  if (from.kind != Buffer::Kind::temporary || from.type != to.type || leaves ||
      keeps_own_.contains(key(to.value)))
    return false;
  share(source, result);
  return true;
}

// On the CPU: a GPU's kernels of this kind are generated.
void ProgramBuilder::change_in_place(int u, Step& step) {
  const auto row = std::find_if(std::begin(kInPlace), std::end(kInPlace),
                                [&](const auto& r) { return r.first == step.node.op; });
  if (row == std::end(kInPlace) || !step.node.type().device.is_cpu() || !step.node.args[0].is<ir::Ref>())
    return;
  const ir::Ref copied = step.node.args[0].as<ir::Ref>();
  int reads = 0;
  ir::each_ref(step.node, [&](ir::Ref r) {
    reads += loops_.placement(r).root == loops_.placement(copied).root ? 1 : 0;
  });
  if (reads != 1 || !take_over(u, copied, step.outs[0])) return;
  step.node.op = row->second;
}

}  // namespace vitrine::codegen
