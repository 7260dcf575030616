// What the arguments of each attention say alike.
#pragma once

#include <optional>

#include "core/ir/graph.h"

namespace vitrine::ops {

// The factor of the scores; None: one over the root of a row's width. nullopt: it is not known.
std::optional<double> scale_of_scores(const ir::Arg& scale, const ir::Sym& width);

// One head of keys and values for each of the query's, or one for several beside each other.
bool heads_fit(const ir::Sym& groups, const ir::Sym& heads);

}  // namespace vitrine::ops
