// What a function is called with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/capture/interpreter/state/value.h"

namespace vitrine::capture {

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value*>> keyword;
  Value* find(const std::string& name) const {
    for (const auto& [key, value] : keyword)
      if (key == name) return value;
    return nullptr;
  }
};

}  // namespace vitrine::capture
