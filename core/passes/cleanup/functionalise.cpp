#include "core/passes/cleanup/functionalise.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

// A functional call that computes what the node writes; it must have the written tensor's very type, for
// views of it follow.
struct Functional {
  std::string op;
  std::vector<Arg> args;
  Kwargs kwargs;
};

// "aten.add_.Tensor" -> "aten.add.Tensor", if the table has it; copies and fills have operators of their own.
std::optional<Functional> functional(const ir::Graph& graph, const Node& node) {
  const TensorType& self = node.type();
  if (node.op == "aten.zero_.default") return Functional{"aten.zeros_like.default", {node.args[0]}, {}};
  if (node.op == "aten.fill_.Scalar")
    return Functional{"aten.full_like.default", {node.args[0], node.args[1]}, {}};
  if (node.op == "aten.copy_.default") {
    if (!node.args[1].is<Ref>()) return std::nullopt;
    Ref source = node.args[1].as<Ref>();
    const TensorType& from = graph.node(source.node).outputs.at(static_cast<size_t>(source.output));
    if (from.sizes != self.sizes || from.strides != self.strides) return std::nullopt;
    if (from.dtype == self.dtype) return Functional{"aten.clone.default", {node.args[1]}, {}};
    return Functional{"aten._to_copy.default", {node.args[1]}, {{"dtype", Arg(self.dtype)}}};
  }
  const ops::OpRow* row = ops::functional_of(node.op);
  if (!row) return std::nullopt;
  return Functional{std::string(row->name), node.args, node.kwargs};
}

// Nobody else sees the write: the memory is the graph's own, and after the node only its output and the
// written value itself are used.
bool unseen(const ir::Graph& graph, const Storages& storages, const std::vector<int>& last_use,
            const Node& node, Ref written) {
  if (storages.is_input(node.id)) return false;
  int here = static_cast<int>(graph.position(node.id));
  for (NodeId id : storages.members(node.id)) {
    if (id == node.id || id == written.node) continue;
    bool later = static_cast<int>(graph.position(id)) > here;
    if (!later && last_use[graph.position(id)] > here) return false;
  }
  // The outputs of an operator that makes them all are memories of their own; parts of one tensor are not.
  const Node& maker = graph.node(written.node);
  return maker.outputs.size() == 1 || ops::aliased(maker).empty();
}

// Position of the last node that uses each node; past the end for a result.
std::vector<int> last_uses(const ir::Graph& graph) {
  std::vector<int> out(graph.nodes().size(), -1);
  int position = 0;
  auto use = [&](Ref r) { out[graph.position(r.node)] = position; };
  for (const Node& n : graph.nodes()) {
    ir::each_ref(n, use);
    ++position;
  }
  for (const Arg& r : graph.results()) ir::each_ref(r, use);
  return out;
}

// Inputs that are written as a whole only, by operators that hand the tensor on: what they become is computed
// without writing, and written once, at the end of the graph. A call that fails before has changed nothing.
// Views of such an input are read before the next write only.
class LateWrites {
 public:
  LateWrites(const ir::Graph& graph, const Storages& storages, const std::vector<int>& last_use,
             Rewriter& out)
      : storages_(storages), out_(out) {
    for (const Node* input : graph.inputs())
      if (input->kind != ir::NodeKind::constant && !storages.escapes(input->id))
        open_[storages.group(input->id)] = input;
    for (const Node& n : graph.nodes()) check(graph, last_use, n);
  }

  // The node writes such an input.
  bool has(const Node& node) const {
    return open_.contains(storages_.group(node.id)) && !ops::written(node).empty();
  }
  void wrote(const Node& node, Ref value) {
    const int group = storages_.group(node.id);
    pending_[group] = {&node, value};
    if (!inputs_.contains(group)) order_.push_back(group);
    inputs_.try_emplace(group, Ref{open_.at(group)->id, 0});
  }
  // The node has no functional form: it writes itself, after what came before it.
  void give_up(const Node& node, Ref written) {
    const int group = storages_.group(node.id);
    if (auto it = pending_.find(group); it != pending_.end()) {
      out_.rename(written, write(group, it->second));
      pending_.erase(it);
    }
    open_.erase(group);
  }
  void finish() {
    for (int group : order_)
      if (auto it = pending_.find(group); it != pending_.end()) write(group, it->second);
  }

