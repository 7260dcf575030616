// Signals while Vitrine itself works: PyTorch's Python code runs then, and what a handler raises there would
// be taken for that code's own error, and lost.
#pragma once

namespace vitrine::capture {

// While it lives, no handler that is written in Python runs; those of signals that came meanwhile run at the
// program's next instruction. Only in the main thread, where Python runs handlers. Needs the GIL. What came
// before is handled first. What a handler has raised is set as Python's error at the end.
class SignalsAside {
 public:
  SignalsAside();
  ~SignalsAside();
  SignalsAside(const SignalsAside&) = delete;
  SignalsAside& operator=(const SignalsAside&) = delete;
  bool raised() const;  // a handler has
  // Runs the handlers of what came so far, between two steps of Vitrine's own. Whether one has raised; no
  // error is set yet.
  static bool handle();

 private:
  bool outermost_ = false;
};

// Whether the error that is set is none of what ran, but a signal's: KeyboardInterrupt, or one that a handler
// raised. It stays set.
bool is_of_signal();

// Takes the error that is set, and raises it in the program where Python would run a signal's handler next.
// false: that cannot be; it stays set.
bool raise_soon();

}  // namespace vitrine::capture
