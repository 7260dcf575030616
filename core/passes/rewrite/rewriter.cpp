#include "core/passes/rewrite/rewriter.h"

#include <algorithm>

#include "core/base/opt_bisect.h"

namespace vitrine::passes {

namespace {

void set(std::vector<bool>& by_node, NodeId node, bool value) {
  const auto at = static_cast<size_t>(node);
  if (by_node.size() <= at) by_node.resize(std::max(at + 1, by_node.size() * 2));
  by_node[at] = value;
}

}  // namespace

Rewriter::Rewriter(GraphPtr old, std::shared_ptr<ir::NodeIds> ids, std::string rule, bool decomposes)
    : old_(std::move(old)),
      rule_(std::move(rule)),
      decomposes_(decomposes),
      builder_(old_->stage, std::move(ids)) {
  for (const Arg& r : old_->results()) ir::each_ref(r, [&](Ref ref) { set(results_, ref.node, true); });
}

void Rewriter::build() {
  if (building_) return;
  building_ = true;
  builder_.expect(old_->nodes().size());
  for (const Node& node : old_->nodes()) builder_.reserve(node.name);
  for (size_t i = 0; i < same_; ++i) add(old_->nodes()[i], old_->nodes()[i]);
}

void Rewriter::note(const Node& node) const {
  OptBisect* bisect = builder_.ids() ? builder_.ids()->bisect.get() : nullptr;
  if (bisect) bisect->note(node.id, rule_);
}

Ref Rewriter::add(const Node& kept, Node fresh) {
  set(own_, kept.id, !values_.contains(kept.id));
  return builder_.add(std::move(fresh));
}

namespace {

Arg value_at(const std::vector<Arg>& values, const ir::Graph& old, Ref r) {
  const Arg& value = values.at(static_cast<size_t>(r.output));
  VITRINE_CHECK(!value.is_none(), "%" + old.node(r.node).name + " is used but was dropped");
  return value;
}

}  // namespace

Arg Rewriter::mapped(const Arg& arg) const {
  return ir::map_refs(arg, [&](Ref r) -> Arg {
    const auto at = static_cast<size_t>(r.node);
    if (building_ ? at < own_.size() && own_[at] : old_->position(r.node) < same_) return r;
    const auto other = values_.find(r.node);
    VITRINE_CHECK(other != values_.end(), "%" + old_->node(r.node).name + " is used before it is there");
    return value_at(other->second, *old_, r);
  });
}

const TensorType& Rewriter::type(Ref value) const {
  return fresh(value).outputs.at(static_cast<size_t>(value.output));
}

Ref Rewriter::keep(const Node& node) {
  if (!building_ && is_next(node)) {
    ++same_;
    return {node.id, 0};
  }
  build();
  Node copy = node;
  const auto map = [&](Arg& a) {
    bool reads = false;
    ir::each_ref(a, [&](Ref) { reads = true; });
    if (reads) a = mapped(a);
  };
  for (Arg& a : copy.args) map(a);
  for (auto& [key, a] : copy.kwargs) map(a);
  return add(node, std::move(copy));
}

Ref Rewriter::change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs) {
  return change(node, std::move(op), std::move(args), std::move(kwargs), node.outputs);
}

Ref Rewriter::change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs,
                     std::vector<TensorType> types) {
  build();
  changed_ = true;
  note(node);
  Node copy = node;
  copy.op = std::move(op);
  copy.args = std::move(args);
  copy.kwargs = std::move(kwargs);
  copy.outputs = std::move(types);
  copy.origin.rule = rule_;
  copy.origin.from = {node.id};
  return add(node, std::move(copy));
}

void Rewriter::replace(const Node& node, std::vector<Arg> values) {
  build();
  changed_ = true;
  note(node);
  values.resize(node.outputs.size());
  values_[node.id] = std::move(values);
  set(own_, node.id, false);
}

void Rewriter::rename(Ref old, Arg value) {
  build();
  changed_ = true;
  const auto [values, fresh] = values_.try_emplace(old.node);
  if (fresh)
    for (size_t i = 0; i < old_->node(old.node).outputs.size(); ++i)
      values->second.emplace_back(Ref{old.node, static_cast<int32_t>(i)});
  values->second.at(static_cast<size_t>(old.output)) = std::move(value);
  set(own_, old.node, false);
}

Result<std::vector<TensorType>> Rewriter::types(const std::string& op, const std::vector<Arg>& args,
                                                const Kwargs& kwargs) const {
  const ops::OpRow* row = ops::find(op);
  if (!row) return Error{op + " has no row", "", ""};
  Node node;
  node.op = op, node.args = args, node.kwargs = kwargs;
  auto bound = ops::bind(*row, node);
  if (!bound.ok()) return bound.error();
  return ops::infer(*row, bound.value(), [&](Ref r) -> const TensorType& { return type(r); });
}

bool Rewriter::gives(const std::string& op, const std::vector<Arg>& args, const Kwargs& kwargs,
                     const TensorType& type) const {
  auto types = this->types(op, args, kwargs);
  return types.ok() && types.value().size() == 1 && types.value()[0].same(type);
}

bool Rewriter::may_rewrite(const Node& node) const {
  OptBisect* bisect = builder_.ids() ? builder_.ids()->bisect.get() : nullptr;
  return !bisect || bisect->allows(OptBisect::Of::rewrite, rule_ + ": " + ir::name_and_place(node));
}

void Rewriter::absorb(Ref fresh, const Node& old) {
  build();
  builder_.also_from(fresh.node, old.id);
}

void Rewriter::drop(const Node& node) {
  replace(node, {});
}

Ref Rewriter::emit(const Node& from, const std::string& op, std::vector<Arg> args, Kwargs kwargs) {
  build();
  auto types = this->types(op, args, kwargs);
  VITRINE_CHECK(types.ok(), "%" + from.name + ": " + (types.ok() ? "" : op + ": " + types.error().what));
  return emit(from, op, std::move(args), std::move(kwargs), types.take());
}

Ref Rewriter::emit(const Node& from, const std::string& op, std::vector<Arg> args, Kwargs kwargs,
                   std::vector<TensorType> types) {
  build();
  changed_ = true;
  note(from);
  ir::Origin origin = from.origin;
  origin.from = {from.id};
  origin.rule = rule_;
  if (decomposes_ && origin.op.empty()) origin.op = from.op;
  return builder_.op(op, std::move(args), std::move(types), std::move(origin), std::move(kwargs));
}

GraphPtr Rewriter::finish() {
  if (!changed_) return old_;
  std::vector<Arg> results;
  for (const Arg& r : old_->results()) results.push_back(mapped(r));
  return builder_.finish(std::move(results));
}

GraphPtr Rewriter::finish(std::vector<Arg> results) {
  build();
  return builder_.finish(std::move(results));
}

}  // namespace vitrine::passes
