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

std::vector<std::optional<ir::Dims>> changed_strides(const ir::Graph& backward,
                                                     const std::map<ir::NodeId, ir::Dims>& given,
                                                     const std::function<void(ir::Node&)>& put_in) {
  std::unordered_map<ir::NodeId, ir::Node> known;  // with numbers, where they were asked for
  const auto at = [&](ir::NodeId id) -> const ir::Node& {
    const auto [it, is_new] = known.try_emplace(id);
    if (is_new) put_in(it->second = backward.node(id));
    return it->second;
  };
  std::unordered_map<ir::NodeId, std::vector<ir::TensorType>> otherwise;
  const ops::TypeOf type_of = [&](ir::Ref r) -> const ir::TensorType& {
    const auto it = otherwise.find(r.node);
    const auto output = static_cast<size_t>(r.output);
    return it == otherwise.end() ? at(r.node).outputs.at(output) : it->second.at(output);
  };
  for (const ir::Node& n : backward.nodes()) {
    if (const auto it = given.find(n.id); it != given.end()) {
      otherwise[n.id] = at(n.id).outputs;
      otherwise[n.id].at(0).strides = it->second;
      continue;
    }
    bool differs = false;
    ir::each_ref(n, [&](ir::Ref r) { differs = differs || otherwise.contains(r.node); });
    const ops::OpRow* row = differs ? ops::find(n.op) : nullptr;
    if (!row || !row->shape) continue;
    const ir::Node& node = at(n.id);
    const auto args = ops::bind(*row, node);
    if (!args) continue;
    const auto types = ops::infer(*row, args.value(), type_of);
    if (!types || types.value().size() != n.outputs.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < n.outputs.size(); ++i)
      fits = fits && same_elements(types.value()[i], node.outputs[i]);
    if (fits && types.value() != node.outputs) otherwise[n.id] = types.value();
  }
  std::vector<std::optional<ir::Dims>> out;
  for (const ir::Arg& r : backward.results()) {
    out.emplace_back();
    if (!r.is<ir::Ref>() || !otherwise.contains(r.as<ir::Ref>().node)) continue;
    const ir::Dims& now = type_of(r.as<ir::Ref>()).strides;
    if (now != at(r.as<ir::Ref>().node).outputs.at(static_cast<size_t>(r.as<ir::Ref>().output)).strides)
      out.back() = now;
  }
  return out;
}

}  // namespace vitrine::autodiff
