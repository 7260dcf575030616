#include "core/passes/functionalise.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/passes/rewriter.h"
#include "core/passes/storage.h"

namespace vitrine::passes {

namespace {

// A functional call that computes what the node writes; it must have the written tensor's very type, for
// views of it follow.
struct Functional {
  std::string op;
  std::vector<Arg> args;
  Kwargs kwargs;
};

// Where the functional form of the same ending is another operator (pow.Scalar: a number to the power of
// self).
constexpr std::pair<std::string_view, std::string_view> kOtherEndings[] = {
    {"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"},
    {"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
    {"aten.float_power_.Scalar", "aten.float_power.Tensor_Scalar"},
    {"aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"},
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
  size_t mark = node.op.rfind("_.");
  if (mark == std::string::npos) return std::nullopt;
  std::string op = node.op.substr(0, mark) + node.op.substr(mark + 1);
  for (const auto& [inplace, other] : kOtherEndings)
    if (node.op == inplace) op = other;
  if (!ops::find(op)) return std::nullopt;
  return Functional{op, node.args, node.kwargs};
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

}  // namespace

GraphPtr functionalise(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Storages storages(*graph);
  std::vector<int> last_use = last_uses(*graph);
  Rewriter out(graph, ids, "functionalise");
  for (const Node& node : graph->nodes()) {
    auto written = ops::written(node);
    std::optional<Functional> call;
    bool single = written.size() == 1 && node.outputs.size() == 1 && !node.args.empty() &&
                  node.args[0] == Arg(written[0]);
    if (single && unseen(*graph, storages, last_use, node, written[0])) call = functional(*graph, node);
    std::vector<Arg> args;
    Kwargs kwargs;
    if (call) {
      for (const Arg& a : call->args) args.push_back(out.mapped(a));
      for (const auto& [key, a] : call->kwargs) kwargs.emplace_back(key, out.mapped(a));
      if (!out.gives(call->op, args, kwargs, node.type())) call.reset();
    }
    if (!call) {
      out.keep(node);
      continue;
    }
    Ref value = out.change(node, call->op, args, kwargs);
    out.rename(written[0], Arg(value));
  }
  return out.finish();
}

}  // namespace vitrine::passes
