// Where a call has its callable on the value stack: two entries lie below its arguments. With a self they are
// the function and self; without one they are NULL and the callable, from CPython 3.13 on in the other order.
#pragma once

#include <Python.h>

namespace vitrine::capture {

inline constexpr bool kNullFollows = PY_VERSION_HEX >= 0x030D0000;

// The callable of the two entries; the second is self when both are there.
template <class Entry>
Entry callable_of(Entry lower, Entry upper) {
  return lower ? lower : upper;
}

}  // namespace vitrine::capture
