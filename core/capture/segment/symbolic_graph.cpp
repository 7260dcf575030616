#include "core/capture/segment/symbolic_graph.h"

#include <Python.h>

#include <algorithm>

#include "core/autograd/joint.h"
#include "core/capture/cpython/cpython.h"
#include "core/ir/each_integer.h"
#include "core/recording/relower.h"
#include "core/torch_api/sym_node.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::capture {

namespace {

// The program's questions for sizes that are expressions.
class Expressions : public torch_api::NewSizes {
 public:
  Expressions(const Symbolic& symbolic, const SizedRecording& first, SymbolicGraph& made)
      : symbolic_(symbolic), first_(first), made_(made) {}

  int64_t integer(int32_t number) override { return value(number); }
  PyObject* argument(int32_t number) override { return torch_api::sym_int(value(number)); }
  const ir::TensorType* type_of_input(size_t input) override {
    const ir::TensorType& type = made_.inputs.at(input);
    return type.sizes.empty() ? nullptr : &type;
  }
  bool answered(size_t question, PyObject* answer) override {
    const Symbolic::Question& q = symbolic_.questions.at(question);
    if (q.symbol < 0) {
      const int same = PyObject_RichCompareBool(q.answer, answer, Py_EQ);
      if (same < 0) PyErr_Clear();
      return same == 1;
    }
    const auto is = torch_api::sym_of(answer);
    const auto symbol = static_cast<size_t>(q.symbol);
    if (!is || is->hint() != first_.values[symbol]) return false;
    made_.symbols[symbol] = *is;
    return true;
  }
  void fails(const ir::Node& call, const std::string& error) override {
    made_.why = call.op + (error.empty() ? " has other results" : ": " + error);
  }

 private:
  ir::Sym value(int32_t number) const {
    return symbolic_.table.substitute(symbolic_.integers.at(static_cast<size_t>(number)), made_.symbols);
  }

  const Symbolic& symbolic_;
  const SizedRecording& first_;
  SymbolicGraph& made_;
};

// Whether an operator reads at a place of the whole memory.
bool reads_by_places(const SizedRecording& first) {
  const auto at_places = [](const ir::GraphPtr& graph) {
    return graph && std::ranges::any_of(graph->nodes(), [](const ir::Node& node) {
             return node.op.starts_with("aten.as_strided");
           });
  };
  return at_places(first.graphs.aten) || (first.joint && at_places(first.joint->joint));
}
// Whether a result may be a view of an input. Where that begins matters then.
bool gives_views(const SizedRecording& first) {
  return first.graphs.views || (first.joint && first.joint->views);
}

// The strides of an input whose sizes are expressions. Those of a tensor with gaps follow from no size: they
// are symbols where they are others in the call at hand, or were in the trace. sizes_at: where a key has its
// sizes.
void open_strides(const ir::TensorType& in_trace, std::span<const int64_t> key, size_t sizes_at,
                  const std::string& name, ir::TensorType& type, SymbolicGraph& made) {
  const size_t dims = type.sizes.size();
  if (auto dense = torch_api::dense_strides(type)) {
    type.strides = *dense;
    return;
  }
  std::vector<int64_t> here;
  for (const ir::Dims* part : {&type.sizes, &type.strides})
    for (const ir::Sym& each : *part) here.push_back(each.hint());
  if (may_overlap(here, 0, dims) || key.size() < sizes_at + 2 * dims) return;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t stride = type.strides[d].hint();
    const bool stays = stride == key[sizes_at + dims + d] && stride == in_trace.strides[d].hint();
    if (stride < 2 || stays) continue;
    const std::string source = name + ".stride(" + std::to_string(d) + ")";
    type.strides[d] = made.table.integer(source, stride, {.lo = 2});
    made.free_strides.push_back(sizes_at + dims + d);
  }
  made.with_gaps.emplace_back(sizes_at, dims);
}

