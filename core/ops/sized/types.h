// What PyTorch's operators give where sizes are expressions, of those without a row and of calls that the
// rule of a row does not cover. Of sizes that are numbers PyTorch says it. What a rule gives for the first
// sizes is compared with that (core/capture/segment/symbolic_graph.h), so a rule says how sizes go on.
#pragma once

#include <string_view>

#include "core/ops/table.h"

namespace vitrine::ops {

ShapeRule sized_types(std::string_view op);  // nullptr: there is none

}  // namespace vitrine::ops
