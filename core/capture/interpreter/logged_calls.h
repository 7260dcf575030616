// Functions that torch._dynamo.config names: those that may be called behind a graph
// (reorderable_logging_functions: print, say), and those that need not be called at all
// (ignore_logging_functions).
#pragma once

#include <vector>

#include "core/capture/interpreter/commit/recipes.h"
#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// nullptr: it is called where the program calls it.
Value* call_behind(Tracer& t, PyObject* function, const Arguments& arguments);
std::vector<Effect> logged_effects(Tracer& t, RecipeMaker& make);

}  // namespace vitrine::capture
