// Opcodes of CPython 3.12 as rows.
#include "core/capture/bytecode.h"
#include "core/capture/cpython.h"

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000

#include <internal/pycore_intrinsics.h>
#include <opcode.h>

#include "core/capture/bytecode_rows.h"

namespace vitrine::capture {
namespace {

// Whatever is not named here is Op::Unsupported. KW_NAMES and CALL are joined by the decoder; END_FOR
// and END_SEND are stepped over by the instructions before them.
constexpr Row kRows[] = {
    {NOP, Op::Nop},
    {RESUME, Op::Resume},
    {MAKE_CELL, Op::MakeCell},
    {COPY_FREE_VARS, Op::CopyFreeVars},
    {POP_TOP, Op::PopTop},
    {PUSH_NULL, Op::PushNull},
    {COPY, Op::Copy},
    {SWAP, Op::Swap},
    {LOAD_CONST, Op::LoadConst},
    {LOAD_FAST, Op::LoadFast},
    {LOAD_FAST_CHECK, Op::LoadFast},
    {LOAD_FAST_AND_CLEAR, Op::LoadFastAndClear},
    {STORE_FAST, Op::StoreFast},
    {DELETE_FAST, Op::DeleteFast},
    {LOAD_CLOSURE, Op::LoadClosure},
    {LOAD_DEREF, Op::LoadDeref},
    {STORE_DEREF, Op::StoreDeref},
    {DELETE_DEREF, Op::DeleteDeref},
    {LOAD_GLOBAL, Op::LoadGlobal, Shape::Shifted},
    {STORE_GLOBAL, Op::StoreGlobal},
    {DELETE_GLOBAL, Op::DeleteGlobal},
    {LOAD_ATTR, Op::LoadAttr, Shape::Shifted},
    {LOAD_SUPER_ATTR, Op::LoadSuperAttr, Shape::Supers},
    {STORE_ATTR, Op::StoreAttr},
    {DELETE_ATTR, Op::DeleteAttr},
    {UNARY_NEGATIVE, Op::UnaryNegative},
    {UNARY_NOT, Op::UnaryNot},
    {UNARY_INVERT, Op::UnaryInvert},
    {BINARY_OP, Op::Binary},
    {COMPARE_OP, Op::Compare, Shape::Compares},
    {IS_OP, Op::Is, Shape::Flagged},
    {CONTAINS_OP, Op::Contains, Shape::Flagged},
    {BINARY_SUBSCR, Op::Subscript},
    {BINARY_SLICE, Op::LoadSlice},
    {STORE_SLICE, Op::StoreSlice},
    {STORE_SUBSCR, Op::StoreSubscript},
    {DELETE_SUBSCR, Op::DeleteSubscript},
    {BUILD_TUPLE, Op::BuildTuple},
    {BUILD_LIST, Op::BuildList},
    {BUILD_SET, Op::BuildSet},
    {BUILD_MAP, Op::BuildMap},
    {BUILD_CONST_KEY_MAP, Op::BuildConstKeyMap},
    {BUILD_STRING, Op::BuildString},
    {BUILD_SLICE, Op::BuildSlice},
    {LIST_APPEND, Op::ListAppend},
    {SET_ADD, Op::SetAdd},
    {MAP_ADD, Op::MapAdd},
    {LIST_EXTEND, Op::ListExtend},
    {SET_UPDATE, Op::SetUpdate},
    {DICT_UPDATE, Op::DictUpdate},
    {DICT_MERGE, Op::DictMerge},
    {UNPACK_SEQUENCE, Op::UnpackSequence},
    {UNPACK_EX, Op::UnpackEx},
    {FORMAT_VALUE, Op::Format, Shape::Formats},
    {GET_ITER, Op::GetIter},
    {FOR_ITER, Op::ForIter, Shape::Loops},
    {END_FOR, Op::End},
    {END_SEND, Op::End},
    {GET_LEN, Op::GetLen},
    {JUMP_FORWARD, Op::Jump, Shape::Forward},
    {JUMP_BACKWARD, Op::Jump, Shape::Backward},
    {POP_JUMP_IF_FALSE, Op::PopJumpIfFalse, Shape::Forward},
    {POP_JUMP_IF_TRUE, Op::PopJumpIfTrue, Shape::Forward},
    {POP_JUMP_IF_NONE, Op::PopJumpIfNone, Shape::Forward},
    {POP_JUMP_IF_NOT_NONE, Op::PopJumpIfNotNone, Shape::Forward},
    {CALL_FUNCTION_EX, Op::CallEx, Shape::Flagged},
    {MAKE_FUNCTION, Op::MakeFunction},
    {LOAD_BUILD_CLASS, Op::LoadBuildClass},
    {LOAD_ASSERTION_ERROR, Op::LoadAssertionError},
    {IMPORT_NAME, Op::ImportName},
    {IMPORT_FROM, Op::ImportFrom},
    {BEFORE_WITH, Op::BeforeWith},
    {RETURN_VALUE, Op::ReturnValue},
    {RETURN_CONST, Op::ReturnConst},
    {MATCH_MAPPING, Op::MatchMapping},
    {MATCH_SEQUENCE, Op::MatchSequence},
    {MATCH_KEYS, Op::MatchKeys},
    {MATCH_CLASS, Op::MatchClass},
    {RAISE_VARARGS, Op::Raise},
    {RERAISE, Op::Reraise},
    {PUSH_EXC_INFO, Op::PushExcInfo},
    {POP_EXCEPT, Op::PopExcept},
    {CHECK_EXC_MATCH, Op::CheckExcMatch},
    {WITH_EXCEPT_START, Op::WithExceptStart},
    {LOAD_NAME, Op::Name},
    {STORE_NAME, Op::Name},
    {DELETE_NAME, Op::Name},
    {LOAD_LOCALS, Op::Name},
    {LOAD_FROM_DICT_OR_DEREF, Op::Name},
    {LOAD_FROM_DICT_OR_GLOBALS, Op::Name},
    {SETUP_ANNOTATIONS, Op::Name},
    {RETURN_GENERATOR, Op::ReturnGenerator},
    {YIELD_VALUE, Op::Yield},
    {SEND, Op::Send, Shape::Sends},
    {GET_YIELD_FROM_ITER, Op::YieldFromIter},
    {GET_AWAITABLE, Op::Generator},
    {GET_AITER, Op::Generator},
    {GET_ANEXT, Op::Generator},
    {BEFORE_ASYNC_WITH, Op::Generator},
    {CLEANUP_THROW, Op::Generator},
    {END_ASYNC_FOR, Op::Generator},
    {JUMP_BACKWARD_NO_INTERRUPT, Op::Jump, Shape::Backward},
};

constexpr Table kTable = by_opcode(kRows);

// The functions of CALL_INTRINSIC_1 by number; the others are Op::Unsupported.
constexpr Row kIntrinsics[] = {
    {INTRINSIC_IMPORT_STAR, Op::Name},          {INTRINSIC_STOPITERATION_ERROR, Op::StopIterationError},
    {INTRINSIC_ASYNC_GEN_WRAP, Op::Generator},  {INTRINSIC_UNARY_POSITIVE, Op::UnaryPositive},
    {INTRINSIC_LIST_TO_TUPLE, Op::ListToTuple},
};

constexpr Table kIntrinsicTable = by_opcode(kIntrinsics);

Instruction read_intrinsic(Unit unit) {
  unit.opcode = static_cast<uint8_t>(unit.arg);
  return read_plain(kIntrinsicTable, unit);
}

// [KW_NAMES] CALL: one instruction, since the keyword names live in CPython's own C frame in between.
Instruction read_call(const uint8_t* code, int size, Unit unit) {
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

// Both loops and delegation land behind an instruction that is always there.
bool lands_behind(const uint8_t* code, int size, const Instruction& in, uint8_t opcode) {
  return in.target - 2 >= 0 && in.target <= size && code[in.target - 2] == opcode;
}

Instruction read_instruction(const uint8_t* code, int size, const Unit& unit) {
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
