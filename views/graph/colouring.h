// What the fill of a graph's nodes tells beside their family: time, bytes, kernel, dtype or error. The number
// or name is always written too.
#pragma once

#include <QStringList>

#include "views/graph/scene.h"

namespace vitrine::views {

enum class Colour { Family, Time, Memory, Kernel, Dtype, Error };
QStringList colour_names();  // by Colour, for the header

// Fills `shade`, and for times, bytes and errors `right`, of each item, and the scene's key.
void colour_scene(Scene& scene, const kit::SessionData& data, Id graph, Colour colour);

}  // namespace vitrine::views
