// Opcodes of CPython 3.11 as rows.
#include "core/capture/bytecode.h"
#include "core/capture/cpython.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

#include "core/capture/bytecode_rows.h"

namespace vitrine::capture {
namespace {

// Whatever is not named here is Op::Unsupported. PRECALL, CALL and KW_NAMES are joined by the decoder.
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
    {STORE_FAST, Op::StoreFast},
    {DELETE_FAST, Op::DeleteFast},
    {LOAD_CLOSURE, Op::LoadClosure},
    {LOAD_DEREF, Op::LoadDeref},
    {STORE_DEREF, Op::StoreDeref},
    {DELETE_DEREF, Op::DeleteDeref},
    {LOAD_GLOBAL, Op::LoadGlobal, Shape::Shifted},
    {STORE_GLOBAL, Op::StoreGlobal},
    {DELETE_GLOBAL, Op::DeleteGlobal},
    {LOAD_ATTR, Op::LoadAttr},
    {LOAD_METHOD, Op::LoadMethod},
    {STORE_ATTR, Op::StoreAttr},
    {DELETE_ATTR, Op::DeleteAttr},
    {UNARY_POSITIVE, Op::UnaryPositive},
    {UNARY_NEGATIVE, Op::UnaryNegative},
    {UNARY_NOT, Op::UnaryNot},
    {UNARY_INVERT, Op::UnaryInvert},
    {BINARY_OP, Op::Binary},
    {COMPARE_OP, Op::Compare},
    {IS_OP, Op::Is, Shape::Flagged},
    {CONTAINS_OP, Op::Contains, Shape::Flagged},
    {BINARY_SUBSCR, Op::Subscript},
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
    {LIST_TO_TUPLE, Op::ListToTuple},
    {UNPACK_SEQUENCE, Op::UnpackSequence},
    {UNPACK_EX, Op::UnpackEx},
    {FORMAT_VALUE, Op::Format, Shape::Formats},
    {GET_ITER, Op::GetIter},
    {FOR_ITER, Op::ForIter, Shape::Forward},
    {GET_LEN, Op::GetLen},
    {JUMP_FORWARD, Op::Jump, Shape::Forward},
    {JUMP_BACKWARD, Op::Jump, Shape::Backward},
    {POP_JUMP_FORWARD_IF_FALSE, Op::PopJumpIfFalse, Shape::Forward},
    {POP_JUMP_BACKWARD_IF_FALSE, Op::PopJumpIfFalse, Shape::Backward},
    {POP_JUMP_FORWARD_IF_TRUE, Op::PopJumpIfTrue, Shape::Forward},
    {POP_JUMP_BACKWARD_IF_TRUE, Op::PopJumpIfTrue, Shape::Backward},
    {POP_JUMP_FORWARD_IF_NONE, Op::PopJumpIfNone, Shape::Forward},
    {POP_JUMP_BACKWARD_IF_NONE, Op::PopJumpIfNone, Shape::Backward},
    {POP_JUMP_FORWARD_IF_NOT_NONE, Op::PopJumpIfNotNone, Shape::Forward},
    {POP_JUMP_BACKWARD_IF_NOT_NONE, Op::PopJumpIfNotNone, Shape::Backward},
    {JUMP_IF_FALSE_OR_POP, Op::JumpIfFalseOrPop, Shape::Forward},
    {JUMP_IF_TRUE_OR_POP, Op::JumpIfTrueOrPop, Shape::Forward},
    {CALL_FUNCTION_EX, Op::CallEx, Shape::Flagged},
    {MAKE_FUNCTION, Op::MakeFunction},
    {LOAD_BUILD_CLASS, Op::LoadBuildClass},
    {LOAD_ASSERTION_ERROR, Op::LoadAssertionError},
    {IMPORT_NAME, Op::ImportName},
    {IMPORT_FROM, Op::ImportFrom},
    {BEFORE_WITH, Op::BeforeWith},
    {RETURN_VALUE, Op::ReturnValue},
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
    {LOAD_CLASSDEREF, Op::Name},
    {SETUP_ANNOTATIONS, Op::Name},
    {IMPORT_STAR, Op::Name},
    {RETURN_GENERATOR, Op::ReturnGenerator},
    {YIELD_VALUE, Op::Yield},
    {SEND, Op::Send, Shape::Forward},
    {GET_YIELD_FROM_ITER, Op::YieldFromIter},
    {GET_AWAITABLE, Op::Generator},
    {GET_AITER, Op::Generator},
    {GET_ANEXT, Op::Generator},
    {BEFORE_ASYNC_WITH, Op::Generator},
    {END_ASYNC_FOR, Op::Generator},
    {ASYNC_GEN_WRAP, Op::Generator},
    {JUMP_BACKWARD_NO_INTERRUPT, Op::Jump, Shape::Backward},
};

constexpr Table kTable = by_opcode(kRows);

// [KW_NAMES] PRECALL CALL: one instruction, since the keyword names live in CPython's own C frame in between.
Instruction read_call(const uint8_t* code, int size, Unit unit) {
  Instruction out{.pc = unit.pc, .at = unit.at, .next_pc = unit.next};
  if (unit.opcode == KW_NAMES) {
    out.aux = unit.arg;
    unit = read_unit(code, size, unit.next);
  }
  if (unit.opcode != PRECALL || unit.next >= size) return out;
  const Unit call = read_unit(code, size, unit.next);
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
    const Unit unit = read_unit(code, size, pc);
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
