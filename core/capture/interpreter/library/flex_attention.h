// flex_attention's operator, on which a compiler's way through PyTorch's Python code ends.
#pragma once

#include "core/capture/interpreter/tracer.h"

namespace vitrine::capture {

Value* flex_attention(Tracer& t, const Arguments& arguments);
Value* get_item_at_places(Tracer& t, Value* tensor, Value* key);

}  // namespace vitrine::capture
