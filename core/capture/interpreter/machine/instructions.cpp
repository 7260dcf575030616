#include "core/capture/interpreter/machine/instructions.h"

#include <array>

namespace vitrine::capture {
namespace {

Flow refuse(Tracer&, VirtualFrame&, const Instruction& in) {
  if (in.op == Op::Generator) stop("generator", "a generator or coroutine");
  stop("unsupported_instruction", "instruction " + std::string(op_name(in.op)));
}

constexpr auto kHandlers = [] {
  std::array<Handler, static_cast<size_t>(Op::Count)> table{};
  for (Handler& handler : table) handler = refuse;
#define X(name) table[static_cast<size_t>(Op::name)] = run##name;
  VITRINE_TRACE_HANDLERS(X)
#undef X
  table[static_cast<size_t>(Op::Resume)] = runNop;
  return table;
}();

}  // namespace

Flow run_instruction(Tracer& t, VirtualFrame& f, const Instruction& in) {
  return kHandlers[static_cast<size_t>(in.op)](t, f, in);
}

}  // namespace vitrine::capture
