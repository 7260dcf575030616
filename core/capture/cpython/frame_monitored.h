// What the frame files of CPythons that count Python frames apart and have sys.monitoring share (3.12 and
// 3.13). Where an interpreter keeps the version of its tools differs.
#pragma once

#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"

#include <internal/pycore_interp.h>

namespace vitrine::capture {

// Python frames and C calls are counted apart. A Python frame is no C call, so only the first count moves.
// false: too deep, with Python's error.
inline bool enter_python_frame(PyThreadState* thread) {
  const bool entered = thread->py_recursion_remaining > 1;
  if (entered)
    --thread->py_recursion_remaining;
  else
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
  return entered;
}

// Tools see a frame through its code's instructions, which CPython's RESUME brings up to date: code that was
// instrumented once and is not up to date (`version`) is CPython's.
template <class Version>
bool is_traced_by_tools(PyThreadState* thread, Frame frame, Version version) {
  if (thread->c_tracefunc || thread->c_profilefunc) return true;
  for (const auto tools : thread->interp->monitors.tools)
    if (tools != 0) return true;
  const auto* code = reinterpret_cast<const PyCodeObject*>(frame.code());
  if (!code->_co_monitoring) return false;
  if (code->_co_instrumentation_version != version) return true;
  for (const auto tools : code->_co_monitoring->active_monitors.tools)
    if (tools != 0) return true;
  return false;
}

}  // namespace vitrine::capture
