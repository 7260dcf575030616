// The minimum cut behind partition(): which values of a joint graph forward keeps for backward.
#pragma once

#include <vector>

#include "core/autodiff/partition_classes.h"

namespace vitrine::autodiff {

struct Kept {
  std::vector<ir::Ref> values;  // in the joint graph's order; inputs and results that backward reads included
  int64_t bytes = 0;            // beside inputs and results
};

// All that backward reads of forward: what eager keeps. Views of inputs are not kept but made again.
Kept keep_all(const PartitionClasses& classes);
// As little as possible: everything else that backward reads follows from it by cheap operators.
Kept keep_least(const PartitionClasses& classes);

}  // namespace vitrine::autodiff
