// Recorder::graph and ::stage (core/ir/recorder.h). Here rather than in core/ir, because a node's family
// comes from the operator table.
#include "core/ir/recorder.h"

#include <algorithm>

#include "core/ir/print.h"
#include "core/ops/flops.h"
#include "core/ops/node.h"

namespace vitrine::ir {

namespace {

std::string list_text(const Dims& dims) {
  return "[" + dims_text(dims, ", ") + "]";
}

// Torch-level calls that lower to several operators: the family of the one that does the work.
struct CallFamily {
  std::string_view name;
  ops::Family family;
};
constexpr CallFamily kCallFamilies[] = {
    {"linear", ops::Family::matmul},        {"matmul", ops::Family::matmul},
    {"einsum", ops::Family::matmul},        {"conv1d", ops::Family::matmul},
    {"conv2d", ops::Family::matmul},        {"conv3d", ops::Family::matmul},
    {"dropout", ops::Family::random},       {"group_norm", ops::Family::reduction},
    {"batch_norm", ops::Family::pointwise}, {"rms_norm", ops::Family::reduction},
    {"getitem", ops::Family::view},         {"chunk", ops::Family::view},
    {"reshape", ops::Family::view},         {"flatten", ops::Family::view},
    {"contiguous", ops::Family::memory},    {"to", ops::Family::memory},
    {"iadd", ops::Family::pointwise},       {"truediv", ops::Family::pointwise},
};

// The family of a torch-level call ("torch.nn.functional.gelu"): that of the operators of the same name.
ops::Family family_of_call(const std::string& call) {
  const std::string name = short_op(call);
  for (const CallFamily& row : kCallFamilies)
    if (row.name == name) return row.family;
  for (const ops::OpRow* row : ops::all())
    if (short_op(std::string(row->name)) == name) return row->family;
  return ops::Family::opaque;
}

}  // namespace

Id Recorder::graph(const GraphPtr& graph, const std::string& pass, const std::string& sentence, bool changed,
                   int64_t start, int64_t duration_ns,
                   const std::unordered_map<NodeId, std::string>& group_labels, const Graph* operators) {
  session::GraphRow row;
  row.id = writer.next(Kind::Graph);
  row.compilation = compilation;
  row.stage = graph->stage;
  row.pass = pass;
  row.sentence = sentence;
  row.ordinal = next_graph_++;
  row.changed = changed;
  row.start_ns = start - start_ns;
  row.duration_ns = duration_ns;
  row.text = writer.blob(print(*graph));
  writer.put(row);
  // A snapshot that changed nothing has the nodes of the one before it in its stage.
  bool first_of_stage = last_stage_ != graph->stage;
  last_stage_ = graph->stage;
  if (!changed && !first_of_stage) return row.id;

  std::unordered_map<NodeId, Id> here;
  int64_t ordinal = 0;
  for (const Node& node : graph->nodes()) {
    session::NodeRow n;
    n.id = here[node.id] = writer.next(Kind::Node);
    n.graph = row.id;
    n.ordinal = ordinal++;
    n.stable = node.id;
    n.name = node.name;
    n.kind = kind_word(node.kind);
    n.op = node.op;
    const ops::OpRow* op = ops::find(node.op);
    n.family =
        node.kind != NodeKind::op ? "memory" : ops::family_name(op ? op->family : family_of_call(node.op));
    for (const TensorType& t : node.outputs) {
      n.type = n.type + (n.type.empty() ? "" : ", ") + t.text();
      n.bytes += t.bytes().hint();
    }
    if (!node.outputs.empty())
      n.shape = list_text(node.type().sizes), n.strides = list_text(node.type().strides);
    n.detail = node.kind == NodeKind::op ? print_args(*graph, node) : node.source;
    n.module = node.origin.module;
    n.flops = operators ? ops::flops(*operators, operators->node(node.id)) : ops::flops(*graph, node);
    auto span = span_of.find(node.id);
    n.span = span == span_of.end() ? 0 : span->second;
    auto label = group_labels.find(node.id);
    if (label != group_labels.end()) n.group_label = label->second;
    writer.put(n);
    link_origins(node, n.id);
  }
  edges(*graph, row.id, here);
  know(here);
  return row.id;
}

void Recorder::know(std::unordered_map<NodeId, Id> entities) {
  for (const auto& [node, id] : entities) {
    entities_[node] = id;
    next_node_ = std::max(next_node_, node + 1);
  }
}

// Where the node comes from: the nodes that a pass named, itself in the snapshot before, and for a captured
// node the expression and the capture step.
void Recorder::link_origins(const Node& node, Id id) {
  Id before = entity(node.id);
  writer.link(before, id);
  for (NodeId from : node.origin.from) {
    if (from != node.id) writer.link(entity(from), id);
  }
  if (before) return;
  for (const auto* map : {&span_of, &step_of}) {
    if (auto it = map->find(node.id); it != map->end()) writer.link(it->second, id);
  }
}

void Recorder::edges(const Graph& graph, Id graph_id, const std::unordered_map<NodeId, Id>& here) {
  auto put = [&](Ref ref, Id dst, int64_t slot) {
    const Node& src = graph.node(ref.node);
    const int64_t bytes =
        src.outputs.empty() ? 0 : src.outputs.at(static_cast<size_t>(ref.output)).bytes().hint();
    writer.put(session::EdgeRow{graph_id, here.at(ref.node), dst, slot, bytes});
  };
  for (const Node& node : graph.nodes()) {
    int64_t slot = 0;
    each_ref(node, [&](Ref r) { put(r, here.at(node.id), slot++); });
  }
  session::NodeRow output;
  output.id = writer.next(Kind::Node);
  output.graph = graph_id;
  output.ordinal = static_cast<int64_t>(graph.nodes().size());
  output.stable = -1;
  output.name = output.kind = "output";
  output.family = "memory";
  writer.put(output);
  int64_t slot = 0;
  for (const Arg& result : graph.results()) each_ref(result, [&](Ref r) { put(r, output.id, slot++); });
}

void Recorder::stage(const std::string& name, const std::string& state, int64_t count, int64_t start,
                     int64_t duration_ns, const std::string& note, SideBySide work) {
  session::StageRow row;
  row.compilation = compilation;
  row.name = name;
  row.state = state;
  row.note = note;
  row.count = count;
  row.start_ns = start - start_ns;
  row.duration_ns = duration_ns;
  row.work_ns = work.work_ns;
  row.workers = work.workers;
  writer.put(row);
}

}  // namespace vitrine::ir
