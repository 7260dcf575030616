// Objects of which something runs when they die: __del__, a callback of a weak reference, the `finally` of a
// generator. Needs the GIL; no Python error is left set.
#pragma once

struct _object;

namespace vitrine::capture {

bool has_finalizer(_object* o);
// Of what a list, tuple, set, dict, deque or cell holds.
bool has_finalizer_inside(_object* container);
// Of what the object's own dict or slot has under this name; false where it has none.
bool has_finalizer_under(_object* object, _object* name);

}  // namespace vitrine::capture
