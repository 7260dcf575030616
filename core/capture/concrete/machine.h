// The concrete interpreter: runs one instruction of a live frame for real, on real objects. Between graphs it
// runs the instruction that broke the graph; everything it does not know is left to CPython.
#pragma once

#include <cstdint>

#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/frame.h"

namespace vitrine::capture {

enum class StepResult : uint8_t {
  Next,      // done; frame.pc() is the next instruction
  Leave,     // done as well, but CPython must go on from frame.pc()
  Returned,  // the frame is finished; result() holds its value
  Threw,     // a Python error is set; the frame stands at the instruction: continue_in_cpython(..., true)
  Exit,      // not done, nothing changed: CPython must run it, continue_in_cpython(..., false)
};

class Machine {
 public:
  Machine(_ts* thread, Frame frame, const Bytecode& code) : thread(thread), frame(frame), code(code) {}
  // `in` is the instruction at frame.pc(). The frame must be linked (FrameLink).
  StepResult step(const Instruction& in);
  // Before CPython goes on: the rest of an instruction that is two here. Next, or Threw.
  StepResult complete();
  _object* result() const { return result_; }  // new reference, once, after StepResult::Returned

  // For the handlers of instructions.
  _object* peek(int i) const { return frame.stack(frame.depth() - i); }  // 1 = top; borrowed
  void drop(int n) { frame.truncate(frame.depth() - n); }
  // A callable, stolen, without a self beside it.
  void push_callable(_object* owned);
  // Replaces the `n` operands on top by `owned`; nullptr: the operation failed.
  StepResult replace(int n, _object* owned);
  // The same for operations that say 0 or -1 and push nothing.
  StepResult done(int n, int status);
  StepResult jump(const Instruction& in);
  StepResult poll();  // signals, pending calls, other threads: where CPython looks as well
  StepResult finish(_object* owned);

  _ts* const thread;
  Frame frame;
  const Bytecode& code;

 private:
  int32_t next_ = 0;
  _object* result_ = nullptr;
};

// Runs one kind of instruction. StepResult::Exit only before anything has changed.
using ConcreteHandler = StepResult (*)(Machine&, const Instruction&);
ConcreteHandler handler_of(Op op);  // nullptr: CPython's own

}  // namespace vitrine::capture
