// How a graph is differentiated: who writes the derivative, and what of its division is dictated.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "core/autodiff/pins.h"

namespace vitrine::torch_api {

// Who writes the derivative: our rules where they cover the whole graph, else PyTorch's own backward; or
// always the latter.
enum class Gradients : uint8_t { own, borrowed };

struct GradientWishes {
  Gradients who = Gradients::own;
  autodiff::Pins pins;
  std::set<std::string, std::less<>> without;  // passes before the derivative that are switched off
  bool operator==(const GradientWishes&) const = default;
};

}  // namespace vitrine::torch_api
