// What CPython 3.11 and 3.12 do alike with the frame that a thread runs: it hangs in a link on the C stack.
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"

#if PY_VERSION_HEX < 0x030D0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

namespace vitrine::capture {

// locals() gives one dict a frame, which each call of it brings up to date.
bool Frame::shares_locals() const {
  return true;
}
bool Frame::has_locals_dict() const {
  return f_->f_locals != nullptr;
}

_PyInterpreterFrame* running_frame(PyThreadState* thread) {
  return thread->cframe->current_frame;
}

bool interrupt_requested(PyThreadState* thread) {
  return _Py_atomic_load_relaxed(&thread->interp->ceval.eval_breaker) != 0;
}

Interrupt handle_interrupt(PyThreadState* thread) {
  // An exception sent by another thread: only CPython's loop can raise it in the right order.
  if (thread->async_exc) return Interrupt::NeedsCPython;
  if (Py_MakePendingCalls() != 0) return Interrupt::Raised;
  if (_Py_atomic_load_relaxed(&thread->interp->ceval.gil_drop_request)) {
    PyThreadState* saved = PyEval_SaveThread();
    PyEval_RestoreThread(saved);
  }
  return Interrupt::Handled;
}

PyObject* continue_in_cpython(PyThreadState* thread, Frame frame, bool raise) {
  return run_in_cpython(thread, frame, raise);
}

}  // namespace vitrine::capture

#endif
