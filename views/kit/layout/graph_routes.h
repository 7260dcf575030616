// The lines of a layout, once all boxes stand. See graph_layout.h for the rules.
#pragma once

#include "views/kit/layout/graph_layout.h"

namespace vitrine::kit {

// Fills layout.edges, one route an edge, from layout.nodes.
void route_edges(const LayoutGraph& graph, const LayoutMetrics& metrics, GraphLayout& layout);

}  // namespace vitrine::kit
