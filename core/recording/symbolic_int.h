// Ints of a traced program whose value may be another one in the next call. To PyTorch they are plain ints (a
// class derived from int); a recording tells them from constants by their class, and keeps their number.
#pragma once

#include <cstdint>

struct _object;

namespace vitrine::torch_api {

// New reference; nullptr: a Python error is set.
_object* make_symbolic_int(int64_t hint, int32_t number);
// The number it was made with; -1: any other object.
int32_t symbolic_number(_object* o);

}  // namespace vitrine::torch_api
