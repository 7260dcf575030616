#include "core/capture/exit_fuzzer.h"

#include "core/capture/concrete/machine.h"
#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"

namespace vitrine::capture {

// Numbers of a linear congruential generator: x' = a x + c (mod 2^64), its upper half.
uint32_t ExitFuzzer::random() {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(state_ >> 33);
}

ExitFuzzer::Way ExitFuzzer::interpret(PyThreadState* thread, _PyInterpreterFrame* raw, PyObject** value) {
  Frame frame(raw);
  FrameLink link(thread, frame);
  if (!link.entered()) {
    PyErr_Clear();
    return Way::CPython;
  }
  const Bytecode& code = bytecode_of(frame.code());
  Machine machine(thread, frame, code);
  ++counts_.frames;
  const Way way = run_some(link, machine, value);
  if (way != Way::CPython || machine.complete() == StepResult::Next) return way;
  ++counts_.throws;
  return Way::Raise;
}

ExitFuzzer::Way ExitFuzzer::run_some(const FrameLink& link, Machine& machine, PyObject** value) {
  auto left = static_cast<int64_t>(random() % static_cast<uint32_t>(2 * gap_));
  while (!link.tracing()) {
    const Instruction* in = machine.code.find(machine.frame.pc());
    if (!in) return Way::CPython;
    if (left-- == 0) {
      ++counts_.forced;
      return Way::CPython;
    }
    ++counts_.instructions;
    switch (machine.step(*in)) {
      case StepResult::Next:
        break;
      case StepResult::Leave:
        return Way::CPython;
      case StepResult::Exit:
        ++counts_.unknown;
        return Way::CPython;
      case StepResult::Threw:
        ++counts_.throws;
        return Way::Raise;
      case StepResult::Returned:
        ++counts_.returns;
        *value = machine.result();
        return Way::Return;
    }
  }
  return Way::CPython;
}

PyObject* ExitFuzzer::run(PyThreadState* thread, _PyInterpreterFrame* raw) noexcept {
  PyObject* value = nullptr;
  const Way way = interpret(thread, raw, &value);
  if (way == Way::Return) return leave_with(thread, Frame(raw), value);
  return continue_in_cpython(thread, Frame(raw), way == Way::Raise);
}

}  // namespace vitrine::capture
