// What is asked of NumPy's arrays beside the tracer's own questions.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

// What a tensor is indexed with: an array of places (int64), or of which ones (bool), is the tensor behind
// it. PyTorch reads one of more dimensions that stands alone as a tuple of its rows: that and every other key
// comes back as it is.
Value* indices_of_arrays(Tracer& t, Value* key);

}  // namespace vitrine::capture
