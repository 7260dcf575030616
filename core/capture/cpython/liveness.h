// Which of its locals a function may still read.
#pragma once

#include "core/capture/cpython/bytecode.h"

namespace vitrine::capture {

// Whether the code may read the local of that slot from the instruction that starts at pc on, before it
// stores another value there; also: delete it, or let others see it (locals(), eval(), a debugger). Needs the
// GIL.
bool may_be_read(const Bytecode& code, int pc, int slot);

}  // namespace vitrine::capture
