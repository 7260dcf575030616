// Softmax over rows that do not fit into registers: the maximum and the sum of exp(x - maximum) in one pass
// over memory, the sum rescaled whenever a larger x comes.
// M. Milakov, N. Gimelshein: Online normalizer calculation for softmax, 2018.
#pragma once

#include <optional>

#include "core/codegen/cpp/schedule.h"

namespace vitrine::codegen::cuda {

struct OnlineSum {
  cpp::Source x;
  int max, sum;  // values
};

// The pair that phases `phase` and `phase + 1` compute, if they compute nothing else:
// max = max x, sum = sum exp(x - max), in f32, and nothing is stored meanwhile.
std::optional<OnlineSum> online_sum(const cpp::Schedule& schedule, size_t phase);

}  // namespace vitrine::codegen::cuda
