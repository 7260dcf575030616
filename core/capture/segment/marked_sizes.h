// Whether operators fix a size that the user marked as dynamic. PyTorch's own kernels compute the shapes of a
// recording, and say nothing of which sizes they would take: the program is recorded again for other sizes of
// the mark, and where an operator raises at every one of them, the size is fixed.
#pragma once

#include <optional>
#include <vector>

#include "core/capture/trace/trace.h"

namespace vitrine::capture {

// inputs: tensors by order of Trace::inputs, which are not changed. as_if: as of TraceOptions. Nothing:
// there is no such mark, it is kept, or that cannot be told. Needs the GIL.
std::optional<MarkError> mark_fixed_by_operators(const Trace& trace, const std::vector<_object*>& inputs,
                                                 const std::optional<ir::Device>& as_if);

}  // namespace vitrine::capture
