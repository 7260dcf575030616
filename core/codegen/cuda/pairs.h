// Two reductions in one pass over memory, although the second needs the first's result: the sum of
// exp(x - max x), rescaled whenever a larger x comes, the sum of (x - mean x)^2, moved to each new mean, and
// the first place of the largest or smallest x.
// M. Milakov, N. Gimelshein: Online normalizer calculation for softmax, 2018.
// T. Chan, G. Golub, R. LeVeque: Updating formulae and a pairwise algorithm for computing sample variances,
// 1979.
#pragma once

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen::cuda {

// Joins such phases of a schedule that keeps nothing between them: schedule.pairs says which.
void join_pairs(Schedule& schedule);

}  // namespace vitrine::codegen::cuda
