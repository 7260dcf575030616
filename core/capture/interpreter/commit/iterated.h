// What an iterator walks over.
#pragma once

#include "core/capture/interpreter/value.h"

namespace vitrine::capture {

// iterate.cpp: the dict behind an iterator over it or over one of its views; nullptr for every other
// iterator.
Value* iterated_dict(const IteratorState& s);

}  // namespace vitrine::capture
