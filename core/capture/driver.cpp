#include "core/capture/driver.h"

#include <exception>

#include "core/base/result.h"
#include "core/capture/concrete/machine.h"
#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/hook.h"

namespace vitrine::capture {
namespace {

enum class FrameFate : uint8_t { On, Return, Raise, CPython };  // what becomes of the frame

class FrameDriver {
 public:
  FrameDriver(PyThreadState* thread, Frame frame, const Bytecode& code, SegmentStore& store,
              const DriverOptions& options)
      : code_(code),
        store_(store),
        frame_(frame),
        link_(thread, frame),
        machine_(thread, frame, code_),
        patience_(options.patience),
        left_(options.patience) {}

  FrameFate run() {
    if (!link_.entered()) {  // CPython meets the same limit, and words the error
      PyErr_Clear();
      return FrameFate::CPython;
    }
    const FrameFate way = go();
    if (way != FrameFate::CPython) return way;
    return machine_.complete() == StepResult::Threw ? FrameFate::Raise : way;
  }

  PyObject* value() const { return value_; }
  bool calls_too() const { return calls_too_; }
  bool raises() const { return raises_; }
  void unlink() { link_.leave(); }

 private:
  FrameFate go() {
    const int body = code_.body_pc();
    while (frame_.pc() < body)
      if (const FrameFate way = step(); way != FrameFate::On) return way;
    ask_ = true;
    for (;;) {
      if (ask_)
        if (const FrameFate way = ask(); way != FrameFate::On) return way;
      if (const FrameFate way = step(); way != FrameFate::On) return way;
      if (left_-- <= 0) return FrameFate::CPython;
    }
  }

  SegmentOutcome consult() {
    try {
      PauseCapture pause;
      return store_.at(frame_);
    } catch (const InternalError&) {
      return SegmentOutcome::eager();  // by the contract of SegmentStore::at the frame is untouched
    }
  }

  FrameFate ask() {
    const SegmentOutcome outcome = consult();
    plain_call_ = outcome.plain_call;
    switch (outcome.kind) {
      case SegmentOutcome::Kind::Ran:
        left_ = patience_;
        ask_ = true;  // again after the instruction that stopped it
        return FrameFate::On;
      case SegmentOutcome::Kind::Returned:
        value_ = outcome.value;
        return FrameFate::Return;
      case SegmentOutcome::Kind::Raised:
        if (const Instruction* in = code_.find(frame_.pc())) frame_.set_running(in->at);
        return FrameFate::Raise;
      case SegmentOutcome::Kind::None:
        ask_ = false;
        calls_too_ = outcome.calls_too;
        raises_ = outcome.raises;
        return outcome.eager_rest ? FrameFate::CPython : FrameFate::On;
    }
    return FrameFate::CPython;
  }

  StepResult step_plainly(const Instruction& in) {
    constexpr int64_t kFrames = 100'000;  // of a model's first run there are some thousands
    plain_call_ = false;
    const UncapturedFrames aside(kFrames);
    return machine_.step(in);
  }

  FrameFate step() {
    const Instruction* in = code_.find(frame_.pc());
    if (!in) return FrameFate::CPython;
    switch (plain_call_ ? step_plainly(*in) : machine_.step(*in)) {
      case StepResult::Next:
        break;
      case StepResult::Leave:
      case StepResult::Exit:
        return FrameFate::CPython;
      case StepResult::Threw:
        return FrameFate::Raise;
      case StepResult::Returned:
        value_ = machine_.result();
        return FrameFate::Return;
    }
    if (link_.tracing()) return FrameFate::CPython;
    const bool call = in->op == Op::Call || in->op == Op::CallKw || in->op == Op::CallEx;
    if (call || (in->backward && frame_.pc() == in->target)) ask_ = true;
    return FrameFate::On;
  }

  const Bytecode& code_;
  SegmentStore& store_;
  Frame frame_;
  FrameLink link_;
  Machine machine_;
  const int patience_;
  int left_;
  bool ask_ = false, calls_too_ = false, raises_ = false, plain_call_ = false;
  PyObject* value_ = nullptr;
};

// nullptr: it cannot be read, and CPython runs it.
const Bytecode* readable(const Frame& frame) {
  try {
    return &bytecode_of(frame.code());
  } catch (const std::exception&) {
    PyErr_Clear();
    return nullptr;
  }
}

}  // namespace

PyObject* drive(PyThreadState* thread, _PyInterpreterFrame* raw, SegmentStore& store,
                const DriverOptions& options) noexcept {
  const Frame frame(raw);
  FrameFate way = FrameFate::CPython;
  bool calls_too = false, raises = false;
  PyObject* value = nullptr;
  if (const Bytecode* code = readable(frame)) {
    FrameDriver driver(thread, frame, *code, store, options);
    way = driver.run();
    value = driver.value();
    calls_too = driver.calls_too(), raises = driver.raises();
  }
  if (calls_too && way == FrameFate::CPython) {
    const bool off = switch_capture_off(true);
    value = continue_in_cpython(thread, frame, false);
    switch_capture_off(off);
    if (value && raises) {
      Py_CLEAR(value);
      store.did_not_raise();
    }
    return value;
  }
  if (way == FrameFate::Return) return leave_with(thread, frame, value);
  return continue_in_cpython(thread, frame, way == FrameFate::Raise);
}

}  // namespace vitrine::capture
