// class Frame for CPython 3.11.
#include "core/capture/frame.h"

#include "core/capture/cpython.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

#include <new>

namespace vitrine::capture {
namespace {
constexpr int kUnit = sizeof(_Py_CODEUNIT);
static_assert(kUnit == 2);

_Py_CODEUNIT* first_unit(_PyInterpreterFrame* f) {
  return _PyCode_CODE(f->f_code);
}
}  // namespace

PyObject* Frame::code() const {
  return reinterpret_cast<PyObject*>(f_->f_code);
}
PyObject* Frame::function() const {
  return reinterpret_cast<PyObject*>(f_->f_func);
}
PyObject* Frame::globals() const {
  return f_->f_globals;
}
PyObject* Frame::builtins() const {
  return f_->f_builtins;
}
int Frame::local_count() const {
  return f_->f_code->co_nlocalsplus;
}
PyObject* Frame::local(int slot) const {
  return f_->localsplus[slot];
}
void Frame::set_local(int slot, PyObject* owned) {
  PyObject* old = f_->localsplus[slot];
  f_->localsplus[slot] = owned;
  Py_XDECREF(old);
}
int Frame::depth() const {
  return f_->stacktop - f_->f_code->co_nlocalsplus;
}
PyObject* Frame::stack(int index) const {
  return _PyFrame_Stackbase(f_)[index];
}
void Frame::set_stack(int index, PyObject* owned) {
  PyObject** slot = &_PyFrame_Stackbase(f_)[index];
  PyObject* old = *slot;
  *slot = owned;
  Py_XDECREF(old);
}
void Frame::push(PyObject* owned) {
  f_->localsplus[f_->stacktop++] = owned;
}
PyObject* Frame::pop() {
  return f_->localsplus[--f_->stacktop];
}
void Frame::truncate(int depth) {
  PyObject** stack = _PyFrame_Stackbase(f_);
  const int top = this->depth();
  f_->stacktop = f_->f_code->co_nlocalsplus + depth;
  for (int i = depth; i < top; ++i) Py_XDECREF(stack[i]);
}
int Frame::pc() const {
  return static_cast<int>(f_->prev_instr + 1 - first_unit(f_)) * kUnit;
}
void Frame::set_pc(int pc) {
  f_->prev_instr = first_unit(f_) + pc / kUnit - 1;
}
void Frame::set_running(int at) {
  f_->prev_instr = first_unit(f_) + at / kUnit;
}
PyObject* const* Frame::stack_span(int index) const {
  return _PyFrame_Stackbase(f_) + index;
}
bool Frame::is_fresh() const {
  return f_->owner == FRAME_OWNED_BY_THREAD && f_->prev_instr < first_unit(f_);
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

bool thread_is_traced(PyThreadState* thread) {
  return thread->cframe->use_tracing != 0;
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
  return _PyEval_EvalFrameDefault(thread, frame.raw(), raise ? 1 : 0);
}

}  // namespace vitrine::capture

#endif
