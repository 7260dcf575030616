// What the frame loop (driver.h) asks at each candidate position of a frame: is there compiled code from
// here? Implemented over segments, guards and traces; the loop knows nothing of these.
#pragma once

#include <cstdint>

struct _object;

namespace vitrine::capture {

class Frame;

struct SegmentOutcome {
  enum class Kind : uint8_t {
    Ran,  // frame committed: locals, stack and pc are those after the segment. The instruction at pc must
          // now run for real; then the loop asks again. pc may be unchanged (an empty segment).
    Returned,  // `value`: what the frame returns
    Raised,    // a Python error is set: raise it at pc; the frame is as CPython would have it there
    None,      // nothing here, frame untouched: run on concretely
  };
  Kind kind = Kind::None;
  bool eager_rest = false;   // None: nothing more to find in this call of the frame; CPython takes over
  bool calls_too = false;    // with eager_rest: what this call of the frame calls is not captured either
  bool plain_call = false;   // Ran, None: what the instruction at pc calls is not captured, unless it is long
  _object* value = nullptr;  // Returned: a new reference
  bool raises = false;       // with calls_too: CPython is to come upon an error in this call of the frame

  static SegmentOutcome ran() { return {Kind::Ran}; }
  static SegmentOutcome returned(_object* value) { return {Kind::Returned, false, false, false, value}; }
  static SegmentOutcome raised() { return {Kind::Raised}; }
  static SegmentOutcome none() { return {Kind::None}; }
  static SegmentOutcome eager() { return {Kind::None, true}; }
  static SegmentOutcome eager_throughout() { return {Kind::None, true, true}; }
  static SegmentOutcome eager_until_raised() { return {Kind::None, true, true, false, nullptr, true}; }
};

class SegmentStore {
 public:
  virtual ~SegmentStore() = default;
  // Called with the GIL, the frame linked as the thread's current one, and capture paused in this thread.
  // pc() is the start of an instruction; the value stack is as CPython has it there. May run and compile
  // anything; must leave the frame as it was unless it returns Ran. An InternalError it throws means that the
  // frame is untouched: eager runs it on.
  virtual SegmentOutcome at(Frame& frame) = 0;
  // A frame of which an error was expected (SegmentOutcome::raises) has returned. Sets the error that says
  // so.
  virtual void did_not_raise() {}
};

}  // namespace vitrine::capture
