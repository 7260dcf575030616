// Opcodes of CPython 3.13 as rows.
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000

#include <opcode.h>

#include "core/capture/cpython/bytecode_intrinsics.h"
#include "core/capture/cpython/bytecode_shared.h"

namespace vitrine::capture {
namespace {

// Whatever is named neither here nor in kSharedRows is Op::Unsupported. END_FOR, the POP_TOP behind it and
// END_SEND are stepped over by the instructions before them.
constexpr OpcodeRow kRows[] = {
    {LOAD_FAST_CHECK, Op::LoadFast},
    {LOAD_FAST_AND_CLEAR, Op::LoadFastAndClear},
    {LOAD_FAST_LOAD_FAST, Op::LoadFastLoadFast, OpcodeShape::Pairs},
    {STORE_FAST_LOAD_FAST, Op::StoreFastLoadFast, OpcodeShape::Pairs},
    {STORE_FAST_STORE_FAST, Op::StoreFastStoreFast, OpcodeShape::Pairs},
    {LOAD_ATTR, Op::LoadAttr, OpcodeShape::Shifted},
    {LOAD_SUPER_ATTR, Op::LoadSuperAttr, OpcodeShape::Supers},
    {TO_BOOL, Op::ToBool},
    {COMPARE_OP, Op::Compare, OpcodeShape::Truths},
    {BINARY_SLICE, Op::LoadSlice},
    {STORE_SLICE, Op::StoreSlice},
    {CONVERT_VALUE, Op::Convert},
    {FORMAT_SIMPLE, Op::Format},
    {FORMAT_WITH_SPEC, Op::Format},
    {FOR_ITER, Op::ForIter, OpcodeShape::LoopsFar},
    {END_FOR, Op::End},
    {END_SEND, Op::End},
    {POP_JUMP_IF_FALSE, Op::PopJumpIfFalse, OpcodeShape::Forward},
    {POP_JUMP_IF_TRUE, Op::PopJumpIfTrue, OpcodeShape::Forward},
    {POP_JUMP_IF_NONE, Op::PopJumpIfNone, OpcodeShape::Forward},
    {POP_JUMP_IF_NOT_NONE, Op::PopJumpIfNotNone, OpcodeShape::Forward},
    {CALL, Op::Call},
    {CALL_KW, Op::CallKw},
    {SET_FUNCTION_ATTRIBUTE, Op::SetFunctionAttribute},
    {RETURN_CONST, Op::ReturnConst},
    {LOAD_LOCALS, Op::Name},
    {LOAD_FROM_DICT_OR_DEREF, Op::Name},
    {LOAD_FROM_DICT_OR_GLOBALS, Op::Name},
    {SEND, Op::Send, OpcodeShape::Sends},
    {CLEANUP_THROW, Op::Generator},
};

constexpr OpcodeTable kTable = by_opcode(kSharedRows, kRows);

bool lands(const uint8_t* code, int size, const Instruction& in) {
  if (in.op == Op::ForIter)
    return lands_behind(code, size, in, POP_TOP) && in.target >= 4 && code[in.target - 4] == END_FOR;
  return in.op != Op::Send || lands_behind(code, size, in, END_SEND);
}

Instruction read_instruction(const uint8_t* code, int size, const CodeUnit& unit) {
  if (unit.opcode == CALL_INTRINSIC_1) return read_intrinsic(unit);
  Instruction in = read_plain(kTable, unit);
  // A method is an attribute with a place for self above it.
  if (in.op == Op::LoadAttr && in.flag) in.op = Op::LoadMethod, in.flag = false;
  if (in.op == Op::Format) in.arg = 0, in.flag = unit.opcode == FORMAT_WITH_SPEC;
  if (in.op == Op::MakeFunction) in.arg = 0;  // what it needs besides is set behind it
  if (!lands(code, size, in)) in.op = Op::Unsupported;
  return in;
}

// A comparison that gives a bool is two instructions here, as in older CPythons: a graph has the comparison,
// and ends in front of the question. The second one stands in the cache of the first. CPython cannot go on
// from there (Machine::complete).
void split_comparison(std::vector<Instruction>& out) {
  Instruction& compare = out.back();
  if (compare.op != Op::Compare || !compare.flag || compare.next_pc < compare.at + 4) return;
  Instruction asks = compare;
  asks.op = Op::ToBool, asks.flag = false, asks.arg = 0;
  asks.pc = compare.next_pc = compare.at + 2;
  compare.flag = false;
  out.push_back(asks);
}

}  // namespace

std::vector<Instruction> decode(const uint8_t* code, int size) {
  std::vector<Instruction> out;
  for (int pc = 0; pc < size; pc = out.back().next_pc) {
    out.push_back(read_instruction(code, size, read_unit(code, size, pc)));
    split_comparison(out);
  }
  return out;
}

}  // namespace vitrine::capture

#endif
