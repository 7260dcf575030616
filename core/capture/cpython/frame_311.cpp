// class Frame for CPython 3.11.
#include "core/capture/cpython/frame.h"

#include "core/capture/cpython/cpython.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

#include <new>

namespace vitrine::capture {

PyObject* Frame::function() const {
  return reinterpret_cast<PyObject*>(f_->f_func);
}

FrameLink::FrameLink(PyThreadState* thread, Frame frame) : thread_(thread) {
  static_assert(sizeof(_PyCFrame) <= sizeof(cframe_) && alignof(_PyCFrame) <= 8);
  _PyInterpreterFrame* f = frame.raw();
  auto* link = new (cframe_) _PyCFrame;
  link->use_tracing = thread->cframe->use_tracing;
  link->previous = thread->cframe;
  link->current_frame = f;
  f->previous = thread->cframe->current_frame;
  f->is_entry = true;
  thread->cframe = link;
  entered_ = Py_EnterRecursiveCall("") == 0;
}

bool FrameLink::tracing() const {
  return reinterpret_cast<const _PyCFrame*>(cframe_)->use_tracing != 0;
}

void FrameLink::leave() {
  if (!linked_) return;
  linked_ = false;
  if (entered_) Py_LeaveRecursiveCall();
  auto* link = std::launder(reinterpret_cast<_PyCFrame*>(cframe_));
  thread_->cframe = link->previous;
  thread_->cframe->use_tracing = link->use_tracing;
}

bool is_traced(PyThreadState* thread, Frame) {
  return thread->cframe->use_tracing != 0;
}

PyObject* run_in_cpython(PyThreadState* thread, Frame frame, bool throwing) {
  return _PyEval_EvalFrameDefault(thread, frame.raw(), throwing ? 1 : 0);
}

PyObject* leave_with(PyThreadState*, Frame, PyObject* owned) {
  return owned;  // the caller clears the frame
}

}  // namespace vitrine::capture

#endif
