// What class Frame does alike for CPython 3.11 to 3.13. Their frames have the same parts; two of them have
// other names and another meaning in 3.13.
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"

#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_signal.h>

namespace vitrine::capture {
namespace {
constexpr int kUnit = sizeof(_Py_CODEUNIT);
static_assert(kUnit == 2);

#if PY_VERSION_HEX >= 0x030D0000
PyCodeObject* code_of(const _PyInterpreterFrame* f) {
  return reinterpret_cast<PyCodeObject*>(f->f_executable);
}
// The instruction that runs, or is about to.
_Py_CODEUNIT*& place_of(_PyInterpreterFrame* f) {
  return f->instr_ptr;
}
constexpr int kNext = 0;
#else
PyCodeObject* code_of(const _PyInterpreterFrame* f) {
  return f->f_code;
}
// The last unit of the instruction that runs, or has run.
_Py_CODEUNIT*& place_of(_PyInterpreterFrame* f) {
  return f->prev_instr;
}
constexpr int kNext = 1;
#endif

_Py_CODEUNIT* first_unit(_PyInterpreterFrame* f) {
  return _PyCode_CODE(code_of(f));
}
}  // namespace

PyObject* Frame::code() const {
  return reinterpret_cast<PyObject*>(code_of(f_));
}
PyObject* Frame::globals() const {
  return f_->f_globals;
}
PyObject* Frame::builtins() const {
  return f_->f_builtins;
}
int Frame::local_count() const {
  return code_of(f_)->co_nlocalsplus;
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
  return f_->stacktop - code_of(f_)->co_nlocalsplus;
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
  f_->stacktop = code_of(f_)->co_nlocalsplus + depth;
  for (int i = depth; i < top; ++i) Py_XDECREF(stack[i]);
}
int Frame::pc() const {
  return static_cast<int>(place_of(f_) + kNext - first_unit(f_)) * kUnit;
}
void Frame::set_pc(int pc) {
  place_of(f_) = first_unit(f_) + pc / kUnit - kNext;
}
void Frame::set_running(int at) {
  place_of(f_) = first_unit(f_) + at / kUnit;
}
PyObject* const* Frame::stack_span(int index) const {
  return _PyFrame_Stackbase(f_) + index;
}
bool Frame::is_fresh() const {
  return f_->owner == FRAME_OWNED_BY_THREAD && place_of(f_) + kNext == first_unit(f_);
}

bool is_main_thread() {
  return _PyOS_IsMainThread() != 0;
}

}  // namespace vitrine::capture
