// "Did you mean": what a mistyped name was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// How many letters are added, left out, changed or swapped with their neighbour; capitals count as small.
size_t edit_distance(std::string_view a, std::string_view b);

// The known name nearest to the word, or one that the word begins; "" when none is near.
std::string closest(std::string_view word, const std::vector<std::string>& known);

// " Did you mean \"kernels\"?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace vitrine
