// Comparing and naming Python values without running the user's code.
#pragma once

#include "core/capture/objects/python.h"

#include <cstdint>
#include <span>
#include <string>

namespace vitrine::capture {

// Same exact type and same value: floats and complex numbers bit by bit (NaN equals itself, -0.0 is not 0.0),
// tuples, slices and ranges member by member; objects of any other type only if they are the same object.
// Never leaves an error.
bool same_constant(PyObject* a, PyObject* b);

// A short text for people: "3", "'sum'", "f32[8,128]", "<Config object>". Never runs a user's __repr__.
std::string describe(PyObject* o);

// How much a builtin container, or one derived from it, holds; -1 for anything else.
int64_t builtin_length(PyObject* o);

bool is_deque(PyObject* o);  // collections.deque itself

// Two sets (the second exactly a set or frozenset) have equal members, each as same_constant().
bool same_set(PyObject* a, PyObject* b);

// The keys of a dict, in order, equal a tuple of constants.
bool same_keys(PyObject* dict, std::span<PyObject* const> keys);

// Position of a list, tuple or range iterator, -1 for an exhausted one and for any other object. `sequence`
// receives what it walks (borrowed; nullptr for a range).
int64_t iterator_position(PyObject* iterator, PyObject** sequence);
// Calls next() `steps` times; one that ends before stays at its end. false: a Python error is set.
bool advance_iterator(PyObject* iterator, int64_t steps);

}  // namespace vitrine::capture
