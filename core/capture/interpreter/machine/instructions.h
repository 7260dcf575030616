// One handler an operation, in one table (instructions.cpp); the handlers themselves are grouped by what they
// do.
#pragma once

#include <string>

#include "core/capture/cpython/call_layout.h"
#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

enum class Flow : uint8_t { Next, Jumped, Return, Yield };

using Handler = Flow (*)(Tracer& t, VirtualFrame& f, const Instruction& in);

// Runs one instruction; the frame's position is moved only by jumps. Throws BreakSignal or RaiseSignal.
Flow run_instruction(Tracer& t, VirtualFrame& f, const Instruction& in);

std::string json_text(const std::string& s);

inline Value* pop(VirtualFrame& f) {
  Value* v = f.stack.back();
  f.stack.pop_back();
  return v;
}
inline Values pop_many(VirtualFrame& f, int n) {
  const size_t first = f.stack.size() - static_cast<size_t>(n);
  Values items;
  for (size_t i = first; i < f.stack.size(); ++i) items.push_back(f.stack[i]);
  f.stack.resize(first);
  return items;
}
inline void push(VirtualFrame& f, Value* v) {
  f.stack.push_back(v);
}
// A callable without a self beside it.
inline void push_callable(VirtualFrame& f, Value* v) {
  f.stack.push_back(kNullFollows ? v : nullptr);
  f.stack.push_back(kNullFollows ? nullptr : v);
}
inline Value*& peek(VirtualFrame& f, int from_top) {
  return f.stack[f.stack.size() - static_cast<size_t>(from_top)];
}
inline std::string name_of(VirtualFrame& f, int index) {
  return text_of(f.bytecode->name(index));
}

// Handlers by file: the stack and names; building values; control flow; calls, with, import, exceptions.
// clang-format off
#define VITRINE_TRACE_HANDLERS(X) \
  X(Nop) X(MakeCell) X(CopyFreeVars) X(PopTop) X(PushNull) X(Copy) X(Swap) X(LoadConst) X(LoadFast) X(LoadFastAndClear) \
  X(StoreFast) X(LoadFastLoadFast) X(StoreFastLoadFast) X(StoreFastStoreFast) X(DeleteFast) X(LoadClosure) X(LoadDeref) X(StoreDeref) X(DeleteDeref) X(LoadGlobal) \
  X(StoreGlobal) X(LoadAttr) X(LoadMethod) X(LoadSuperAttr) X(StoreAttr) X(DeleteAttr) X(UnaryPositive) \
  X(UnaryNegative) X(UnaryNot) X(UnaryInvert) X(ToBool) X(Binary) X(Compare) X(Is) X(Contains) X(Subscript) X(LoadSlice) X(StoreSlice) \
  X(StoreSubscript) X(DeleteSubscript) X(BuildTuple) X(BuildList) X(BuildSet) X(BuildMap) \
  X(BuildConstKeyMap) X(BuildString) X(BuildSlice) X(ListAppend) X(SetAdd) X(MapAdd) X(ListExtend) \
  X(SetUpdate) X(DictUpdate) X(DictMerge) X(ListToTuple) X(UnpackSequence) X(UnpackEx) X(Format) X(Convert) \
  X(GetIter) X(ForIter) X(GetLen) X(MatchMapping) X(MatchSequence) X(MatchKeys) X(Jump) X(PopJumpIfFalse) X(PopJumpIfTrue) X(PopJumpIfNone) \
  X(PopJumpIfNotNone) X(JumpIfFalseOrPop) X(JumpIfTrueOrPop) X(Call) X(CallKw) X(CallEx) X(MakeFunction) X(SetFunctionAttribute) \
  X(LoadAssertionError) X(ImportName) X(ImportFrom) X(BeforeWith) X(ReturnValue) X(ReturnConst) X(Raise) \
  X(Reraise) X(WithExceptStart) X(YieldFromIter) X(Send) X(MatchClass) X(PushExcInfo) X(PopExcept) X(CheckExcMatch) X(StopIterationError) X(ReturnGenerator) X(Yield)
// clang-format on

#define X(name) Flow run##name(Tracer& t, VirtualFrame& f, const Instruction& in);
VITRINE_TRACE_HANDLERS(X)
#undef X

}  // namespace vitrine::capture
