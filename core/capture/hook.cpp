#include "core/capture/hook.h"

#include <pthread.h>

#include <string_view>
#include <utility>

#include "core/capture/cpython/code_entry.h"
#include "core/capture/cpython/cpython.h"
#include "core/capture/cpython/frame.h"
#include "core/capture/marks.h"

namespace vitrine::capture {
namespace {

struct ThreadCapture {
  FrameHandler* handler = nullptr;
  int paused = 0;
  bool off = false;
  int64_t uncaptured = 0;           // so many frames more
  const char* stack_end = nullptr;  // no deeper: the C stack is nearly used up; found at the first frame
  const _PyInterpreterFrame* delegated = nullptr;  // the frame just handed to the hook below ours
  const _PyInterpreterFrame* aside = nullptr;      // what this frame calls itself is not captured
};
constinit thread_local ThreadCapture this_thread;

// The interpreter has one hook, so this is one value a process; read and written under the GIL.
struct Installed {
  _PyFrameEvalFunction below = _PyEval_EvalFrameDefault;  // found when ours was put in place the last time
  _PyFrameEvalFunction first =
      _PyEval_EvalFrameDefault;          // found when nobody else could have ours beneath his
  _PyFrameEvalFunction above = nullptr;  // what lay over ours when it could not be removed
  bool buried = false;                   // somebody may hold ours as what he found, and put it back one day
  int active = 0;
  uint32_t policies = 1;  // given out
};
constinit Installed installed;

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing);

// With any hook in place each Python call is a C call too. A program that has raised the recursion limit
// would run out of C stack long before its limit; it gets CPython's own error instead of a crash.
constexpr size_t kStackReserve = 512 * 1024;

const char* find_stack_end() {
  pthread_attr_t attributes;
  const char* const unknown = reinterpret_cast<const char*>(uintptr_t{1});
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return unknown;
  void* lowest = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size > 2 * kStackReserve;
  pthread_attr_destroy(&attributes);
  return known ? static_cast<const char*>(lowest) + kStackReserve : unknown;
}

PyInterpreterState* interpreter() {
  return PyInterpreterState_Get();
}

// Nobody captures, but a hook that had found ours has put it back when it left: on to what was there before.
void remove_leftover() {
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter()) != hook) return;
  // If that hook had been there before ours too, it has left altogether.
  const bool gone = installed.first == installed.above;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), gone ? _PyEval_EvalFrameDefault : installed.first);
  installed.buried = false;
}

PyObject* run_below(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing) {
  if (installed.active == 0) remove_leftover();
  if (installed.below == _PyEval_EvalFrameDefault) return run_in_cpython(thread, Frame(frame), throwing != 0);
  // The hook below may have saved ours as its own default: the same frame comes back, and must not go round.
  ThreadCapture& here = this_thread;
  if (here.delegated == frame) return run_in_cpython(thread, Frame(frame), throwing != 0);
  const _PyInterpreterFrame* before = here.delegated;
  here.delegated = frame;
  PyObject* result = installed.below(thread, frame, throwing);
  here.delegated = before;
  return result;
}

// Functions in which nothing is captured, with the end of their file's name.
struct Pausing {
  const char *file, *name;
};
constexpr Pausing kPausing[] = {
    // A module is loaded. What runs meanwhile makes functions and classes, once.
    {"<frozen importlib._bootstrap>", "_find_and_load"},
    // Derivatives of derivatives, or such as may be differentiated: a compiled part has its first one only.
    {"/torch/autograd/functional.py", "hessian"},
    {"/torch/autograd/functional.py", "hvp"},
    {"/torch/autograd/functional.py", "jacobian"},
    {"/torch/autograd/functional.py", "jvp"},
    {"/torch/autograd/functional.py", "vhp"},
    {"/torch/autograd/functional.py", "vjp"},
    // A notebook shows what a cell prints.
    {"/ipykernel/iostream.py", "write"},
    {"/ipykernel/iostream.py", "flush"},
    {"/IPython/core/display_functions.py", "display"},
    {"/IPython/core/interactiveshell.py", "write"},
};

bool pauses_capture(PyCodeObject* code) {
  for (const Pausing& row : kPausing) {
    if (PyUnicode_CompareWithASCIIString(code->co_name, row.name) != 0) continue;
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (!file) PyErr_Clear();
    if (file && std::string_view(file).ends_with(row.file)) return true;
  }
  return false;
}

bool judge(FrameHandler& handler, CodeEntry& entry, PyObject* code) {
  constexpr int kFunction = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  const int flags = reinterpret_cast<PyCodeObject*>(code)->co_flags;
  const bool plain = (flags & kFunction) == kFunction && (flags & kSuspends) == 0;
  const PauseCapture pause;  // a verdict may need Python code, whose frames would ask for verdicts again
  entry.judged_by = handler.policy;
  entry.pauses = pauses_capture(reinterpret_cast<PyCodeObject*>(code));
  entry.wanted = plain && !entry.skip && !entry.pauses && handler.wants(code);
  return entry.wanted;
}

