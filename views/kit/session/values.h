// What the elements of a compiled value are, in words: of the table `numerics`.
#pragma once

#include <QString>
#include <vector>

#include "core/session/rows.h"

namespace vitrine::kit {

// Counts between commas, if they are so many; else none.
std::vector<double> countsOf(const std::string& text, size_t classes);
// "−3.21 to 4.02, mean 0.012, deviation 0.98"; "" where it is not known.
QString valuesText(const session::NumericsRow& row);
// The elements by their size, from the least to the largest, as bars of a line of text.
QString distributionText(const session::NumericsRow& row);

}  // namespace vitrine::kit
