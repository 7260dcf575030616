// What stands beside the rows of loops and kernels: brackets of the kernels that loops will become, and bars
// of the memory traffic of generated code, before and after fusion on one scale.
#pragma once

#include "views/graph/graph_painter.h"

namespace vitrine::views {

// Fills scene.beside for a snapshot of stage "loops" or "fused"; nothing for other stages.
void add_beside(Scene& scene, const kit::SessionData& data, const session::GraphRow& graph);

// At the left of `picture` and behind its lanes, in scene coordinates.
// Without bars only the brackets stand there.
// visible: what of the scene is in sight; nothing else is painted.
void paint_beside(QPainter& painter, const GraphPicture& picture, bool bars, const QRectF& visible);

// The middle of what is in sight of a stretch: there its name can be read wherever the view stands.
double middle_in_sight(double top, double bottom, const QRectF& visible);

// The head of the bars' column, "traffic MB": it stays at the top of `view` whatever the rows below do.
constexpr double kBesideHead = 22;
void paint_beside_head(QPainter& painter, const QRectF& view, const GraphPicture& picture,
                       const Camera& camera);

}  // namespace vitrine::views
