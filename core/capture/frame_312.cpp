// class Frame for CPython 3.12.
#include "core/capture/frame.h"

#include "core/capture/cpython.h"

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

#include <new>

namespace vitrine::capture {
namespace {
constexpr int kUnit = sizeof(_Py_CODEUNIT);
static_assert(kUnit == 2);

// What FrameLink keeps in its storage.
struct Link {
  _PyCFrame cframe;
  uint64_t monitoring_version;
};

_Py_CODEUNIT* first_unit(_PyInterpreterFrame* f) {
  return _PyCode_CODE(f->f_code);
}
}  // namespace

PyObject* Frame::code() const {
  return reinterpret_cast<PyObject*>(f_->f_code);
}
PyObject* Frame::function() const {
  return f_->f_funcobj;
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
  static_assert(sizeof(Link) <= sizeof(cframe_) && alignof(Link) <= 8);
  _PyInterpreterFrame* f = frame.raw();
  auto* link = new (cframe_) Link;
  link->cframe.previous = thread->cframe;
  link->cframe.current_frame = f;
  link->monitoring_version = thread->interp->monitoring_version;
  f->previous = thread->cframe->current_frame;
  thread->cframe = &link->cframe;
  // 3.12 counts Python frames and C calls apart; only the C counter has a public function.
  if (thread->py_recursion_remaining <= 1) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
  } else if (Py_EnterRecursiveCall("") == 0) {
    --thread->py_recursion_remaining;
    entered_ = true;
  }
}

// Tools that were switched on or off since the frame was entered: CPython's loop must fire their events.
bool FrameLink::tracing() const {
  const auto* link = std::launder(reinterpret_cast<const Link*>(cframe_));
  return link->monitoring_version != thread_->interp->monitoring_version;
}

void FrameLink::leave() {
  if (!linked_) return;
  linked_ = false;
  if (entered_) {
    ++thread_->py_recursion_remaining;
    Py_LeaveRecursiveCall();
  }
  thread_->cframe = std::launder(reinterpret_cast<Link*>(cframe_))->cframe.previous;
}

bool thread_is_traced(PyThreadState* thread) {
  if (thread->c_tracefunc || thread->c_profilefunc) return true;
  for (const auto tools : thread->interp->monitors.tools)
    if (tools != 0) return true;
  return false;
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
  // Under a hook every Python call costs one unit more of the C counter, whose limit (1500 and fixed) would
  // then be reached at a depth of 748 whatever sys.setrecursionlimit() says.
  ++thread->c_recursion_remaining;
  PyObject* result = _PyEval_EvalFrameDefault(thread, frame.raw(), raise ? 1 : 0);
  --thread->c_recursion_remaining;
  return result;
}

}  // namespace vitrine::capture

#endif
