#include "core/capture/concrete/machine.h"

#include <array>

#include "core/capture/concrete/handlers.h"
#include "core/capture/cpython/call_layout.h"

namespace vitrine::capture {
namespace {

struct HandlerRow {
  Op op;
  ConcreteHandler handler;
};

// Instructions that are not named here are CPython's: exception handling, generators, class bodies.
constexpr HandlerRow kRows[] = {
    {Op::Nop, handlers::nop},
    {Op::Resume, handlers::resume},
    {Op::MakeCell, handlers::make_cell},
    {Op::CopyFreeVars, handlers::copy_free_vars},
    {Op::PopTop, handlers::pop_top},
    {Op::PushNull, handlers::push_null},
    {Op::Copy, handlers::copy},
    {Op::Swap, handlers::swap},
    {Op::LoadConst, handlers::load_const},
    {Op::LoadFast, handlers::load_fast},
    {Op::LoadFastAndClear, handlers::load_fast_and_clear},
    {Op::StoreFast, handlers::store_fast},
    {Op::LoadFastLoadFast, handlers::load_fast_load_fast},
    {Op::StoreFastLoadFast, handlers::store_fast_load_fast},
    {Op::StoreFastStoreFast, handlers::store_fast_store_fast},
    {Op::DeleteFast, handlers::delete_fast},
    {Op::LoadClosure, handlers::load_closure},
    {Op::LoadDeref, handlers::load_deref},
    {Op::StoreDeref, handlers::store_deref},
    {Op::DeleteDeref, handlers::delete_deref},
    {Op::LoadGlobal, handlers::load_global},
    {Op::StoreGlobal, handlers::store_global},
    {Op::DeleteGlobal, handlers::delete_global},
    {Op::LoadAttr, handlers::load_attr},
    {Op::LoadMethod, handlers::load_method},
    {Op::LoadSuperAttr, handlers::load_super_attr},
    {Op::StoreAttr, handlers::store_attr},
    {Op::DeleteAttr, handlers::delete_attr},
    {Op::UnaryPositive, handlers::unary_positive},
    {Op::UnaryNegative, handlers::unary_negative},
    {Op::UnaryNot, handlers::unary_not},
    {Op::UnaryInvert, handlers::unary_invert},
    {Op::ToBool, handlers::to_bool},
    {Op::Binary, handlers::binary},
    {Op::Compare, handlers::compare},
    {Op::Is, handlers::is},
    {Op::Contains, handlers::contains},
    {Op::Subscript, handlers::subscript},
    {Op::LoadSlice, handlers::load_slice},
    {Op::StoreSlice, handlers::store_slice},
    {Op::StoreSubscript, handlers::store_subscript},
    {Op::DeleteSubscript, handlers::delete_subscript},
    {Op::BuildTuple, handlers::build_tuple},
    {Op::BuildList, handlers::build_list},
    {Op::BuildSet, handlers::build_set},
    {Op::BuildMap, handlers::build_map},
    {Op::BuildConstKeyMap, handlers::build_const_key_map},
    {Op::BuildString, handlers::build_string},
    {Op::BuildSlice, handlers::build_slice},
    {Op::ListAppend, handlers::list_append},
    {Op::SetAdd, handlers::set_add},
    {Op::MapAdd, handlers::map_add},
    {Op::ListExtend, handlers::list_extend},
    {Op::SetUpdate, handlers::set_update},
    {Op::DictUpdate, handlers::dict_update},
    {Op::DictMerge, handlers::dict_merge},
    {Op::ListToTuple, handlers::list_to_tuple},
    {Op::UnpackSequence, handlers::unpack_sequence},
    {Op::UnpackEx, handlers::unpack_ex},
    {Op::Format, handlers::format_value},
    {Op::Convert, handlers::convert_value},
    {Op::GetIter, handlers::get_iter},
    {Op::ForIter, handlers::for_iter},
    {Op::GetLen, handlers::get_len},
    {Op::Jump, handlers::jump},
    {Op::PopJumpIfFalse, handlers::pop_jump_if_false},
    {Op::PopJumpIfTrue, handlers::pop_jump_if_true},
    {Op::PopJumpIfNone, handlers::pop_jump_if_none},
    {Op::PopJumpIfNotNone, handlers::pop_jump_if_not_none},
    {Op::JumpIfFalseOrPop, handlers::jump_if_false_or_pop},
    {Op::JumpIfTrueOrPop, handlers::jump_if_true_or_pop},
    {Op::Call, handlers::call},
    {Op::CallKw, handlers::call_kw},
    {Op::CallEx, handlers::call_ex},
    {Op::MakeFunction, handlers::make_function},
    {Op::SetFunctionAttribute, handlers::set_function_attribute},
    {Op::LoadBuildClass, handlers::load_build_class},
    {Op::LoadAssertionError, handlers::load_assertion_error},
    {Op::ImportName, handlers::import_name},
    {Op::ImportFrom, handlers::import_from},
    {Op::BeforeWith, handlers::before_with},
    {Op::ReturnValue, handlers::return_value},
    {Op::ReturnConst, handlers::return_const},
    {Op::MatchMapping, handlers::match_mapping},
    {Op::MatchSequence, handlers::match_sequence},
};

constexpr auto kByOp = [] {
  std::array<ConcreteHandler, static_cast<size_t>(Op::Count)> table{};
  for (const HandlerRow& row : kRows) table[static_cast<size_t>(row.op)] = row.handler;
  return table;
}();

}  // namespace

ConcreteHandler handler_of(Op op) {
  return kByOp[static_cast<size_t>(op)];
}

StepResult Machine::step(const Instruction& in) {
  const ConcreteHandler handler = handler_of(in.op);
  if (!handler) return StepResult::Exit;
  next_ = in.next_pc;
  frame.set_running(in.at);
  const StepResult step = handler(*this, in);
  switch (step) {
    case StepResult::Next:
    case StepResult::Leave:
      frame.set_pc(next_);
      break;
    case StepResult::Exit:
      frame.set_pc(in.pc);
      break;
    case StepResult::Returned:
    case StepResult::Threw:
      break;
  }
  return step;
}

StepResult Machine::complete() {
  const Instruction* in = code.find(frame.pc());
  return in && in->pc > in->at ? step(*in) : StepResult::Next;
}

void Machine::push_callable(PyObject* owned) {
  frame.push(kNullFollows ? owned : nullptr);
  frame.push(kNullFollows ? nullptr : owned);
}

StepResult Machine::replace(int n, PyObject* owned) {
  drop(n);
  if (!owned) return StepResult::Threw;
  frame.push(owned);
  return StepResult::Next;
}

StepResult Machine::done(int n, int status) {
  drop(n);
  return status < 0 ? StepResult::Threw : StepResult::Next;
}

StepResult Machine::jump(const Instruction& in) {
  next_ = in.target;
  return in.backward ? poll() : StepResult::Next;
}

StepResult Machine::poll() {
  if (!interrupt_requested(thread)) return StepResult::Next;
  switch (handle_interrupt(thread)) {
    case Interrupt::Handled:
      return StepResult::Next;
    case Interrupt::Raised:
      return StepResult::Threw;
    case Interrupt::NeedsCPython:
      return StepResult::Leave;
  }
  return StepResult::Leave;
}

StepResult Machine::finish(PyObject* owned) {
  result_ = owned;
  return StepResult::Returned;
}

}  // namespace vitrine::capture
