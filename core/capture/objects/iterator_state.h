// What CPython's own iterators have left, without moving them and without running the program's code. Needs
// the GIL; no Python error is left set.
#pragma once

#include <cstdint>

struct _object;

namespace vitrine::capture {

// list(iterator) of one over a list, tuple, range, dict, set or text, in either direction, or list(set): a
// new reference, or nullptr.
_object* iterator_rest(_object* iterator);
// Of enumerate, zip, map, filter: 1: the tuple of what it is made of, 2: its state besides, or None. New
// reference, or nullptr.
_object* iterator_state(_object* iterator, int32_t index);
// The container that iterator_rest() reads from; borrowed from the iterator, nullptr when it has none any
// more.
_object* iterated_container(_object* iterator);

}  // namespace vitrine::capture
