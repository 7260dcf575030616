// A live CPython frame, version-free. One implementation file a minor version (frame_311.cpp, ...), and
// frame_classic.cpp and thread_classic.cpp for what some share: nothing else knows _PyInterpreterFrame.
// Instruction positions are byte offsets as `dis` prints them.
#pragma once

#include <cstddef>
#include <cstdint>

struct _object;
struct _PyInterpreterFrame;
struct _ts;

namespace vitrine::capture {

class Frame {
 public:
  explicit Frame(_PyInterpreterFrame* frame) : f_(frame) {}
  _object* code() const;                     // borrowed
  _object* function() const;                 // borrowed
  _object* globals() const;                  // borrowed
  _object* builtins() const;                 // borrowed
  int local_count() const;                   // localsplus slots: locals, cells, free variables
  _object* local(int slot) const;            // borrowed, nullptr = unbound; a cell slot gives the cell object
  void set_local(int slot, _object* owned);  // steals, releases what was there
  int depth() const;                         // value stack entries
  _object* stack(int index) const;           // borrowed, nullptr = NULL entry; 0 = bottom
  void set_stack(int index, _object* owned);
  void push(_object* owned);
  _object* pop();  // new reference
  void truncate(
      int depth);  // releases entries above, lowest first (the order in which CPython drops operands)
  int pc() const;  // next instruction to run (start of it, EXTENDED_ARG included), bytes
  void set_pc(int pc);
  _PyInterpreterFrame* raw() const { return f_; }

  // While the instruction whose opcode stands at `at` runs: what tracebacks and sys._getframe() show.
  void set_running(int at);
  // `count` entries of the stack from `index` on, in place. Callees may use the entry before them as scratch.
  _object* const* stack_span(int index) const;
  // All calls of locals(), and of what works on it (eval, dir), fill one dict; and it has that dict by now.
  bool shares_locals() const;
  bool has_locals_dict() const;
  // At its very beginning, run by a thread (not a generator that resumes).
  bool is_fresh() const;

 private:
  _PyInterpreterFrame* f_;
};

// Makes a frame the thread's current one while C++ runs it, as CPython's evaluation loop does at its start.
// leave() undoes it; the destructor does too.
class FrameLink {
 public:
  FrameLink(_ts* thread, Frame frame);
  ~FrameLink() { leave(); }
  FrameLink(const FrameLink&) = delete;
  FrameLink& operator=(const FrameLink&) = delete;
  // False: the recursion limit is reached, a Python error is set and nothing may run.
  bool entered() const { return entered_; }
  // sys.settrace() or sys.setprofile() was switched on meanwhile.
  bool tracing() const;
  void leave();

 private:
  _ts* thread_;
  bool linked_ = true, entered_ = false;
  alignas(8) std::byte cframe_[32];
};

// True when tracing, profiling or monitoring is on in this thread or for this frame's code: it then belongs
// to CPython's own loop.
bool is_traced(_ts* thread, Frame frame);

// The frame that the thread runs now, nullptr = none.
_PyInterpreterFrame* running_frame(_ts* thread);

// Signals, pending calls, a wish of another thread for the interpreter lock.
bool interrupt_requested(_ts* thread);
enum class Interrupt : uint8_t { Handled, Raised, NeedsCPython };
Interrupt handle_interrupt(_ts* thread);

// Whether this is the thread that Python runs handlers of signals in.
bool is_main_thread();

// A frame as it came to the hook goes to CPython's own loop.
_object* run_in_cpython(_ts* thread, Frame frame, bool throwing);

// CPython runs the rest of an unlinked frame: from pc(), or (`raise`) unwinding the error that is set from
// the instruction given to set_running(). New reference, or nullptr with a Python error set.
_object* continue_in_cpython(_ts* thread, Frame frame, bool raise);

// The end of an unlinked frame that was run to its end: steals `owned`, its value, and gives it back as a
// hook must return it.
_object* leave_with(_ts* thread, Frame frame, _object* owned);

}  // namespace vitrine::capture
