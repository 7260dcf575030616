// What is asked of NumPy's arrays beside the tracer's own questions.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// What a value is to NumPy; Scalar: a number that is known when the program runs.
enum class ArrayKind : uint8_t { None, Array, Scalar };

// What a tensor is indexed with: an array of places (int64), or of which ones (bool), is the tensor behind
// it. PyTorch reads one of more dimensions that stands alone as a tuple of its rows: that and every other key
// comes back as it is.
Value* indices_of_arrays(Tracer& t, Value* key);

ArrayKind array_kind(Tracer& t, Value* v);
bool enter_array(Tracer& t, Value* v);
void check_arrays_unwritten(Tracer& t);
Value* call_on_arrays(Tracer& t, PyObject* function, const Arguments& arguments);
Value* tensor_of_array(Tracer& t, const std::string& name, const Arguments& arguments);
Value* array_of_tensor(Tracer& t, Value* tensor, Arguments arguments);

}  // namespace vitrine::capture
