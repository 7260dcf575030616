// "Why not A with B?" of the two things that are selected, as a section of the Inspector.
#pragma once

#include "views/inspector/inspector_content.h"

namespace vitrine::views {

// Whether exactly two nodes, kernels or launches are selected.
bool isPair(const kit::Selection& selection);

// Reads the graph before fusion, so from a job. No rows: they are no pair.
InspectorSection inspectPair(const kit::SessionData& session, Id a, Id b);

}  // namespace vitrine::views
