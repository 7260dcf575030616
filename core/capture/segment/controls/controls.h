// What the program has told torch.compile as a whole, and holds for Vitrine too: torch.compiler.set_stance
// and torch._dynamo.config.disable. torch._dynamo is never loaded for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/capture/objects/owned.h"

namespace vitrine::capture {

enum class Stance : uint8_t {
  Default,
  Eager,             // force_eager
  EagerOnRecompile,  // what is compiled runs, nothing is compiled
  FailOnRecompile,   // the same, and what would be compiled is an error
};

// Each may leave the error set that a signal's handler raised meanwhile.
class Controls {
 public:
  // A few loads while the program has not changed it.
  Stance stance();
  // Asked before something is compiled.
  bool switched_off() const;
  // What the program has set for torch.compile and Vitrine does not follow, each once: sentences.
  std::vector<std::string> not_followed() const;

 private:
  PyRef module_;  // torch._dynamo.eval_frame once it is loaded
  PyRef seen_;    // its stance, as it was read
  Stance stance_ = Stance::Default;
};

}  // namespace vitrine::capture
