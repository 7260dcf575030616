#include "core/capture/hook.h"

#include "core/capture/code_entry.h"
#include "core/capture/cpython.h"
#include "core/capture/frame.h"

namespace vitrine::capture {
namespace {

struct ThreadCapture {
  FrameHandler* handler = nullptr;
  int paused = 0;
  const _PyInterpreterFrame* delegated = nullptr;  // the frame just handed to the hook below ours
};
constinit thread_local ThreadCapture this_thread;

// The interpreter has one hook, so this is one value a process; read and written under the GIL.
struct Installed {
  _PyFrameEvalFunction below = _PyEval_EvalFrameDefault;  // what was found when ours was put in place
  _PyFrameEvalFunction above = nullptr;                   // what lay over ours when it could not be removed
  int active = 0;
  uint32_t policies = 0;  // given out
};
constinit Installed installed;

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing);

PyInterpreterState* interpreter() {
  return PyInterpreterState_Get();
}

// Nobody captures any more, but a hook that had been over ours has put ours back when it left.
void remove_leftover() {
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter()) != hook) return;
  // What lay above ours has gone by now; if it is also what we found below, nothing but CPython's own is
  // left.
  const bool stale = installed.below == installed.above;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), stale ? _PyEval_EvalFrameDefault : installed.below);
}

PyObject* run_below(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing) {
  if (installed.active == 0) remove_leftover();
  if (installed.below == _PyEval_EvalFrameDefault) return _PyEval_EvalFrameDefault(thread, frame, throwing);
  // The hook below may have saved ours as its own default: the same frame comes back, and must not go round.
  ThreadCapture& here = this_thread;
  if (here.delegated == frame) return _PyEval_EvalFrameDefault(thread, frame, throwing);
  const _PyInterpreterFrame* before = here.delegated;
  here.delegated = frame;
  PyObject* result = installed.below(thread, frame, throwing);
  here.delegated = before;
  return result;
}

bool judge(FrameHandler& handler, CodeEntry& entry, PyObject* code) {
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  const int flags = reinterpret_cast<PyCodeObject*>(code)->co_flags;
  const bool plain = (flags & kFunction) == kFunction && (flags & kSuspends) == 0;
  entry.wanted = plain && !entry.skip && handler.wants(code);
  entry.judged_by = handler.policy;
  return entry.wanted;
}

bool wanted(const ThreadCapture& here, PyThreadState* thread, Frame frame) {
  if (!frame.is_fresh() || thread_is_traced(thread) || here.delegated == frame.raw()) return false;
  CodeEntry* entry = find_entry(frame.code());
  if (entry && entry->judged_by == here.handler->policy) return entry->wanted && !entry->skip;
  return judge(*here.handler, entry ? *entry : entry_of(frame.code()), frame.code());
}

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing) {
  ThreadCapture& here = this_thread;
  if (here.handler && here.paused == 0 && !throwing && wanted(here, thread, Frame(frame)))
    return here.handler->run(thread, frame);
  return run_below(thread, frame, throwing);
}

}  // namespace

uint32_t next_policy() {
  return ++installed.policies;
}

void reinstate_hook() {
  const _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == hook) return;
  installed.below = current;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), hook);
}

ActiveCapture::ActiveCapture(FrameHandler& handler)
    : handler_before_(this_thread.handler), paused_before_(this_thread.paused) {
  this_thread.handler = &handler;
  this_thread.paused = 0;
  ++installed.active;
  reinstate_hook();
}

ActiveCapture::~ActiveCapture() {
  this_thread.handler = handler_before_;
  this_thread.paused = paused_before_;
  if (--installed.active > 0) return;
  const _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == hook) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter(), installed.below);
  } else if (current != installed.below) {
    installed.above = current;
  }
}

PauseCapture::PauseCapture() {
  ++this_thread.paused;
}
PauseCapture::~PauseCapture() {
  --this_thread.paused;
}

HookState hook_state() {
  return {_PyInterpreterState_GetEvalFrameFunc(interpreter()) == hook, installed.active,
          this_thread.handler && this_thread.paused == 0};
}

}  // namespace vitrine::capture
