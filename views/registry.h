// Every view of the app, one row each.
#pragma once

#include <span>
#include <string_view>

#include "views/kit/view.h"

namespace vitrine::views {

std::span<const kit::ViewInfo> registry();
const kit::ViewInfo* viewInfo(std::string_view id);         // nullptr: no such view
const kit::ViewInfo* viewForStage(std::string_view stage);  // the view that shows it in a pane

}  // namespace vitrine::views
