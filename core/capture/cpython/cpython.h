// CPython's own frame and interpreter structures, for the version-specific files of this folder. CPython's
// atomics header is C11 and does not compile as C++; without HAVE_STD_ATOMIC it takes the compiler's
// builtins.
#pragma once

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <pyconfig.h>
#undef HAVE_STD_ATOMIC
#include <Python.h>