// CPython calls from here, and nothing may be thrown through it.
bool wanted(const ThreadCapture& here, PyThreadState* thread, Frame frame) {
  if (!frame.is_fresh() || is_traced(thread, frame) || here.delegated == frame.raw()) return false;
  CodeEntry* entry = find_entry(frame.code());
  if (entry && entry->judged_by == here.handler->policy) return entry->wanted && !entry->skip;
  try {
    return judge(*here.handler, entry ? *entry : entry_of(frame.code()), frame.code());
  } catch (const std::exception&) {  // no memory, say
    return false;
  }
}

void put_in_place() {
  const _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == hook) return;
  if (installed.active > 0) installed.buried = true;
  // Who finds CPython's own has nobody beneath him, whatever somebody else may hold.
  if (!installed.buried || current == _PyEval_EvalFrameDefault) installed.first = current;
  installed.below = current;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), hook);
}

Mark mark_of_frame(Frame frame) {
  PyObject* function = frame.is_fresh() ? frame.function() : nullptr;
  return function && PyFunction_Check(function) ? mark_of(function) : Mark::None;
}

// The user has said by PyTorch's controls what of it is not captured.
PyObject* run_marked(Mark mark, PyThreadState* thread, _PyInterpreterFrame* frame) {
  if (mark == Mark::Alone) return run_below(thread, frame, 0);
  if (mark == Mark::OneInner) {
    const UncapturedCallees inner(frame);
    return run_below(thread, frame, 0);
  }
  const PauseCapture pause;
  return run_below(thread, frame, 0);
}

PyObject* hook(PyThreadState* thread, _PyInterpreterFrame* frame, int throwing) {
  ThreadCapture& here = this_thread;
  if (!here.stack_end) here.stack_end = find_stack_end();
  if (static_cast<const char*>(__builtin_frame_address(0)) < here.stack_end && !throwing) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is used up");
    return nullptr;
  }
  if (here.handler && here.paused == 0 && !here.off && !throwing) {
    if (here.uncaptured > 0) {
      --here.uncaptured;
      return run_below(thread, frame, throwing);
    }
    if (here.aside && running_frame(thread) == here.aside) return run_below(thread, frame, throwing);
    if (const Mark mark = mark_of_frame(Frame(frame)); mark != Mark::None)
      return run_marked(mark, thread, frame);
    if (wanted(here, thread, Frame(frame))) return here.handler->run(thread, frame);
    if (const CodeEntry* entry = find_entry(Frame(frame).code()); entry && entry->pauses) {
      const PauseCapture pause;
      return run_below(thread, frame, throwing);
    }
  }
  return run_below(thread, frame, throwing);
}

}  // namespace

uint32_t next_policy() {
  return ++installed.policies;
}

ActiveCapture::ActiveCapture(FrameHandler& handler)
    : handler_before_(this_thread.handler),
      paused_before_(this_thread.paused),
      aside_before_(std::exchange(this_thread.aside, nullptr)) {
  this_thread.handler = &handler;
  this_thread.paused = 0;
  put_in_place();
  ++installed.active;
}

ActiveCapture::~ActiveCapture() {
  this_thread.handler = handler_before_;
  this_thread.paused = paused_before_;
  this_thread.aside = aside_before_;
  if (--installed.active > 0) return;
  const _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  if (current == hook) {
    _PyInterpreterState_SetEvalFrameFunc(interpreter(), installed.below);
    installed.buried = installed.below != installed.first;
  } else {
    installed.above = current;
    installed.buried = current != installed.first;
  }
}

PauseCapture::PauseCapture() {
  ++this_thread.paused;
}
PauseCapture::~PauseCapture() {
  --this_thread.paused;
}

UncapturedFrames::UncapturedFrames(int64_t frames) : before_(std::exchange(this_thread.uncaptured, frames)) {}
UncapturedFrames::~UncapturedFrames() {
  this_thread.uncaptured = before_;
}

UncapturedCallees::UncapturedCallees() : UncapturedCallees(running_frame(PyThreadState_Get())) {}
UncapturedCallees::UncapturedCallees(const _PyInterpreterFrame* caller)
    : before_(std::exchange(this_thread.aside, caller)) {}
UncapturedCallees::~UncapturedCallees() {
  this_thread.aside = before_;
}

bool switch_capture_off(bool off) {
  return std::exchange(this_thread.off, off);
}

bool capture_is_off() {
  return this_thread.off;
}

HookState hook_state() {
  return {_PyInterpreterState_GetEvalFrameFunc(interpreter()) == hook, installed.active,
          this_thread.handler && this_thread.paused == 0 && !this_thread.off};
}

}  // namespace vitrine::capture
