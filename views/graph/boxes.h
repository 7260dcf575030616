// How large each box of a scene is, by what it says.
#pragma once

#include "views/graph/scene.h"

namespace vitrine::views {

// Heights are those of the scene, in pixels of scale 1. compact: rows of one line.
void size_boxes(Scene& scene, bool compact);

}  // namespace vitrine::views
