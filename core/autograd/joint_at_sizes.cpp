#include "core/autograd/joint_at_sizes.h"

#include "core/ir/substitute.h"

namespace vitrine::torch_api {

namespace {

// The graphs of a joint, one after the other.
std::vector<ir::GraphPtr*> graphs_of(Joint& joint) {
  std::vector<ir::GraphPtr*> out{&joint.joint, &joint.halves.forward, &joint.halves.backward};
  if (joint.cut.backward) out.push_back(&joint.cut.backward);
  return out;
}

// What it costs to keep values is counted for these sizes.
void count_again(autodiff::Partition& halves, const ir::Graph& joint) {
  for (autodiff::Crossing& c : halves.crossings)
    if (c.bytes > 0) {
      const int64_t before = c.bytes;
      c.bytes = joint.node(c.value.node).outputs.at(static_cast<size_t>(c.value.output)).bytes();
      if (c.kind == autodiff::Crossing::Kind::saved) halves.saved_bytes += c.bytes - before;
    }
}

}  // namespace

Result<std::shared_ptr<const Joint>> at_sizes(const Joint& joint, const ir::SymbolTable& table,
                                              std::span<const int64_t> values) {
  auto out = std::make_shared<Joint>(joint);
  if (joint.views) {
    auto views = joint.views->at_sizes(table, values);
    if (!views) return views.error();
    out->views = views.take();
  }
  for (ir::GraphPtr* graph : graphs_of(*out)) {
    auto known = ir::at_sizes(**graph, table, values);
    if (!known) return known.error();
    *graph = known.take();
  }
  for (ir::TensorType& type : out->tangents) {
    auto known = ir::at_sizes(type, table, values);
    if (!known) return known.error();
    type = known.take();
  }
  for (autodiff::Crossing& c : out->halves.crossings)
    for (ir::Sym& size : c.viewed_sizes) {
      const auto known = table.evaluate(size, values);
      if (!known) return Error{"a size has no value", ""};
      size = *known;
    }
  count_again(out->halves, *out->joint);
  return std::shared_ptr<const Joint>(std::move(out));
}

}  // namespace vitrine::torch_api
