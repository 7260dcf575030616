// Iteration.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// So many items are taken for an iterator without end.
constexpr size_t kEndless = 1'000'000;

// The dict behind an iterator over it or over one of its views; nullptr for every other iterator.
Value* iterated_dict(const IteratorState& s);
Value* iter(Tracer& t, Value* v);
// nullptr = exhausted; `returned` (may be null) receives what came with StopIteration.
Value* next(Tracer& t, Value* iterator, Value** returned = nullptr);
Values unpack(Tracer& t, Value* v);  // all that it gives
Values listed(Tracer& t, Value* v);  // list(v)

// Each item that an iterator still gives, used before the next is asked for: what makes the items may look at
// what is made of them meanwhile, or raise.
template <class Use>
void for_rest_of(Tracer& t, Value* iterator, Use use) {
  for (size_t n = 1; Value* item = next(t, iterator); ++n) {
    use(item);
    if (n > kEndless) stop("limit", "an iterator without end", "Bound it, with itertools.islice() or zip().");
  }
}
void extend_list(Tracer& t, Value* list, Value* by);

}  // namespace vitrine::capture
