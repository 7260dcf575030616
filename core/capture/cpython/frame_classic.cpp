// What class Frame does alike for CPython 3.11 and 3.12, whose frames have the same parts under the same
// names.
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

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
PyObject* Frame::globals() const {
  return f_->f_globals;
}
PyObject* Frame::builtins() const {
  return f_->f_builtins;
}
bool Frame::has_locals_dict() const {
  return f_->f_locals != nullptr;
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

}  // namespace vitrine::capture

#endif
