#include "core/autograd/joint_at_sizes.h"

#include <algorithm>

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

JointAtSizes::JointAtSizes(std::shared_ptr<const Joint> whole)
    : joint_(whole), whole_(whole), views_(whole->views), tangents_(whole->tangents) {}

Result<std::shared_ptr<JointAtSizes>> JointAtSizes::make(std::shared_ptr<const Joint> joint,
                                                         const ir::SymbolTable& table,
                                                         std::span<const int64_t> values) {
  std::shared_ptr<JointAtSizes> out(new JointAtSizes);
  if (joint->views) {
    auto views = joint->views->at_sizes(table, values);
    if (!views) return views.error();
    out->views_ = views.take();
  }
  for (const ir::TensorType& type : joint->tangents) {
    auto known = ir::at_sizes(type, table, values);
    if (!known) return known.error();
    out->tangents_.push_back(known.take());
  }
  for (const autodiff::Crossing& c : joint->halves.crossings)
    for (const ir::Sym& size : c.viewed_sizes)
      if (!table.evaluate(size, values)) return Error{"a size has no value", ""};
  out->joint_ = std::move(joint);
  out->table_ = &table;
  out->values_.assign(values.begin(), values.end());
  return out;
}

const Joint& JointAtSizes::whole() {
  if (whole_) return *whole_;
  auto out = std::make_shared<Joint>(*joint_);
  for (ir::GraphPtr* graph : graphs_of(*out)) {
    auto known = ir::at_sizes(**graph, *table_, values_);
    if (!known) throw InternalError(known.error().what);
    *graph = known.take();
  }
  out->views = views_;
  out->tangents = tangents_;
  for (autodiff::Crossing& c : out->halves.crossings)
    for (ir::Sym& size : c.viewed_sizes) size = *number(size);
  count_again(out->halves, *out->joint);
  whole_ = std::move(out);
  return *whole_;
}

void JointAtSizes::put_in(ir::Node& node) const {
  if (!table_) return;
  auto known = ir::at_sizes(node, *table_, values_);
  if (!known) throw InternalError(known.error().what);
  node = known.take();
}

std::vector<int64_t> JointAtSizes::viewed_sizes(const autodiff::Crossing& crossing) const {
  std::vector<int64_t> out;
  for (const ir::Sym& size : crossing.viewed_sizes) out.push_back(*number(size));
  return out;
}

std::optional<int64_t> JointAtSizes::number(const ir::Sym& expression) const {
  return table_ ? table_->evaluate(expression, values_) : expression.hint();
}

bool JointAtSizes::same(const ir::Dims& numbers, const ir::Dims& expressions) const {
  return std::equal(numbers.begin(), numbers.end(), expressions.begin(), expressions.end(),
                    [&](const ir::Sym& is, const ir::Sym& was) { return is.hint() == number(was); });
}

bool JointAtSizes::lies_as(const ir::TensorType& is, const ir::TensorType& was) const {
  return is.dtype == was.dtype && same(is.sizes, was.sizes) && same(is.strides, was.strides);
}

}  // namespace vitrine::torch_api
