// Branches on a tensor's value one side of which only raises (assert, argument checks of
// torch.distributions). The graph has the check, and the program is taken to go on. A call in which the check
// fails is eager's from the segment's begin on.
#include <unordered_set>

#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/machine/instructions.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/speculated_branches.h"
#include "core/capture/interpreter/types/comparisons.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

namespace {

constexpr size_t kMostInstructions = 200;

// Whether every way from this instruction on ends in an exception, without a loop.
bool always_raises(const Bytecode& bytecode, int first) {
  std::unordered_set<int> seen;
  std::vector<int> open{first};
  while (!open.empty()) {
    int at = open.back();
    open.pop_back();
    for (bool on = true; on; ++at) {
      if (at < 0 || static_cast<size_t>(at) >= bytecode.instructions().size()) return false;
      if (!seen.insert(at).second) break;
      if (seen.size() > kMostInstructions) return false;
      const Instruction& in = bytecode.instructions()[static_cast<size_t>(at)];
      switch (in.op) {
        case Op::Raise:
        case Op::Reraise:
          on = false;
          break;
        case Op::Jump:
          if (in.backward) return false;
          open.push_back(bytecode.index_of(in.target));
          on = false;
          break;
        case Op::PopJumpIfFalse:
        case Op::PopJumpIfTrue:
        case Op::PopJumpIfNone:
        case Op::PopJumpIfNotNone:
        case Op::JumpIfFalseOrPop:
        case Op::JumpIfTrueOrPop:
          if (in.backward) return false;
          open.push_back(bytecode.index_of(in.target));
          break;
        case Op::ReturnValue:
        case Op::ReturnConst:
        case Op::Yield:
        case Op::Send:
        case Op::ForIter:
        case Op::Unsupported:
          return false;
        default:
          break;
      }
    }
  }
  return true;
}

bool may_speculate(Tracer& t) {
  return t.options.speculates && t.pure.since < 0 &&
         (t.options.checks_behind_writes || !t.lowering().effects().writes_inputs);
}

}  // namespace

// Whether v is true, where the jump at that position is taken if that is `jumps_if`.
static bool branches_at(Tracer& t, VirtualFrame& f, int position, Value* v, bool jumps_if) {
  const Instruction& in = f.bytecode->instructions()[static_cast<size_t>(position)];
  const Value* tensor = resolve(v);
  if (tensor->is(ValueKind::Lazy) && torch_api::is_tensor(tensor->obj)) tensor = t.look(v);
  if (!tensor->is(ValueKind::Tensor) || !may_speculate(t) || known_number(t, t.look(v), "__bool__"))
    return truth(t, v);
  const bool raises_there = always_raises(*f.bytecode, f.bytecode->index_of(in.target));
  const bool raises_here = always_raises(*f.bytecode, position + 1);
  if (raises_there == raises_here) return truth(t, v);
  const bool expected = raises_here == jumps_if;
  return speculate(t, t.look(v), expected) ? expected : truth(t, v);
}

bool branches(Tracer& t, VirtualFrame& f, Value* v, bool jumps_if) {
  return branches_at(t, f, f.position, v, jumps_if);
}

bool asked_truth(Tracer& t, VirtualFrame& f, Value* v) {
  const auto& all = f.bytecode->instructions();
  const int next = f.position + 1;
  const Op op = static_cast<size_t>(next) < all.size() ? all[static_cast<size_t>(next)].op : Op::Nop;
  const bool jumps = op == Op::PopJumpIfFalse || op == Op::PopJumpIfTrue;
  return jumps ? branches_at(t, f, next, v, op == Op::PopJumpIfTrue) : truth(t, v);
}

bool speculate(Tracer& t, Value* tensor, bool expected) {
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (!may_speculate(t) || !may_check(t, type) || type.numel() != 1 || ir::is_complex(type.dtype))
    return false;
  Value* holds = type.dtype == ir::DType::b1 ? tensor : t.look(compare(t, Py_NE, tensor, t.integer(0)));
  if (!expected) holds = t.look(tensor_method(t, holds, "logical_not", nullptr, {}));
  if (!type.sizes.empty()) holds = t.look(tensor_method(t, holds, "all", nullptr, {}));
  t.graph.behind_writes = t.graph.behind_writes || t.lowering().effects().writes_inputs;
  check(t, holds, kSpeculated);
  t.graph.speculated = true;
  return true;
}

// A CUDA Graph would have to stop in the middle.
bool may_check(const Tracer& t, const ir::TensorType& type) {
  return type.device.is_cpu() || t.options.checks_on_gpu;
}

// On the CPU, wherever the tensor is: a check that fails on a GPU would end the process's use of it. Eager
// waits for the GPU at the same place.
void check(Tracer& t, Value* holds, const char* message) {
  if (!torch_api::type_of(holds->obj).device.is_cpu())
    holds = t.look(tensor_method(t, holds, "cpu", nullptr, {}));
  Arguments given{{holds}, {}};
  if (message) given.positional.push_back(t.text(message));
  torch_call(t, "torch._assert_async", find_object("torch._assert_async"), given);
}

}  // namespace vitrine::capture
