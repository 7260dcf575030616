// How a pass makes its new graph: it walks the old one and keeps, replaces or drops node after node. New
// nodes get their types from the operator table and their origin from the node that they stand for.
// As long as the pass keeps one node after the other, the new graph is the old one and nothing is copied:
// most passes change nothing of most graphs.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/node.h"

namespace vitrine::passes {

using ir::Arg;
using ir::GraphPtr;
using ir::Kwargs;
using ir::Node;
using ir::NodeId;
using ir::Ref;
using ir::TensorType;

class Rewriter {
 public:
  // decomposes: nodes it emits remember the operator that they are a part of.
  Rewriter(GraphPtr old, std::shared_ptr<ir::NodeIds> ids, std::string rule, bool decomposes = false);

  const ir::Graph& old() const { return *old_; }
  bool is_result(NodeId old) const {
    return static_cast<size_t>(old) < results_.size() && results_[static_cast<size_t>(old)];
  }
  const TensorType& old_type(Ref old) const {
    return old_->node(old.node).outputs.at(static_cast<size_t>(old.output));
  }
  // The new value of an old argument.
  Arg mapped(const Arg& arg) const;
  const TensorType& type(Ref fresh) const;  // of a value of the new graph
  const Node& fresh(Ref value) const {
    return building_ ? builder_.node(value.node) : old_->node(value.node);
  }

  // Keeps the node, with its arguments mapped. Returns its first output.
  Ref keep(const Node& node);
  // Keeps the node under another operator or with other arguments (already of the new graph).
  Ref change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs);
  // As above, with other types.
  Ref change(const Node& node, std::string op, std::vector<Arg> args, Kwargs kwargs,
             std::vector<TensorType> types);
  // Every output of the old node becomes one of these values of the new graph; None for one that is unused.
  void replace(const Node& node, std::vector<Arg> values);
  void drop(const Node& node);  // nobody uses it
  // From here on the old value reads as this value of the new graph: what a write did to it.
  void rename(Ref old, Arg value);
  // The types that the table gives for a call; values in args are of the new graph.
  Result<std::vector<TensorType>> types(const std::string& op, const std::vector<Arg>& args,
                                        const Kwargs& kwargs) const;
  // Whether the table gives this very type for a call.
  bool gives(const std::string& op, const std::vector<Arg>& args, const Kwargs& kwargs,
             const TensorType& type) const;

  // A new node that stands for `from`; values in args are of the new graph.
  Ref emit(const Node& from, const std::string& op, std::vector<Arg> args, Kwargs kwargs = {});
  // The same of an operator without types in the table.
  Ref emit(const Node& from, const std::string& op, std::vector<Arg> args, Kwargs kwargs,
           std::vector<TensorType> types);
  // A new value is computed with the work of this old node in it, which nobody reads any more.
  void absorb(Ref fresh, const Node& old);

  // false: a bisection leaves the node as it is. Asked before it is rewritten.
  bool may_rewrite(const Node& node) const;

  bool changed() const { return changed_; }
  // The old pointer if nothing changed.
  GraphPtr finish();
  GraphPtr finish(std::vector<Arg> results);  // results of the new graph

 private:
  void build();                       // copies what was kept so far
  void note(const Node& node) const;  // that it is rewritten, for who watches
  bool is_next(const Node& node) const {
    return same_ < old_->nodes().size() && &node == &old_->nodes()[same_];
  }
  Ref add(const Node& kept, Node fresh);  // the new values of the one are those of the other

  GraphPtr old_;
  std::string rule_;
  bool decomposes_;
  ir::Builder builder_;
  std::vector<bool> results_;  // of the old graph, by node
  size_t same_ = 0;            // not building_: nodes of the old graph that were kept
  bool building_ = false;
  std::vector<bool> own_;  // by old node, once building_: its values are its own
  std::unordered_map<NodeId, std::vector<Arg>> values_;  // of the others: new value of each output
  bool changed_ = false;
};

}  // namespace vitrine::passes
