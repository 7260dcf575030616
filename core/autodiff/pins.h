// What a person wants of values of a joint graph: that forward keeps them, or that backward computes them
// again.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vitrine::autodiff {

enum class Pin : uint8_t { saved, recomputed };
using Pins = std::map<std::string, Pin>;  // by the name of the value's node

}  // namespace vitrine::autodiff
