#include "core/autodiff/rules.h"

#include <unordered_map>

#include "core/base/result.h"
#include "core/ops/call.h"
#include "core/ops/node.h"

namespace vitrine::autodiff {

std::vector<const RuleRow*> all_rules() {
  std::vector<const RuleRow*> out;
  for (const auto* family : {&kViewRules, &kReductionRules, &kMatmulRules, &kNormRules, &kIndexRules,
                             &kMoveRules, &kPointwiseRules, &kLossRules})
    for (const RuleRow& row : *family) out.push_back(&row);
  return out;
}

namespace {

GradientRule find_rule(std::string_view op) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, GradientRule> out;
    for (const RuleRow* row : all_rules())
      VITRINE_CHECK(out.emplace(row->op, row->rule).second, "two rules for " + std::string(row->op));
    return out;
  }();
  auto it = kByName.find(op);
  return it == kByName.end() ? nullptr : it->second;
}

}  // namespace

Derivation derivation_of(const ir::Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  if (row && row->gradient == ops::kFunctional) row = ops::functional_of(node.op);
  if (!row || ops::is_borrowed(*row)) refuse(node.op + " has no gradient rule");
  if (row->gradient.starts_with("nondifferentiable")) refuse(node.op + " has no derivative");
  if (row->gradient != ops::kRule) return {nullptr, row->gradient};
  const GradientRule rule = find_rule(row->name);
  VITRINE_CHECK(rule, std::string(row->name) + " says that it has a gradient rule");
  return {rule, {}};
}

}  // namespace vitrine::autodiff
