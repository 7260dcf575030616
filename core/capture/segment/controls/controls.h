// What the program has told torch.compile as a whole, and holds for Vitrine too: torch.compiler.set_stance,
// and the settings of torch._dynamo.config that vitrine.config has as well. torch._dynamo is never loaded for
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/capture/objects/owned.h"
#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// By the numbers of vitrine._controls.
enum class Stance : uint8_t {
  Default,
  Eager,             // force_eager
  EagerOnRecompile,  // what is compiled runs, nothing is compiled
  FailOnRecompile,   // the same, and what would be compiled is an error
  EagerThenCompile,  // the first call of a function is eager's
  ForcedBackend,     // another backend in the place of each callable's own
};

// Of vitrine.config and torch._dynamo.config, by the names that they have there. What nobody has set is as it
// stands here.
struct CompilerSettings {
  std::optional<int64_t> recompile_limit, accumulated_recompile_limit;
  bool disable = false, error_on_recompile = false, fail_on_recompile_limit_hit = false;
  bool suppress_errors = false;
  bool assume_static_by_default = true, automatic_dynamic_shapes = true;
  bool specialize_int = false, specialize_float = false, allow_ignore_mark_dynamic = false;
  std::optional<bool> capture_scalar_outputs, capture_dynamic_output_shape_ops;
};

// Each may leave the error set that a signal's handler raised meanwhile.
class Controls {
 public:
  // A few loads while the program has not changed it.
  Stance stance();
  // Asked before something is compiled.
  CompilerSettings settings() const;
  // torch._dynamo's callbacks and counters, while torch.compile is taken over. trace: null where none was
  // made.
  void compilation_begins() const;
  void compilation_ends(const Trace* trace) const;
  // What the program has set for torch.compile and Vitrine does not follow, each once: sentences.
  std::vector<std::string> not_followed() const;

 private:
  PyRef module_;  // torch._dynamo.eval_frame once it is loaded
  PyRef seen_;    // its stance, as it was read
  Stance stance_ = Stance::Default;
};

}  // namespace vitrine::capture
