// A graph as text for the clipboard: the nodes of `taken` in order, and how they hang together.
#pragma once

#include <QString>
#include <set>

#include "views/kit/session/session_data.h"

namespace vitrine::views {

// "gelu = aten.gelu.default(%addmm) : f32[8,3072]", a line a node.
QString graphText(const kit::SessionData& data, Id graph, const std::set<Id>& taken);

// A digraph in DOT with the edges between them.
QString graphDot(const kit::SessionData& data, const session::GraphRow& graph, const std::set<Id>& taken);

// A Python function of them, named as the stage: what is read and not made in it are its parameters, what is
// made and read by none of it is returned, of an operator with several results all. Sizes are those of the
// recorded call.
QString graphPython(const kit::SessionData& data, const session::GraphRow& graph, const std::set<Id>& taken);

}  // namespace vitrine::views
