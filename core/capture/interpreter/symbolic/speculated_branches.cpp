// Branches on a tensor's value one side of which only raises (assert, argument checks of
// torch.distributions). The graph has the check, and the program is taken to go on. A call in which the check
// fails is eager's from the segment's begin on.
#include <unordered_set>

#include "core/capture/interpreter/machine/instructions.h"
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

}  // namespace

// Whether v is true, where the instruction jumps if that is `jumps_if`.
bool Tracer::branches(VirtualFrame& f, const Instruction& in, Value* v, bool jumps_if) {
  const Value* tensor = resolve(v);
  if (tensor->kind == Kind::Lazy && torch_api::is_tensor(tensor->obj)) tensor = look(v);
  const bool may = tensor->kind == Kind::Tensor && options_.speculates && pure_since_ < 0 &&
                   (options_.checks_behind_writes || !lowering_->effects().writes_inputs);
  if (!may || known_number(look(v), "__bool__")) return truth(v);
  const bool raises_there = always_raises(*f.bytecode, f.bytecode->index_of(in.target));
  const bool raises_here = always_raises(*f.bytecode, f.position + 1);
  if (raises_there == raises_here) return truth(v);
  const bool expected = raises_here == jumps_if;
  return speculate(look(v), expected) ? expected : truth(v);
}

// false: it has no place in a graph.
bool Tracer::speculate(Value* tensor, bool expected) {
  const ir::TensorType type = torch_api::type_of(tensor->obj);
  if (!may_check(type) || type.numel() != 1 || ir::is_complex(type.dtype)) return false;
  Value* holds = type.dtype == ir::DType::b1 ? tensor : look(compare(Py_NE, tensor, integer(0)));
  if (!expected) holds = look(tensor_method(holds, "logical_not", nullptr, {}));
  if (!type.sizes.empty()) holds = look(tensor_method(holds, "all", nullptr, {}));
  behind_writes_ = behind_writes_ || lowering_->effects().writes_inputs;
  check(holds, kSpeculated);
  speculated_ = true;
  return true;
}

// A CUDA Graph would have to stop in the middle.
bool Tracer::may_check(const ir::TensorType& type) const {
  return type.device.is_cpu() || options_.checks_on_gpu;
}

// On the CPU, wherever the tensor is: a check that fails on a GPU would end the process's use of it. Eager
// waits for the GPU at the same place.
void Tracer::check(Value* holds, const char* message) {
  if (!torch_api::type_of(holds->obj).device.is_cpu()) holds = look(tensor_method(holds, "cpu", nullptr, {}));
  Arguments given{{holds}, {}};
  if (message) given.positional.push_back(text(message));
  torch_call("torch._assert_async", find_object("torch._assert_async"), given);
}

}  // namespace vitrine::capture
