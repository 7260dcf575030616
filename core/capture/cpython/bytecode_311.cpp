// Opcodes of CPython 3.11 as rows.
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

#include "core/capture/cpython/bytecode_shared.h"

namespace vitrine::capture {
namespace {

// Whatever is named neither here nor in kSharedRows is Op::Unsupported. PRECALL, CALL and KW_NAMES are joined
// by the decoder.
constexpr OpcodeRow kRows[] = {
    {LOAD_CLOSURE, Op::LoadClosure},
    {FORMAT_VALUE, Op::Format, OpcodeShape::Formats},
    {LOAD_ATTR, Op::LoadAttr},
    {LOAD_METHOD, Op::LoadMethod},
    {UNARY_POSITIVE, Op::UnaryPositive},
    {COMPARE_OP, Op::Compare},
    {LIST_TO_TUPLE, Op::ListToTuple},
    {FOR_ITER, Op::ForIter, OpcodeShape::Forward},
    {POP_JUMP_FORWARD_IF_FALSE, Op::PopJumpIfFalse, OpcodeShape::Forward},
    {POP_JUMP_BACKWARD_IF_FALSE, Op::PopJumpIfFalse, OpcodeShape::Backward},
    {POP_JUMP_FORWARD_IF_TRUE, Op::PopJumpIfTrue, OpcodeShape::Forward},
    {POP_JUMP_BACKWARD_IF_TRUE, Op::PopJumpIfTrue, OpcodeShape::Backward},
    {POP_JUMP_FORWARD_IF_NONE, Op::PopJumpIfNone, OpcodeShape::Forward},
    {POP_JUMP_BACKWARD_IF_NONE, Op::PopJumpIfNone, OpcodeShape::Backward},
    {POP_JUMP_FORWARD_IF_NOT_NONE, Op::PopJumpIfNotNone, OpcodeShape::Forward},
    {POP_JUMP_BACKWARD_IF_NOT_NONE, Op::PopJumpIfNotNone, OpcodeShape::Backward},
    {JUMP_IF_FALSE_OR_POP, Op::JumpIfFalseOrPop, OpcodeShape::Forward},
    {JUMP_IF_TRUE_OR_POP, Op::JumpIfTrueOrPop, OpcodeShape::Forward},
    {LOAD_CLASSDEREF, Op::Name},
    {IMPORT_STAR, Op::Name},
    {SEND, Op::Send, OpcodeShape::Forward},
    {ASYNC_GEN_WRAP, Op::Generator},
};

constexpr OpcodeTable kTable = by_opcode(kSharedRows, kRows);

// [KW_NAMES] PRECALL CALL: one instruction, since the keyword names live in CPython's own C frame in between.
Instruction read_call(const uint8_t* code, int size, CodeUnit unit) {
  Instruction out{.pc = unit.pc, .at = unit.at, .next_pc = unit.next};
  if (unit.opcode == KW_NAMES) {
    out.aux = unit.arg;
    unit = read_unit(code, size, unit.next);
  }
  if (unit.opcode != PRECALL || unit.next >= size) return out;
  const CodeUnit call = read_unit(code, size, unit.next);
  if (call.opcode != CALL || call.arg != unit.arg) return out;
  out.op = Op::Call;
  out.arg = call.arg;
  out.at = call.at;
  out.next_pc = call.next;
  return out;
}

}  // namespace

std::vector<Instruction> decode(const uint8_t* code, int size) {
  std::vector<Instruction> out;
  for (int pc = 0; pc < size;) {
    const CodeUnit unit = read_unit(code, size, pc);
    if (unit.opcode == KW_NAMES || unit.opcode == PRECALL) {
      out.push_back(read_call(code, size, unit));
    } else {
      out.push_back(read_plain(kTable, unit));
    }
    pc = out.back().next_pc;
  }
  return out;
}

}  // namespace vitrine::capture

#endif
