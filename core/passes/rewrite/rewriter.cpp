#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

Result<std::vector<TensorType>> types_of(const ir::Builder& builder, const std::string& op,
                                         const std::vector<Arg>& args, const Kwargs& kwargs) {
  const ops::OpRow* row = ops::find(op);
  if (!row) return Error{op + " has no row", "", ""};
  Node node;
  node.op = op, node.args = args, node.kwargs = kwargs;
  auto bound = ops::bind(*row, node);
  if (!bound.ok()) return bound.error();
  return ops::infer(*row, bound.value(), [&](Ref r) -> const TensorType& {
    return builder.node(r.node).outputs.at(static_cast<size_t>(r.output));
  });
}

Rewriter::Rewriter(GraphPtr old, std::shared_ptr<ir::NodeIds> ids, std::string rule, bool decomposes)
    : old_(std::move(old)),
      rule_(std::move(rule)),
      decomposes_(decomposes),
      builder_(old_->stage, std::move(ids)) {
  for (const Arg& r : old_->results()) ir::each_ref(r, [&](Ref ref) { results_.insert(ref.node); });
  for (const Node& node : old_->nodes()) builder_.reserve(node.name);
}

Arg Rewriter::mapped(const Arg& arg) const {
  return ir::map_refs(arg, [&](Ref r) -> Arg {
    const Arg& value = values_.at(r.node).at(static_cast<size_t>(r.output));
    VITRINE_CHECK(!value.is_none(), "%" + old_->node(r.node).name + " is used but was dropped");
    return value;
  });
}

const TensorType& Rewriter::type(Ref fresh) const {
  return builder_.node(fresh.node).outputs.at(static_cast<size_t>(fresh.output));
}

Ref Rewriter::keep(const Node& node) {
  Node copy = node;
  for (Arg& a : copy.args) a = mapped(a);
  for (auto& [key, a] : copy.kwargs) a = mapped(a);
  auto& values = values_[node.id];
  for (size_t i = 0; i < node.outputs.size(); ++i) values.emplace_back(Ref{node.id, static_cast<int32_t>(i)});
  return builder_.add(std::move(copy));
}

Ref Rewriter::change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs) {
  return change(node, std::move(op), std::move(args), std::move(kwargs), node.outputs);
}

Ref Rewriter::change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs,
                     std::vector<TensorType> types) {
  changed_ = true;
  Node copy = node;
  copy.op = std::move(op);
  copy.args = std::move(args);
  copy.kwargs = std::move(kwargs);
  copy.outputs = std::move(types);
  copy.origin.rule = rule_;
  copy.origin.from = {node.id};
  auto& values = values_[node.id];
  for (size_t i = 0; i < node.outputs.size(); ++i) values.emplace_back(Ref{node.id, static_cast<int32_t>(i)});
  return builder_.add(std::move(copy));
}

void Rewriter::replace(const Node& node, std::vector<Arg> values) {
  changed_ = true;
  values.resize(node.outputs.size());
  values_[node.id] = std::move(values);
}

void Rewriter::rename(Ref old, Arg value) {
  changed_ = true;
  values_.at(old.node).at(static_cast<size_t>(old.output)) = std::move(value);
}

Result<std::vector<TensorType>> Rewriter::types(const std::string& op, const std::vector<Arg>& args,
                                                const Kwargs& kwargs) const {
  return types_of(builder_, op, args, kwargs);
}

bool Rewriter::gives(const std::string& op, const std::vector<Arg>& args, const Kwargs& kwargs,
                     const TensorType& type) const {
  auto types = this->types(op, args, kwargs);
  return types.ok() && types.value().size() == 1 && types.value()[0] == type;
}

void Rewriter::drop(const Node& node) {
  replace(node, {});
}

Ref Rewriter::emit(const Node& from, const std::string& op, std::vector<Arg> args, Kwargs kwargs) {
  changed_ = true;
  ir::Origin origin = from.origin;
  origin.from = {from.id};
  origin.rule = rule_;
  if (decomposes_ && origin.op.empty()) origin.op = from.op;
  auto types = types_of(builder_, op, args, kwargs);
  VITRINE_CHECK(types.ok(), "%" + from.name + ": " + (types.ok() ? "" : op + ": " + types.error().what));
  return builder_.op(op, std::move(args), types.take(), std::move(origin), std::move(kwargs));
}

GraphPtr Rewriter::finish() {
  if (!changed_) return old_;
  std::vector<Arg> results;
  for (const Arg& r : old_->results()) results.push_back(mapped(r));
  return builder_.finish(std::move(results));
}

GraphPtr Rewriter::finish(std::vector<Arg> results) {
  return builder_.finish(std::move(results));
}

}  // namespace vitrine::passes
