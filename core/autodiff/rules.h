// Gradient rules that do not fit into a cell of the operator table. An operator whose `gradient` cell says
// "rule" has one row here, in the file of its family; the equation stands above each function, with g for the
// gradient of the result y.
#pragma once

#include <string_view>
#include <vector>

#include "core/autodiff/vjp.h"

namespace vitrine::autodiff {

using GradientRule = void (*)(Vjp& v);

struct RuleRow {
  std::string_view op;
  GradientRule rule;
};
extern const std::vector<RuleRow> kViewRules, kReductionRules, kMatmulRules, kNormRules, kIndexRules,
    kMoveRules, kPointwiseRules, kLossRules;
std::vector<const RuleRow*> all_rules();

// y = x, in the same memory or another, in another type
inline void same(Vjp& v) {
  v.give(0, v.g());
}

// How the gradient of a node is written: a function, or formulas. An operator that writes its argument has
// that of the operator which computes the same.
struct Derivation {
  GradientRule function = nullptr;
  std::string_view formulas;
};
Derivation derivation_of(const ir::Node& node);  // throws Refused

}  // namespace vitrine::autodiff
