// Functions of PyTorch that are given symbolic floats.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// A function of PyTorch that is given a symbolic float and keeps it so; nullptr: it is given none, or fixes
// it.
Value* call_with_symbolic_float(Tracer& t, const std::string& name, const Arguments& a);
Value* method_with_symbolic_float(Tracer& t, Value* self, const std::string& name, const Arguments& a);
}  // namespace vitrine::capture
