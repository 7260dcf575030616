#include "core/codegen/schedule/naming.h"

namespace vitrine::codegen {

namespace {
constexpr size_t kNamedOperators = 3;
}

std::string kernel_name(const fusion::LoopProgram& program, const fusion::Unit& unit) {
  std::string out, last;
  size_t n = 0;
  for (size_t l : unit.loops) {
    const ir::Node& node = program.graph->node(program.loops[l].node);
    const std::string& whole = node.origin.op;
    std::string name = ir::short_op(whole.empty() ? node.op : whole);
    // The parts of one written-out operator count once.
    if (!whole.empty() && name == last) continue;
    last = name;
    if (++n <= kNamedOperators) out += (out.empty() ? "" : "_") + name;
  }
  return n > kNamedOperators ? out + "_etc" : out;
}

}  // namespace vitrine::codegen
