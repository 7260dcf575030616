// Filters of warnings that the program changes.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

std::vector<Effect> warning_filter_effects(Tracer& t, class RecipeMaker& make);

}  // namespace vitrine::capture
