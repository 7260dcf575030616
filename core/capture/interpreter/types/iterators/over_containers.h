// Iterators over what holds its items.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* new_iterator(Tracer& t, IteratorKind kind, Values children);

}  // namespace vitrine::capture
