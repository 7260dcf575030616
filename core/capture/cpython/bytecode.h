// The instructions of a code object, the same for every CPython version: quickening undone, caches skipped,
// EXTENDED_ARG folded, a call one instruction. What both interpreters, the symbolic and the concrete, run on.
// The mapping from a version's own opcodes is a table in bytecode_<version>.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

struct _object;

namespace vitrine::capture {

// One row an operation: enumerator, name for people, and what arg, aux and flag mean.
// s[i] is the value stack, s[-1] its top. The NULL of a callable stands below it, from CPython 3.13 on above
// it.
// clang-format off
#define VITRINE_OPS(X) \
  X(Unsupported, "unsupported") /* unknown to both interpreters */ \
  X(Nop, "NOP") \
  X(Resume, "RESUME") /* arg: 0 function start, 1.. after yield, await */ \
  X(MakeCell, "MAKE_CELL") /* arg: slot */ \
  X(CopyFreeVars, "COPY_FREE_VARS") /* arg: how many */ \
  X(PopTop, "POP_TOP") \
  X(PushNull, "PUSH_NULL") \
  X(Copy, "COPY") /* arg: i, pushes s[-i] */ \
  X(Swap, "SWAP") /* arg: i, exchanges s[-1] and s[-i] */ \
  X(LoadConst, "LOAD_CONST") /* arg: in co_consts */ \
  X(LoadFast, "LOAD_FAST") /* arg: slot */ \
  X(LoadFastAndClear, "LOAD_FAST_AND_CLEAR") /* arg: slot; pushes what was there or NULL */ \
  X(StoreFast, "STORE_FAST") /* arg: slot */ \
  X(LoadFastLoadFast, "LOAD_FAST_LOAD_FAST") /* arg, aux: slots, in order */ \
  X(StoreFastLoadFast, "STORE_FAST_LOAD_FAST") /* arg: slot that is stored; aux: slot that is loaded */ \
  X(StoreFastStoreFast, "STORE_FAST_STORE_FAST") /* arg, aux: slots, in order */ \
  X(DeleteFast, "DELETE_FAST") /* arg: slot */ \
  X(LoadClosure, "LOAD_CLOSURE") /* arg: slot, pushes the cell itself */ \
  X(LoadDeref, "LOAD_DEREF") /* arg: slot */ \
  X(StoreDeref, "STORE_DEREF") /* arg: slot */ \
  X(DeleteDeref, "DELETE_DEREF") /* arg: slot */ \
  X(LoadGlobal, "LOAD_GLOBAL") /* arg: in co_names; flag: pushes NULL too, as a callable has it */ \
  X(StoreGlobal, "STORE_GLOBAL") /* arg: in co_names */ \
  X(DeleteGlobal, "DELETE_GLOBAL") /* arg: in co_names */ \
  X(LoadAttr, "LOAD_ATTR") /* arg: in co_names */ \
  X(LoadMethod, "LOAD_METHOD") /* arg: in co_names; pushes function, self or a callable and NULL */ \
  X(LoadSuperAttr, "LOAD_SUPER_ATTR") /* arg: in co_names; super, class, self; aux: 1 as its arguments; flag: as LOAD_METHOD */ \
  X(StoreAttr, "STORE_ATTR") /* arg: in co_names; value, object */ \
  X(DeleteAttr, "DELETE_ATTR") /* arg: in co_names */ \
  X(UnaryPositive, "UNARY_POSITIVE") \
  X(UnaryNegative, "UNARY_NEGATIVE") \
  X(UnaryNot, "UNARY_NOT") \
  X(UnaryInvert, "UNARY_INVERT") \
  X(Binary, "BINARY_OP") /* arg: BinaryOperator */ \
  X(ToBool, "TO_BOOL") \
  X(Compare, "COMPARE_OP") /* arg: Py_LT ... Py_GE */ \
  X(Is, "IS_OP") /* flag: is not */ \
  X(Contains, "CONTAINS_OP") /* flag: not in */ \
  X(Subscript, "BINARY_SUBSCR") /* container, key */ \
  X(LoadSlice, "BINARY_SLICE") /* container, start, stop */ \
  X(StoreSlice, "STORE_SLICE") /* value, container, start, stop */ \
  X(StoreSubscript, "STORE_SUBSCR") /* value, container, key */ \
  X(DeleteSubscript, "DELETE_SUBSCR") /* container, key */ \
  X(BuildTuple, "BUILD_TUPLE") /* arg: how many */ \
  X(BuildList, "BUILD_LIST") /* arg: how many */ \
  X(BuildSet, "BUILD_SET") /* arg: how many */ \
  X(BuildMap, "BUILD_MAP") /* arg: pairs; key, value, key, value */ \
  X(BuildConstKeyMap, "BUILD_CONST_KEY_MAP") /* arg: pairs; values, then a tuple of the keys */ \
  X(BuildString, "BUILD_STRING") /* arg: how many */ \
  X(BuildSlice, "BUILD_SLICE") /* arg: 2 or 3 */ \
  X(ListAppend, "LIST_APPEND") /* arg: i, the list is s[-i] after the pop */ \
  X(SetAdd, "SET_ADD") /* arg: i */ \
  X(MapAdd, "MAP_ADD") /* arg: i; key, value */ \
  X(ListExtend, "LIST_EXTEND") /* arg: i */ \
  X(SetUpdate, "SET_UPDATE") /* arg: i */ \
  X(DictUpdate, "DICT_UPDATE") /* arg: i */ \
  X(DictMerge, "DICT_MERGE") /* arg: i; for **kwargs, repeated keys are errors */ \
  X(ListToTuple, "LIST_TO_TUPLE") \
  X(UnpackSequence, "UNPACK_SEQUENCE") /* arg: how many; the first item ends on top */ \
  X(UnpackEx, "UNPACK_EX") /* arg: before the star | after it << 8 */ \
  X(Format, "FORMAT_VALUE") /* arg: 0 none, 1 str, 2 repr, 3 ascii; flag: spec on top */ \
  X(Convert, "CONVERT_VALUE") /* arg: as FORMAT_VALUE's */ \
  X(GetIter, "GET_ITER") \
  X(ForIter, "FOR_ITER") /* target: when exhausted (iterator popped) */ \
  X(End, "END") /* END_FOR, END_SEND: the instruction before has stepped over it */ \
  X(GetLen, "GET_LEN") /* pushes len(s[-1]) */ \
  X(Jump, "JUMP") /* target */ \
  X(PopJumpIfFalse, "POP_JUMP_IF_FALSE") /* target */ \
  X(PopJumpIfTrue, "POP_JUMP_IF_TRUE") /* target */ \
  X(PopJumpIfNone, "POP_JUMP_IF_NONE") /* target */ \
  X(PopJumpIfNotNone, "POP_JUMP_IF_NOT_NONE") /* target */ \
  X(JumpIfFalseOrPop, "JUMP_IF_FALSE_OR_POP") /* target */ \
  X(JumpIfTrueOrPop, "JUMP_IF_TRUE_OR_POP") /* target */ \
  X(Call, "CALL") /* arg: n; aux: names in co_consts or -1; function, self | a callable and NULL; args */ \
  X(CallKw, "CALL_KW") /* as CALL, with the tuple of names on top */ \
  X(CallEx, "CALL_FUNCTION_EX") /* flag: kwargs dict on top; a callable and NULL, args */ \
  X(MakeFunction, "MAKE_FUNCTION") /* arg: 1 defaults 2 kwdefaults 4 annotations 8 closure; code on top */ \
  X(SetFunctionAttribute, "SET_FUNCTION_ATTRIBUTE") /* arg: one of these bits; value, function */ \
  X(LoadBuildClass, "LOAD_BUILD_CLASS") \
  X(LoadAssertionError, "LOAD_ASSERTION_ERROR") \
  X(ImportName, "IMPORT_NAME") /* arg: in co_names; level, fromlist */ \
  X(ImportFrom, "IMPORT_FROM") /* arg: in co_names; module stays */ \
  X(BeforeWith, "BEFORE_WITH") /* manager becomes __exit__, result of __enter__ */ \
  X(ReturnValue, "RETURN_VALUE") \
  X(ReturnConst, "RETURN_CONST") /* arg: in co_consts */ \
  X(MatchMapping, "MATCH_MAPPING") /* pushes bool */ \
  X(MatchSequence, "MATCH_SEQUENCE") /* pushes bool */ \
  X(MatchKeys, "MATCH_KEYS") \
  X(MatchClass, "MATCH_CLASS") /* arg */ \
  X(Raise, "RAISE_VARARGS") /* arg: 0 re-raise, 1 exception, 2 exception and cause */ \
  X(Reraise, "RERAISE") \
  X(PushExcInfo, "PUSH_EXC_INFO") \
  X(PopExcept, "POP_EXCEPT") \
  X(CheckExcMatch, "CHECK_EXC_MATCH") \
  X(StopIterationError, "STOPITERATION_ERROR") /* StopIteration on top becomes a RuntimeError */ \
  X(WithExceptStart, "WITH_EXCEPT_START") \
  X(Name, "NAME") /* LOAD_NAME and the like: class bodies, modules */ \
  X(ReturnGenerator, "RETURN_GENERATOR") \
  X(Yield, "YIELD_VALUE") \
  X(YieldFromIter, "GET_YIELD_FROM_ITER") \
  X(Send, "SEND") /* target: when the receiver has returned; receiver, value */ \
  X(Generator, "GENERATOR") /* await, async for, async with */
// clang-format on

enum class Op : uint8_t {
#define X(name, text) name,
  VITRINE_OPS(X)
#undef X
      Count
};
std::string_view op_name(Op op);

// CPython's own numbers (the same from 3.11 on).
enum class BinaryOperator : uint8_t {
  Add,
  And,
  FloorDivide,
  LeftShift,
  MatrixMultiply,
  Multiply,
  Remainder,
  Or,
  Power,
  RightShift,
  Subtract,
  TrueDivide,
  Xor,
  Count
};
// The arg of Op::Binary: the operator, and whether it is the in-place form.
constexpr BinaryOperator binary_operator(int arg) {
  return static_cast<BinaryOperator>(arg % static_cast<int>(BinaryOperator::Count));
}
constexpr bool binary_in_place(int arg) {
  return arg >= static_cast<int>(BinaryOperator::Count);
}
std::string_view binary_symbol(int arg);   // "+", "+=", ...
std::string_view compare_symbol(int arg);  // "<", ...

struct Instruction {
  Op op = Op::Unsupported;
  bool flag = false;
  bool backward = false;  // its jump goes back: a loop
  int32_t arg = 0;
  int32_t aux = -1;
  int32_t pc = 0;       // where it starts: EXTENDED_ARG, or the keyword names of a call. A legal resume point
                        // but where it lies behind `at`: that is the rest of an instruction
  int32_t at = 0;       // where its opcode stands: what tracebacks show
  int32_t next_pc = 0;  // where the following instruction starts
  int32_t target = -1;  // of its jump
  int32_t handler = -1;        // pc of the exception handler that covers it, or -1
  int32_t handler_depth = 0;   // stack entries kept when that handler is entered
  bool handler_lasti = false;  // the place of the instruction is pushed below the exception
};

struct Position {  // columns are UTF-8 byte offsets from 0; -1 = unknown
  int32_t line = -1, end_line = -1, column = -1, end_column = -1;
};

class Bytecode {
 public:
  // Needs the GIL. `code` must outlive it. Never fails: what cannot be decoded is Op::Unsupported.
  explicit Bytecode(_object* code);
  const std::vector<Instruction>& instructions() const { return instructions_; }
  // Index of the instruction that starts at pc, or -1 (inside one, or outside the code).
  int index_of(int pc) const {
    const auto unit = static_cast<size_t>(pc) / 2;
    return unit < index_.size() ? index_[unit] : -1;
  }
  const Instruction* find(int pc) const {
    const int index = index_of(pc);
    return index < 0 ? nullptr : &instructions_[static_cast<size_t>(index)];
  }
  // First instruction after the prologue (cells, free variables, the function's RESUME), in bytes.
  int body_pc() const { return body_pc_; }
  // A RETURN_VALUE, or a RETURN_CONST when there is none; nullptr: the code never returns.
  const Instruction* some_return() const {
    return return_ < 0 ? nullptr : &instructions_[static_cast<size_t>(return_)];
  }
  Position position(const Instruction& instruction) const;  // needs the GIL at its first call
  _object* code() const { return code_; }
  _object* constant(int index) const;   // borrowed, from co_consts
  _object* name(int index) const;       // borrowed str, from co_names
  _object* local_name(int slot) const;  // borrowed str, of a localsplus slot

 private:
  void find_cells(_object* kinds);
  void find_return();
  void find_handlers(_object* table);
  void read_positions() const;
  _object *code_, *constants_, *names_, *local_names_;
  std::vector<Instruction> instructions_;
  std::vector<int32_t> index_;  // by pc / 2
  int body_pc_ = 0;
  int32_t return_ = -1;
  mutable std::vector<Position> positions_;  // by pc / 2, read when first asked for
};

// What a version's table yields for one code object; pcs in bytes. Implemented in bytecode_<version>.cpp.
std::vector<Instruction> decode(const uint8_t* code, int size);

}  // namespace vitrine::capture
