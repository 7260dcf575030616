// The commands and their keys, one row each: menus, palette, tooltips and the page of keys are made from it.
#pragma once

#include <QString>
#include <span>
#include <string_view>

namespace vitrine::kit {

struct CommandInfo {
  const char* id;     // "file.open"
  const char* title;  // "Open…"
  const char* menu;  // "File"; several separated by a space, "File/Export": in a menu of it; "" = palette and
                     // keys only
  const char* keys;  // "Ctrl+O"; several separated by a space
  const char* about;    // "" or one line for the palette
  bool single = false;  // a single letter: acts only in views, never in text fields
};

std::span<const CommandInfo> commands();
const CommandInfo* commandInfo(std::string_view id);

}  // namespace vitrine::kit