// The types of the trace's inputs, whose sizes are symbols where the trace says so.
void enter_types(const Trace& trace, const SizedRecording& first, SymbolicGraph& made) {
  const std::vector<const ir::Node*> nodes = first.graphs.aten->inputs();
  made.inputs.resize(trace.inputs.size());
  const bool by_places = reads_by_places(first), by_views = gives_views(first);
  size_t next = 0;  // of a call's key
  for (const Symbolic::Input& input : trace.symbolic->inputs) {
    if (!input.in_graph) continue;
    const size_t dims = input.symbols.size(), sizes_at = next;
    next += input.is_tensor ? 2 * dims : 1;
    if (!input.is_tensor) continue;
    const auto at = std::find(trace.inputs.begin(), trace.inputs.end(), input.source) - trace.inputs.begin();
    if (at == static_cast<std::ptrdiff_t>(trace.inputs.size())) continue;
    ir::TensorType type = nodes.at(static_cast<size_t>(at))->type();
    for (size_t d = 0; d < dims; ++d)
      if (input.symbols[d] >= 0) type.sizes[d] = made.symbols[static_cast<size_t>(input.symbols[d])];
    const bool open = ir::has_expression(type);
    if (open && !type.offset.same(0) && (by_places || by_views))
      made.why = "an input begins behind the first element of its memory";
    if (open && by_places)
      type.strides = torch_api::strides_by_sizes(type);
    else if (open)
      open_strides(trace.graphs.aten->inputs().at(static_cast<size_t>(at))->type(), first.key, sizes_at,
                   input.source->path(), type, made);
    for (size_t d = 0; d < dims; ++d) made.strides.emplace_back(sizes_at + dims + d, type.strides[d]);
    if (open) made.inputs[static_cast<size_t>(at)] = std::move(type);
  }
}

bool same_at_hints(const ir::TensorType& a, const ir::TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && a.offset.hint() == b.offset.hint() &&
         ir::same_at_hints(a.sizes, b.sizes) && ir::same_at_hints(a.strides, b.strides);
}

// Two arguments of nodes at the same place of two graphs.
bool same_at_hints(const ir::Graph& first, const ir::Arg& a, const ir::Graph& second, const ir::Arg& b) {
  if (a.v.index() != b.v.index()) return false;
  if (a.is<int64_t>()) return a.as<ir::Sym>().hint() == b.as<ir::Sym>().hint();
  if (a.is<ir::Ref>()) {
    const ir::Ref x = a.as<ir::Ref>(), y = b.as<ir::Ref>();
    return x.output == y.output && first.position(x.node) == second.position(y.node);
  }
  if (a.is<double>()) return a == b || (a.as<double>() != a.as<double>() && b.as<double>() != b.as<double>());
  if (!a.is<std::vector<ir::Arg>>()) return a == b;
  const auto &some = a.as<std::vector<ir::Arg>>(), &others = b.as<std::vector<ir::Arg>>();
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [&](const ir::Arg& x, const ir::Arg& y) { return same_at_hints(first, x, second, y); });
}
bool same_at_hints(const ir::Graph& first, const ir::Node& a, const ir::Graph& second, const ir::Node& b) {
  const auto types = [](const ir::TensorType& x, const ir::TensorType& y) { return same_at_hints(x, y); };
  const auto named = [&](const auto& x, const auto& y) {
    return x.first == y.first && same_at_hints(first, x.second, second, y.second);
  };
  return a.kind == b.kind && a.op == b.op && same_at_hints(first, ir::Arg(a.args), second, ir::Arg(b.args)) &&
         std::equal(a.kwargs.begin(), a.kwargs.end(), b.kwargs.begin(), b.kwargs.end(), named) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), types);
}

std::string difference(const ir::Graph& first, const ir::Node& a, const ir::Graph& second,
                       const ir::Node& b) {
  if (a.op != b.op) return a.name + " is " + b.name + " for the first sizes";
  for (size_t i = 0; i < std::min(a.args.size(), b.args.size()); ++i)
    if (!same_at_hints(first, a.args[i], second, b.args[i]))
      return "an argument of " + a.name + " is another for the first sizes";
  for (size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i)
    if (!same_at_hints(a.outputs[i], b.outputs[i]))
      return a.name + " gives " + a.outputs[i].text() + ", which is " + b.outputs[i].text() +
             " for the first sizes";
  return a.name + " is another for the first sizes";
}

void finish(const Trace& trace, torch_api::Lowering& lowering, const std::vector<PyObject*>& results,
            SymbolicGraph& made) {
  if (trace.joint) {
    auto joint = torch_api::make_joint(lowering, results, trace.gradients);
    if (!joint) {
      made.why = "its derivative: " + joint.error().what;
      return;
    }
    made.joint = joint.take();
  }
  made.graphs = lowering.finish(results, trace.views);
}

