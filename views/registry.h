// Every view of the app, one row each: menus, palette, docks and panes are made from it.
#pragma once

#include <span>
#include <string_view>

#include "views/kit/view.h"

namespace vitrine::views {

// A view, and how a person who does not know it finds it.
struct ViewRow : kit::ViewInfo {
  const char* menu;   // below View: "Time"; "" = only by its id
  const char* about;  // one line for menu and palette
  const char* words;  // what else is typed for it, between commas
};

std::span<const ViewRow> registry();
const kit::ViewInfo* viewInfo(std::string_view id);         // nullptr: no such view
const kit::ViewInfo* viewForStage(std::string_view stage);  // the view that shows it in a pane

}  // namespace vitrine::views
