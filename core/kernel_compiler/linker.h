// lld as a function: one object in, one shared object out.
#pragma once

#include <string>

#include "core/base/result.h"

namespace vitrine::kernel_compiler {

struct LinkOutcome {
  Status failed;
  bool can_run_again = true;  // false: lld asks for a fresh process
};
LinkOutcome link_shared(const std::string& object, const std::string& output);

}  // namespace vitrine::kernel_compiler
