// functools.lru_cache.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* call_cached(Tracer& t, Value* function, Arguments arguments);  // functools.lru_cache
std::vector<Effect> cache_effects(Tracer& t, class RecipeMaker& make);

// Of the break: what no cache held, and what was computed in vain.
inline NotCached take_not_cached(Tracer& t) {
  return std::move(t.pure.not_cached);
}
void guard_not_cached(Tracer& t, const NotCached& keys);
void check_cached_read(Tracer& t, PyObject* read);
void check_cached_write(Tracer& t, Value* v);  // nullptr: a global

}  // namespace vitrine::capture