 private:
  struct Late {
    const Node* node;  // the last that wrote
    Ref value;
  };

  // Closes the inputs that the node writes or shares in any other way.
  void check(const ir::Graph& graph, const std::vector<int>& last_use, const Node& n) {
    const std::vector<Ref> written = ops::written(n);
    const int own = storages_.group(n.id);
    const bool link = written.size() == 1 && n.outputs.size() == 1 && !n.args.empty() &&
                      n.args[0] == Arg(written[0]) && open_.contains(own) &&
                      n.type() == open_.at(own)->type();
    for (Ref r : written)
      if (!link || storages_.group(r.node) != own) open_.erase(storages_.group(r.node));
    auto it = open_.find(own);
    if (it == open_.end() || it->second->id == n.id || views_within(n)) return;
    if (!link) return void(open_.erase(it));
    // Whoever reads it later reads it by this node's output.
    const int here = static_cast<int>(graph.position(n.id));
    for (NodeId id : storages_.members(n.id))
      if (static_cast<int>(graph.position(id)) < here && last_use[graph.position(id)] > here) {
        open_.erase(own);
        return;
      }
  }
  // A view that shows nothing beyond the elements of its argument.
  static bool views_within(const Node& n) {
    const ops::OpRow* row = ops::find(n.op);
    return row && row->lower == ops::Lower::view && n.op != "aten.as_strided.default";
  }
  Ref write(int group, const Late& late) {
    return out_.emit(*late.node, "aten.copy_.default", {Arg(inputs_.at(group)), Arg(late.value)});
  }

  const Storages& storages_;
  Rewriter& out_;
  std::unordered_map<int, const Node*> open_;  // by group
  std::unordered_map<int, Late> pending_;
  std::unordered_map<int, Ref> inputs_;
  std::vector<int> order_;
};

}  // namespace

namespace {

// x.div_(y) with x of a shorter type than the quotient has: PyTorch computes the quotient and stores it in
// x's type. Of the operators that are written element by element.
bool stored_shorter(const Rewriter& out, const Functional& call, const std::vector<Arg>& args,
                    const Kwargs& kwargs, const TensorType& stored) {
  const ops::OpRow* row = ops::find(call.op);
  if (!row || row->lower != ops::Lower::pointwise || !ir::is_float(stored.dtype)) return false;
  auto types = out.types(call.op, args, kwargs);
  if (!types || types.value().size() != 1 || !ir::is_float(types.value()[0].dtype)) return false;
  TensorType made = types.value()[0];
  made.dtype = stored.dtype;
  return made == stored;
}

}  // namespace

GraphPtr functionalise(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Storages storages(*graph);
  std::vector<int> last_use = last_uses(*graph);
  Rewriter out(graph, ids, "functionalise");
  LateWrites late(*graph, storages, last_use, out);
  for (const Node& node : graph->nodes()) {
    auto written = ops::written(node);
    std::optional<Functional> call;
    bool single = written.size() == 1 && node.outputs.size() == 1 && !node.args.empty() &&
                  node.args[0] == Arg(written[0]);
    const bool is_late = single && late.has(node);
    if (is_late || (single && unseen(*graph, storages, last_use, node, written[0])))
      call = functional(*graph, node);
    std::vector<Arg> args;
    Kwargs kwargs;
    if (call) {
      for (const Arg& a : call->args) args.push_back(out.mapped(a));
      for (const auto& [key, a] : call->kwargs) kwargs.emplace_back(key, out.mapped(a));
      if (!out.gives(call->op, args, kwargs, node.type())) {
        if (stored_shorter(out, *call, args, kwargs, node.type())) {
          args = {Arg(out.emit(node, call->op, args, kwargs))};
          kwargs = {{"dtype", Arg(node.type().dtype)}};
          call->op = "aten._to_copy.default";
        } else {
          call.reset();
        }
      }
    }
    if (!call) {
      if (is_late) late.give_up(node, written[0]);
      out.keep(node);
      continue;
    }
    Ref value = out.change(node, call->op, args, kwargs);
    out.rename(written[0], Arg(value));
    if (is_late) late.wrote(node, value);
  }
  late.finish();
  return out.finish();
}

}  // namespace vitrine::passes
