// The same graph under another stage's name: where one stage of the pipeline hands over to the next.
#pragma once

#include <string>

#include "core/ir/graph.h"

namespace vitrine::ir {

GraphPtr restage(const GraphPtr& graph, const std::string& stage);  // same pointer if it has that name

}  // namespace vitrine::ir
