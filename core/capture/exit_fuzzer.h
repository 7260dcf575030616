// A frame handler for tests: runs every function's frame with the concrete interpreter and hands it to
// CPython at a random instruction, so that each place of each function becomes a resume point sooner or
// later.
#pragma once

#include <cstdint>

#include "core/capture/hook.h"

namespace vitrine::capture {

class FrameLink;
class Machine;

class ExitFuzzer final : public FrameHandler {
 public:
  struct Counts {
    int64_t frames = 0, instructions = 0;
    int64_t forced = 0;   // exits at a random instruction
    int64_t unknown = 0;  // exits at an instruction that is CPython's
    int64_t throws = 0;   // exits into CPython's unwinding
    int64_t returns = 0;  // frames finished here
  };
  // `gap`: mean number of instructions before an exit, at least 1.
  ExitFuzzer(uint64_t seed, int gap) : FrameHandler(next_policy()), state_(seed * 2 + 1), gap_(gap) {}
  bool wants(_object*) override { return true; }
  _object* run(_ts* thread, _PyInterpreterFrame* frame) noexcept override;
  const Counts& counts() const { return counts_; }

 private:
  enum class Way : uint8_t { Return, Raise, CPython };
  uint32_t random();
  Way interpret(_ts* thread, _PyInterpreterFrame* frame, _object** value);
  Way run_some(const FrameLink& link, Machine& machine, _object** value);

  uint64_t state_;
  int gap_;
  Counts counts_;
};

}  // namespace vitrine::capture
