// class Frame for CPython 3.12.
#include "core/capture/cpython/frame.h"

#include "core/base/result.h"
#include "core/capture/cpython/bytecode.h"
#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

#include <new>

#include "core/capture/cpython/frame_monitored.h"

namespace vitrine::capture {
namespace {
// What FrameLink keeps in its storage.
struct Link {
  _PyCFrame cframe;
  uint64_t monitoring_version;
};
}  // namespace

PyObject* Frame::function() const {
  return f_->f_funcobj;
}

FrameLink::FrameLink(PyThreadState* thread, Frame frame) : thread_(thread) {
  static_assert(sizeof(Link) <= sizeof(cframe_) && alignof(Link) <= 8);
  _PyInterpreterFrame* f = frame.raw();
  auto* link = new (cframe_) Link;
  link->cframe.previous = thread->cframe;
  link->cframe.current_frame = f;
  link->monitoring_version = thread->interp->monitoring_version;
  f->previous = thread->cframe->current_frame;
  thread->cframe = &link->cframe;
  entered_ = enter_python_frame(thread);
}

// Tools that were switched on or off since the frame was entered: CPython's loop must fire their events.
bool FrameLink::tracing() const {
  const auto* link = std::launder(reinterpret_cast<const Link*>(cframe_));
  return link->monitoring_version != thread_->interp->monitoring_version;
}

void FrameLink::leave() {
  if (!linked_) return;
  linked_ = false;
  if (entered_) ++thread_->py_recursion_remaining;
  thread_->cframe = std::launder(reinterpret_cast<Link*>(cframe_))->cframe.previous;
}

bool is_traced(PyThreadState* thread, Frame frame) {
  return is_traced_by_tools(thread, frame, thread->interp->monitoring_version);
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

// In 3.12 whoever runs a frame clears it, with functions that CPython does not export. So its own loop does:
// it runs one of the code's returns, with the value as operand, or with its own constant, which is not
// wanted.
PyObject* leave_with(PyThreadState* thread, Frame frame, PyObject* owned) {
  const Instruction* leave = bytecode_of(frame.code()).some_return();
  VITRINE_CHECK(leave, "a frame returned whose code does not");
  frame.truncate(0);
  frame.set_pc(leave->pc);
  if (leave->op == Op::ReturnValue) {
    frame.push(owned);
    return continue_in_cpython(thread, frame, false);
  }
  PyObject* constant = continue_in_cpython(thread, frame, false);
  if (!constant) {
    Py_DECREF(owned);
    return nullptr;
  }
  Py_DECREF(constant);
  return owned;
}

}  // namespace vitrine::capture

#endif
