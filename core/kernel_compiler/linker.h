// lld as a function: one object in, one shared object out.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::kernel_compiler {

struct LinkOutcome {
  Status failed;
  std::string shared;         // the shared object
  bool can_run_again = true;  // false: lld asks for a fresh process
  bool of_machine = false;    // failed, and not for what the object is
};
// No file is made: a full disk or an odd path is nothing to the linker.
LinkOutcome link_shared(const std::string& object);

}  // namespace vitrine::kernel_compiler
