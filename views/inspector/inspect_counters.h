// What the GPU's own counters and samples say of a kernel, as sections of the Inspector.
#pragma once

#include <vector>

#include "views/inspector/inspector_content.h"
#include "views/kit/session/session_data.h"

namespace vitrine::views {

// None where nothing was counted or sampled.
std::vector<InspectorSection> countedOf(const kit::SessionData& data, const session::KernelRow& kernel);

}  // namespace vitrine::views
