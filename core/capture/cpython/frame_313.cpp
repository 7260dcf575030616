// class Frame for CPython 3.13.
#include "core/capture/cpython/frame.h"

#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000

#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

#include <new>

#include "core/capture/cpython/frame_monitored.h"

namespace vitrine::capture {
namespace {

// What FrameLink keeps in its storage.
struct FormerFrame {
  _PyInterpreterFrame* previous;
  uintptr_t monitoring_version;
};

uintptr_t events(const PyThreadState* thread) {
  return __atomic_load_n(&thread->eval_breaker, __ATOMIC_RELAXED) & _PY_EVAL_EVENTS_MASK;
}

}  // namespace

PyObject* Frame::function() const {
  return f_->f_funcobj;
}

// Each call of locals() gives a dict of its own (PEP 667).
bool Frame::shares_locals() const {
  return false;
}
bool Frame::has_locals_dict() const {
  return false;
}

FrameLink::FrameLink(PyThreadState* thread, Frame frame) : thread_(thread) {
  static_assert(sizeof(FormerFrame) <= sizeof(cframe_) && alignof(FormerFrame) <= 8);
  _PyInterpreterFrame* f = frame.raw();
  new (cframe_) FormerFrame{thread->current_frame, thread->interp->ceval.instrumentation_version};
  f->previous = thread->current_frame;
  thread->current_frame = f;
  entered_ = enter_python_frame(thread);
}

// Tools that were switched on or off since the frame was entered: CPython's loop must fire their events.
bool FrameLink::tracing() const {
  const auto* link = std::launder(reinterpret_cast<const FormerFrame*>(cframe_));
  return link->monitoring_version != thread_->interp->ceval.instrumentation_version;
}

void FrameLink::leave() {
  if (!linked_) return;
  linked_ = false;
  if (entered_) ++thread_->py_recursion_remaining;
  thread_->current_frame = std::launder(reinterpret_cast<FormerFrame*>(cframe_))->previous;
}

bool is_traced(PyThreadState* thread, Frame frame) {
  return is_traced_by_tools(thread, frame, thread->interp->ceval.instrumentation_version);
}

_PyInterpreterFrame* running_frame(PyThreadState* thread) {
  return thread->current_frame;
}

bool interrupt_requested(PyThreadState* thread) {
  return events(thread) != 0;
}

Interrupt handle_interrupt(PyThreadState* thread) {
  // An exception sent by another thread: only CPython's loop can raise it in the right order.
  if (events(thread) & _PY_ASYNC_EXCEPTION_BIT) return Interrupt::NeedsCPython;
  return _Py_HandlePending(thread) == 0 ? Interrupt::Handled : Interrupt::Raised;
}

PyObject* run_in_cpython(PyThreadState* thread, Frame frame, bool throwing) {
  // Under a hook every Python call costs two units of the count of C calls, whose limit is fixed: it would be
  // reached at some depth whatever sys.setrecursionlimit() says. The hook watches the C stack itself.
  constexpr int kUnits = 2;
  thread->c_recursion_remaining += kUnits;
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame.raw(), throwing ? 1 : 0);
  thread->c_recursion_remaining -= kUnits;
  return result;
}

namespace {

// What CPython's loop does first with an error: the frame becomes part of its traceback.
void add_to_traceback(PyThreadState* thread, Frame frame) {
  _PyInterpreterFrame* f = frame.raw();
  if (_PyFrame_IsIncomplete(f)) return;
  _PyInterpreterFrame* before = thread->current_frame;
  f->previous = before;
  thread->current_frame = f;
  if (PyFrameObject* object = PyEval_GetFrame()) PyTraceBack_Here(object);
  thread->current_frame = before;
}

void enter_handler(Frame frame, const Instruction& in) {
  frame.truncate(in.handler_depth);
  if (in.handler_lasti) frame.push(PyLong_FromLong(in.at / 2));
  frame.push(PyErr_GetRaisedException());
  frame.set_pc(in.handler);
}

// The loop takes the place that it is given for the one behind the instruction that threw: what it would find
// there, the traceback's line and the handler, may be the next one's. So both are found here.
PyObject* unwind(PyThreadState* thread, Frame frame) {
  const int at = frame.pc();  // as set_running() left it
  const Bytecode& code = bytecode_of(frame.code());
  const Instruction* thrown = nullptr;
  for (const Instruction& in : code.instructions())
    if (in.at == at || in.pc == at) thrown = &in;
  add_to_traceback(thread, frame);
  if (thrown && thrown->handler >= 0) {
    enter_handler(frame, *thrown);
    return run_in_cpython(thread, frame, false);
  }
  frame.truncate(0);
  _PyEval_FrameClearAndPop(thread, frame.raw());
  return nullptr;
}

}  // namespace

PyObject* continue_in_cpython(PyThreadState* thread, Frame frame, bool raise) {
  if (!raise) return run_in_cpython(thread, frame, false);
  if (!is_traced(thread, frame)) return unwind(thread, frame);
  // A tool was switched on meanwhile, and wants to hear of it from the loop.
  frame.set_running(frame.pc() + 2);
  return run_in_cpython(thread, frame, true);
}

PyObject* leave_with(PyThreadState* thread, Frame frame, PyObject* owned) {
  frame.truncate(0);
  _PyEval_FrameClearAndPop(thread, frame.raw());
  return owned;
}

}  // namespace vitrine::capture

#endif
