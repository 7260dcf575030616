#include "core/autodiff/layouts.h"

#include <unordered_map>

#include "core/ops/node.h"
#include "core/ops/table.h"

namespace vitrine::autodiff {

namespace {

bool same_elements(const ir::TensorType& a, const ir::TensorType& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes;
}

}  // namespace

std::vector<ir::Dims> result_strides(const ir::Graph& backward, const std::map<ir::NodeId, ir::Dims>& given) {
  std::unordered_map<ir::NodeId, std::vector<ir::TensorType>> otherwise;
  const ops::TypeOf type_of = [&](ir::Ref r) -> const ir::TensorType& {
    const auto it = otherwise.find(r.node);
    const auto output = static_cast<size_t>(r.output);
    return it == otherwise.end() ? backward.node(r.node).outputs.at(output) : it->second.at(output);
  };
  for (const ir::Node& n : backward.nodes()) {
    if (const auto it = given.find(n.id); it != given.end()) {
      otherwise[n.id] = n.outputs;
      otherwise[n.id].at(0).strides = it->second;
      continue;
    }
    bool differs = false;
    ir::each_ref(n, [&](ir::Ref r) { differs = differs || otherwise.contains(r.node); });
    const ops::OpRow* row = differs ? ops::find(n.op) : nullptr;
    if (!row || !row->shape) continue;
    const auto args = ops::bind(*row, n);
    if (!args) continue;
    const auto types = ops::infer(*row, args.value(), type_of);
    if (!types || types.value().size() != n.outputs.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < n.outputs.size(); ++i)
      fits = fits && same_elements(types.value()[i], n.outputs[i]);
    if (fits && types.value() != n.outputs) otherwise[n.id] = types.value();
  }
  std::vector<ir::Dims> out;
  for (const ir::Arg& r : backward.results())
    out.push_back(r.is<ir::Ref>() ? type_of(r.as<ir::Ref>()).strides : ir::Dims());
  return out;
}

}  // namespace vitrine::autodiff
