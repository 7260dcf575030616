#include "core/capture/objects/extent.h"

#include "core/ir/types.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

MemoryExtent extent_of(_object* tensor) {
  const torch_api::Handle handle = torch_api::handle_of(tensor);
  const torch_api::TensorView v = torch_api::view(handle);
  const int64_t item = ir::dtype_bytes(ir::dtype_from_scalar_type(v.scalar_type));
  int64_t last = 0;
  for (int64_t d = 0; d < v.ndim; ++d) {
    if (v.sizes[d] == 0) return {};
    last += (v.sizes[d] - 1) * v.strides[d];
  }
  const char* begin = static_cast<const char*>(torch_api::data(handle));
  return {begin, begin + (last + 1) * item};
}

}  // namespace vitrine::capture
