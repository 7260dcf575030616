// The frame hook (PEP 523). It is in place only while a compiled callable runs on some thread; it calls what
// it found there for every frame it does not take, and puts that back. torch._dynamo does the same in the
// same process, so whoever comes last may find the other above or below.
#pragma once

#include <cstdint>

struct _object;
struct _PyInterpreterFrame;
struct _ts;

namespace vitrine::capture {

// Runs the frames it wants, in the extent of an ActiveCapture.
class FrameHandler {
 public:
  // Handlers of one policy (not 0) agree on which code they want: the verdict is remembered with the code.
  // 1 is the engine's own; next_policy() gives out others.
  explicit FrameHandler(uint32_t policy) : policy(policy) {}
  virtual ~FrameHandler() = default;
  // Of a function's code (no generator, coroutine, class body or module). Asked once a code object, with
  // capture paused. Leaves no Python error set.
  virtual bool wants(_object* code) = 0;
  // Runs a fresh frame: new reference, or nullptr with a Python error set. Throws nothing.
  virtual _object* run(_ts* thread, _PyInterpreterFrame* frame) noexcept = 0;
  const uint32_t policy;
};

// A policy number nobody has had.
uint32_t next_policy();

// While it lives, `handler` is offered this thread's frames, and the hook is in place. Nests. Needs the GIL.
class ActiveCapture {
 public:
  explicit ActiveCapture(FrameHandler& handler);
  ~ActiveCapture();
  ActiveCapture(const ActiveCapture&) = delete;
  ActiveCapture& operator=(const ActiveCapture&) = delete;

 private:
  FrameHandler* handler_before_;
  int paused_before_;
  const _PyInterpreterFrame* aside_before_;
};

// While it lives, no frame of this thread is captured: vitrine.disable, compilation, the inside of a graph.
class PauseCapture {
 public:
  PauseCapture();
  ~PauseCapture();
  PauseCapture(const PauseCapture&) = delete;
  PauseCapture& operator=(const PauseCapture&) = delete;
};

// While it lives, this many frames of this thread are not captured; those after them are. For a call that is
// not worth a capture, unless a whole program hangs on it.
class UncapturedFrames {
 public:
  explicit UncapturedFrames(int64_t frames);
  ~UncapturedFrames();
  UncapturedFrames(const UncapturedFrames&) = delete;
  UncapturedFrames& operator=(const UncapturedFrames&) = delete;

 private:
  int64_t before_;
};

// While it lives, no frame is captured that the frame which runs now calls itself; what those call is.
class UncapturedCallees {
 public:
  UncapturedCallees();
  // The same of a frame that is about to run.
  explicit UncapturedCallees(const _PyInterpreterFrame* caller);
  ~UncapturedCallees();
  UncapturedCallees(const UncapturedCallees&) = delete;
  UncapturedCallees& operator=(const UncapturedCallees&) = delete;

 private:
  const _PyInterpreterFrame* before_;
};

// Turns capture off in this thread until it is turned on again, whatever begins or ends in between. Returns
// what it was.
bool switch_capture_off(bool off);
bool capture_is_off();

struct HookState {
  bool installed = false;  // the interpreter calls the hook directly
  int active = 0;          // ActiveCapture objects of all threads
  bool capturing = false;  // this thread's frames are offered to a handler
};
HookState hook_state();

}  // namespace vitrine::capture
