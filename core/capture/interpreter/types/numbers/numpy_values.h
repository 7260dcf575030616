// NumPy's numbers.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

bool is_numpy_number(PyObject* o);         // numpy.float64(2.5): immutable, compared by type and value
bool is_numpy_function(PyObject* o);       // numpy.sqrt, numpy.prod
PyObject* without_numpy(PyObject* owned);  // such a number as Python's; anything else as it is
Value* call_numpy(Tracer& t, PyObject* callable, const Arguments& arguments);  // nullptr: other
// nullptr: no number of NumPy's
Value* numpy_operator(Tracer& t, const std::string& name, PyObject* a, PyObject* b);

}  // namespace vitrine::capture
