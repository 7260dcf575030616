// What a recompilation changed: guards, graph, kernels and times of two compilations, as lines of rich text.
#pragma once

#include <QPair>
#include <QString>
#include <vector>

#include "views/kit/session/session_data.h"

namespace vitrine::views {

// Name and text of each part that tells something, in order: guards, graph, kernels, times. Escaped.
std::vector<QPair<QString, QString>> recompilation_diff(const kit::SessionData& data, Id before, Id after);

}  // namespace vitrine::views
