// Opcodes of CPython 3.12 as rows.
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000

#include <opcode.h>

#include "core/capture/cpython/bytecode_intrinsics.h"
#include "core/capture/cpython/bytecode_shared.h"

namespace vitrine::capture {
namespace {

// Whatever is named neither here nor in kSharedRows is Op::Unsupported. KW_NAMES and CALL are joined by the
// decoder; END_FOR and END_SEND are stepped over by the instructions before them.
constexpr OpcodeRow kRows[] = {
    {LOAD_CLOSURE, Op::LoadClosure},
    {FORMAT_VALUE, Op::Format, OpcodeShape::Formats},
    {LOAD_FAST_CHECK, Op::LoadFast},
    {LOAD_FAST_AND_CLEAR, Op::LoadFastAndClear},
    {LOAD_ATTR, Op::LoadAttr, OpcodeShape::Shifted},
    {LOAD_SUPER_ATTR, Op::LoadSuperAttr, OpcodeShape::Supers},
    {COMPARE_OP, Op::Compare, OpcodeShape::Compares},
    {BINARY_SLICE, Op::LoadSlice},
    {STORE_SLICE, Op::StoreSlice},
    {FOR_ITER, Op::ForIter, OpcodeShape::Loops},
    {END_FOR, Op::End},
    {END_SEND, Op::End},
    {POP_JUMP_IF_FALSE, Op::PopJumpIfFalse, OpcodeShape::Forward},
    {POP_JUMP_IF_TRUE, Op::PopJumpIfTrue, OpcodeShape::Forward},
    {POP_JUMP_IF_NONE, Op::PopJumpIfNone, OpcodeShape::Forward},
    {POP_JUMP_IF_NOT_NONE, Op::PopJumpIfNotNone, OpcodeShape::Forward},
    {RETURN_CONST, Op::ReturnConst},
    {LOAD_LOCALS, Op::Name},
    {LOAD_FROM_DICT_OR_DEREF, Op::Name},
    {LOAD_FROM_DICT_OR_GLOBALS, Op::Name},
    {SEND, Op::Send, OpcodeShape::Sends},
    {CLEANUP_THROW, Op::Generator},
};

constexpr OpcodeTable kTable = by_opcode(kSharedRows, kRows);

// [KW_NAMES] CALL: one instruction, since the keyword names live in CPython's own C frame in between.
Instruction read_call(const uint8_t* code, int size, CodeUnit unit) {
  Instruction out{.pc = unit.pc, .at = unit.at, .next_pc = unit.next};
  if (unit.opcode == KW_NAMES) {
    if (unit.next >= size) return out;
    const int32_t names = unit.arg;
    unit = read_unit(code, size, unit.next);
    if (unit.opcode != CALL) return out;
    out.aux = names;
  }
  out.op = Op::Call;
  out.arg = unit.arg;
  out.at = unit.at;
  out.next_pc = unit.next;
  return out;
}

Instruction read_instruction(const uint8_t* code, int size, const CodeUnit& unit) {
  if (unit.opcode == KW_NAMES || unit.opcode == CALL) return read_call(code, size, unit);
  if (unit.opcode == CALL_INTRINSIC_1) return read_intrinsic(unit);
  Instruction in = read_plain(kTable, unit);
  // A method is an attribute with a place for self below it.
  if (in.op == Op::LoadAttr && in.flag) in.op = Op::LoadMethod, in.flag = false;
  const bool lands = (in.op != Op::ForIter || lands_behind(code, size, in, END_FOR)) &&
                     (in.op != Op::Send || lands_behind(code, size, in, END_SEND));
  if (!lands) in.op = Op::Unsupported;
  return in;
}

}  // namespace

std::vector<Instruction> decode(const uint8_t* code, int size) {
  std::vector<Instruction> out;
  for (int pc = 0; pc < size; pc = out.back().next_pc)
    out.push_back(read_instruction(code, size, read_unit(code, size, pc)));
  return out;
}

}  // namespace vitrine::capture

#endif
