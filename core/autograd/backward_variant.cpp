#include "core/autograd/backward_variant.h"

#include <unordered_set>

#include "core/autodiff/undefined_tangents.h"

namespace vitrine::torch_api {

const ir::GraphPtr& whole_backward(const Joint& joint, bool cut) {
  return cut ? joint.cut.backward : joint.halves.backward;
}

ir::GraphPtr backward_of(const Joint& joint, const BackwardVariant& asked) {
  const ir::GraphPtr& backward = whole_backward(joint, asked.cut);
  const std::vector<const ir::Node*> inputs = backward->inputs();
  const size_t first = joint.halves.handed_over();
  std::vector<ir::NodeId> tangents;
  std::unordered_set<ir::NodeId> undefined;
  for (size_t i = 0; i < asked.defined.size(); ++i) {
    tangents.push_back(inputs.at(first + i)->id);
    if (!asked.defined[i]) undefined.insert(tangents.back());
  }
  return undefined.empty() ? backward : autodiff::without_tangents(backward, tangents, undefined);
}

}  // namespace vitrine::torch_api