// "", or why what was recorded is not the graph of its first sizes.
std::string why_not(const SizedRecording& first, const SymbolicGraph& made) {
  const auto same_views = [](const auto& some, const auto& others) {
    return some && others ? some->same_at_hints(*others) : !some && !others;
  };
  if (!same_views(made.graphs.views, first.graphs.views) ||
      (made.joint && !same_views(made.joint->views, first.joint->views)))
    return "results are other views for the first sizes";
  if (!made.joint) return difference_at_hints(*made.graphs.aten, *first.graphs.aten);
  const std::string whole = difference_at_hints(*made.joint->joint, *first.joint->joint);
  if (!whole.empty()) return "its derivative: " + whole;
  const std::string forward = difference_at_hints(*made.joint->halves.forward, *first.joint->halves.forward);
  if (!forward.empty()) return "its forward half: " + forward;
  const std::string backward =
      difference_at_hints(*made.joint->halves.backward, *first.joint->halves.backward);
  return backward.empty() ? "" : "its backward half: " + backward;
}

}  // namespace

std::string difference_at_hints(const ir::Graph& symbolic, const ir::Graph& concrete) {
  const auto &some = symbolic.nodes(), &others = concrete.nodes();
  for (size_t i = 0; i < std::min(some.size(), others.size()); ++i)
    if (!same_at_hints(symbolic, some[i], concrete, others[i]))
      return difference(symbolic, some[i], concrete, others[i]);
  if (some.size() != others.size()) return "it has other operators for the first sizes";
  const bool same =
      same_at_hints(symbolic, ir::Arg(symbolic.results()), concrete, ir::Arg(concrete.results()));
  return same ? "" : "it has other results for the first sizes";
}

SymbolicGraph::~SymbolicGraph() = default;

bool may_overlap(std::span<const int64_t> key, size_t sizes_at, size_t dims) {
  std::vector<std::pair<int64_t, int64_t>> by_stride;  // with the size
  for (size_t d = 0; d < dims; ++d)
    if (key[sizes_at + d] != 1) by_stride.emplace_back(key[sizes_at + dims + d], key[sizes_at + d]);
  std::ranges::sort(by_stride);
  int64_t last = 0;  // element that the dims so far reach
  for (const auto& [stride, size] : by_stride) {
    if (stride <= last) return true;
    last += (size - 1) * stride;
  }
  return false;
}

std::shared_ptr<SymbolicGraph> record_symbolically(const Trace& trace, const std::vector<PyObject*>& inputs,
                                                   const SizedRecording& first) {
  const Symbolic& symbolic = *trace.symbolic;
  auto made = std::make_shared<SymbolicGraph>();
  for (const ir::Symbol& s : symbolic.table.symbols())
    made->symbols.push_back(made->table.integer(s.source, first.values[made->symbols.size()], s.range));
  enter_types(trace, first, *made);
  if (!made->why.empty()) return made;
  Expressions expressions(symbolic, first, *made);
  torch_api::Lowering lowering(trace.as_if, trace.target);
  lowering.for_any_size();
  lowering.take_symbols(made->table);
  std::vector<PyObject*> results;
  try {
    const auto how = torch_api::relower(trace.graphs, inputs, expressions, lowering, results);
    made->again = how == torch_api::Relowered::Unsure;
    if (how == torch_api::Relowered::Done) finish(trace, lowering, results, *made);
  } catch (const std::exception& error) {
    made->why = error.what();
  }
  PyErr_Clear();
  if (!made->why.empty()) return made;
  if (!made->graphs.aten) {
    made->why = "the program asks what no expression answers";
    return made;
  }
  made->why = why_not(first, *made);
  made->differs = !made->why.empty();
  return made;
}

// Where a recording fixes a size at another value, one more would fix it at this: it would serve that alone.
// So it is where strides alone may change.
bool may_be_another(const SymbolicGraphs& graphs, std::span<const int64_t> values) {
  constexpr size_t kMost = 4;
  if (graphs.empty() || graphs.size() >= kMost || graphs[0]->symbols.empty()) return false;
  return std::all_of(graphs.begin(), graphs.end(), [&](const std::shared_ptr<SymbolicGraph>& graph) {
    const auto& symbols = graph->table.symbols();
    bool fixes = false;
    for (size_t i = 0; i < std::min(symbols.size(), values.size()); ++i)
      fixes = fixes || (!symbols[i].specialised_by.empty() && symbols[i].hint != values[i]);
    return (graph->why.empty() || graph->differs) && !fixes;
  });
}

}  // namespace vitrine::capture
