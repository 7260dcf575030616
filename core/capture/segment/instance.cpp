#include "core/capture/segment/instance.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/ir/substitute.h"
#include "core/ops/node.h"
#include "core/recording/sized_attention.h"
#include "core/recording/view_program.h"

namespace vitrine::capture {

const torch_api::Replayer& Instance::replayer() {
  if (replayer_) return *replayer_;
  std::vector<PyObject*> own;
  if (evaluated)
    for (const PyRef& one : integers) own.push_back(one.get());
  replayer_ = std::make_unique<torch_api::Replayer>(graphs, std::move(own));
  return *replayer_;
}

int64_t Answers::integer(int32_t number) {
  const auto value = symbolic_.table.evaluate(symbolic_.integers.at(static_cast<size_t>(number)), values_);
  VITRINE_CHECK(value.has_value(), "an integer has no value for these sizes");
  return *value;
}

bool Answers::answered(size_t question, PyObject* answer) {
  const Symbolic::Question& q = symbolic_.questions.at(question);
  if (q.symbol < 0) {
    const int same = PyObject_RichCompareBool(q.answer, answer, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 1;
  }
  const int64_t value = PyLong_Check(answer) ? PyLong_AsLongLong(answer) : -1;
  PyErr_Clear();
  values_[static_cast<size_t>(q.symbol)] = value;
  known_[static_cast<size_t>(q.symbol)] = true;
  return symbolic_.table.may_hold(values_, known_);
}

std::vector<int64_t> symbol_values(const Symbolic& symbolic, const CallSizes& sizes,
                                   std::vector<bool>& known) {
  std::vector<int64_t> values(symbolic.table.symbols().size(), 0);
  known.assign(values.size(), false);
  size_t at = 0, apart = 0;
  for (const Symbolic::Input& input : symbolic.inputs) {
    const std::vector<int64_t>& from = input.in_graph ? sizes.key : sizes.apart;
    size_t& next = input.in_graph ? at : apart;
    for (size_t d = 0; d < input.symbols.size(); ++d) {
      if (input.symbols[d] < 0) continue;
      const auto symbol = static_cast<size_t>(input.symbols[d]);
      values[symbol] = from.at(next + d);
      known[symbol] = true;
    }
    next += input.is_tensor ? 2 * input.symbols.size() : 1;
  }
  return values;
}

std::vector<int64_t> symbol_values(const Symbolic& symbolic, const CallSizes& sizes,
                                   const Instance& instance) {
  std::vector<bool> known;
  std::vector<int64_t> values = symbol_values(symbolic, sizes, known);
  for (size_t i = 0; i < values.size(); ++i)
    if (!known[i]) values[i] = instance.values[i];
  return values;
}

bool make_integers(const Symbolic& symbolic, const std::vector<int64_t>& values, std::vector<PyRef>& out) {
  for (const ir::Sym& integer : symbolic.integers) {
    const auto value = symbolic.table.evaluate(integer, values);
    if (!value) return false;
    out.emplace_back(PyLong_FromLongLong(*value));
  }
  return true;
}

std::shared_ptr<Instance> first_instance(const Trace& trace, const CallSizes& sizes) {
  auto instance = std::make_shared<Instance>();
  instance->key = sizes.key;
  instance->graphs = trace.graphs;
  if (trace.joint) instance->joint = std::make_shared<torch_api::JointAtSizes>(trace.joint);
  instance->no_joint = trace.no_joint;
  if (trace.symbolic) {
    for (const ir::Symbol& symbol : trace.symbolic->table.symbols()) instance->values.push_back(symbol.hint);
    VITRINE_CHECK(make_integers(*trace.symbolic, instance->values, instance->integers),
                  "a hint has no value");
  }
  return instance;
}

namespace {

// A guard that came since the last call is asked, too.
SizeTapes& tapes_of(SymbolicGraph& graph, const Symbolic& symbolic) {
  if (graph.tapes && graph.tapes->graph.requires_all(graph.table) &&
      graph.tapes->trace.requires_all(symbolic.table) &&
      graph.tapes->integers.size() == symbolic.integers.size())
    return *graph.tapes;
  graph.tapes = std::make_unique<SizeTapes>();
  SizeTapes& tapes = *graph.tapes;
  tapes.graph.require(graph.table);
  for (const auto& [at, stride] : graph.strides) tapes.strides.push_back(tapes.graph.add(stride));
  tapes.trace.require(symbolic.table);
  for (const ir::Sym& integer : symbolic.integers) tapes.integers.push_back(tapes.trace.add(integer));
  return tapes;
}

// Whether tensors of these sizes lie in memory as the expressions say.
bool lie_as_expected(const SymbolicGraph& graph, const SizeTapes& tapes, const CallSizes& sizes) {
  for (size_t i = 0; i < graph.strides.size(); ++i)
    if (tapes.graph.at(tapes.strides[i]) != sizes.key.at(graph.strides[i].first)) return false;
  return std::ranges::all_of(
      graph.with_gaps, [&](const auto& input) { return !may_overlap(sizes.key, input.first, input.second); });
}

constexpr int kTries = 3;

}  // namespace

std::shared_ptr<Instance> evaluated_instance(const Trace& trace, const std::shared_ptr<SymbolicGraph>& graph,
                                             const CallSizes& sizes) {
  if (!graph->why.empty()) return nullptr;
  auto instance = std::make_shared<Instance>();
  std::vector<bool> known;
  std::vector<int64_t> values = symbol_values(*trace.symbolic, sizes, known);
  std::vector<int64_t> numbers = values;
  for (const size_t at : graph->free_strides) numbers.push_back(sizes.key.at(at));
  for (size_t i = 0; i < values.size(); ++i) {
    if (known[i]) continue;
    const auto value = graph->table.evaluate(graph->symbols[i], numbers);
    if (!value) return nullptr;
    numbers[i] = values[i] = *value;
  }
  SizeTapes& tapes = tapes_of(*graph, *trace.symbolic);
  if (!tapes.graph.run(numbers) || !lie_as_expected(*graph, tapes, sizes) || !tapes.trace.run(values))
    return nullptr;
  for (const uint32_t at : tapes.integers)
    instance->integers.emplace_back(PyLong_FromLongLong(tapes.trace.at(at)));
  instance->graphs = trace.graphs;
  instance->graphs.views = nullptr;  // the trace's own may be views where this graph's results are none
  if (graph->graphs.views) {
    auto views = graph->graphs.views->at_sizes(graph->table, numbers);
    if (!views) return nullptr;
    instance->graphs.views = views.take();
  }
  if (graph->joint) {
    auto joint = torch_api::JointAtSizes::make(graph->joint, graph->table, numbers);
    if (!joint) return nullptr;
    instance->joint = joint.take();
  }
  instance->key = sizes.key;
  instance->no_joint = trace.no_joint;
  instance->graphs.aten = nullptr;
  instance->graphs.constants = graph->graphs.constants;
  instance->graphs.versions = graph->graphs.versions;
  instance->values = std::move(values);
  instance->numbers = std::move(numbers);
  instance->evaluated = graph;
  return instance;
}

ir::GraphPtr graph_to_compile(const Instance& instance) {
  if (instance.joint) return instance.joint->whole().halves.forward;
  if (!instance.evaluated) return instance.graphs.aten;
  const SymbolicGraph& from = *instance.evaluated;
  auto graph = ir::at_sizes(*from.graphs.aten, from.table, instance.numbers);
  if (!graph) throw InternalError(graph.error().what);
  return graph.take();
}

namespace {

// Compiles a graph of expressions once. One that was interrupted is compiled when it is next asked for.
void compile_once(const ir::GraphPtr& graph, const SymbolicGraph& of, const runtime::CompileOptions& options,
                  const std::function<bool()>& cancelled, const Tell& tell, SymbolicGraph::Compiled& out) {
  if (std::exchange(out.tried, true)) return;
  std::vector<runtime::Problem> problems;
  out.plans = runtime::compile_sized(graph, of.table, options, cancelled, problems);
  if (!out.plans && cancelled && cancelled()) out.tried = false;
  if (out.plans) return;  // they tell of their problems themselves
  out.why = problems.empty() ? "it is not compiled for all sizes" : problems.back().text;
  for (runtime::Problem& problem : problems) {
    problem.hint = "Each size is compiled by itself instead; please report it with the reproducer.";
    tell(problem);
  }
}

}  // namespace

std::shared_ptr<runtime::Plan> sized_plan(Instance& instance, const runtime::CompileOptions& options,
                                          const std::function<bool()>& cancelled, const Tell& tell) {
  SymbolicGraph* graph = instance.evaluated.get();
  if (!graph) return nullptr;
  const ir::GraphPtr& aten = graph->joint ? graph->joint->halves.forward : graph->graphs.aten;
  compile_once(aten, *graph, options, cancelled, tell, graph->forward);
  return graph->forward.plans ? graph->forward.plans->at(instance.numbers) : nullptr;
}

SizedBackward sized_backward(const Instance& instance, runtime::CompileOptions options, Tell tell) {
  constexpr size_t kMost = 8;  // some results, or others
  if (!instance.evaluated) return {};
  options.kept_results = -1;
  options.versions = {};
  options.is_backward = true;
  return [graph = instance.evaluated, numbers = instance.numbers, options = std::move(options),
          tell = std::move(tell)](const torch_api::BackwardVariant& asked) -> std::shared_ptr<runtime::Plan> {
    if (!graph->backward.contains(asked) && graph->backward.size() >= kMost) return nullptr;
    SymbolicGraph::Compiled& out = graph->backward[asked];
    if (!out.tried)
      compile_once(torch_api::backward_of(*graph->joint, asked), *graph, options, {}, tell, out);
    return out.plans ? out.plans->at(numbers) : nullptr;
  };
}

namespace {

// Whether the program was recorded in a way that is chosen for its first sizes alone: attention that plans
// each size (Lowering::for_any_size).
bool is_for_its_sizes(const Trace& trace) {
  const ir::Graph& graph = trace.joint ? *trace.joint->joint : *trace.graphs.aten;
  return std::ranges::any_of(graph.nodes(), [](const ir::Node& node) {
    return ops::is_attention(node) && node.type().device.is_cuda() && !ops::sized_attention(node.op);
  });
}

// How often the first graph with expressions was recorded, where it is to be now: other tensors may tell
// more.
std::optional<int> tries_of_first(const SymbolicGraphs& graphs) {
  if (graphs.empty()) return 0;
  if (graphs[0]->again && graphs[0]->tries < kTries) return graphs[0]->tries;
  return {};
}

void record_first(const Trace& trace, const std::vector<PyObject*>& inputs, const SizedRecording& sizes,
                  SymbolicGraphs& graphs) {
  const int tries = tries_of_first(graphs).value_or(0);
  graphs.assign(1, record_symbolically(trace, inputs, sizes));
  graphs[0]->tries = tries + 1;
}

// The graph for the sizes of the trace itself.
void record_own(const Trace& trace, const CallSizes& sizes, const std::vector<PyObject*>& inputs,
                SymbolicGraphs& graphs) {
  if (!tries_of_first(graphs)) return;
  std::vector<int64_t> hints;
  for (const ir::Symbol& symbol : trace.symbolic->table.symbols()) hints.push_back(symbol.hint);
  record_first(trace, inputs, {trace.graphs, trace.joint.get(), hints, sizes.key}, graphs);
}

// The instance that a graph with expressions for these sizes gives; null: there is none.
std::shared_ptr<Instance> by_another_graph(const Trace& trace, const CallSizes& sizes,
                                           const std::vector<PyObject*>& inputs, const Instance& recorded,
                                           SymbolicGraphs& graphs) {
  if ((trace.joint != nullptr) != (recorded.joint != nullptr)) return nullptr;
  const torch_api::Joint* joint = recorded.joint ? &recorded.joint->whole() : nullptr;
  const SizedRecording here{recorded.graphs, joint, recorded.values, sizes.key};
  if (trace.graphs.captured && tries_of_first(graphs) && is_for_its_sizes(trace))
    record_first(trace, inputs, here, graphs);
  else if (may_be_another(graphs, recorded.values))
    graphs.push_back(record_symbolically(trace, inputs, here));
  else
    return nullptr;
  return evaluated_instance(trace, graphs.back(), sizes);
}

// The program recorded for these sizes.
NewInstance recorded_instance(const Trace& trace, const CallSizes& sizes,
                              const std::vector<PyObject*>& inputs) {
  const Symbolic& symbolic = *trace.symbolic;
  const bool by_key = sizes.apart.empty();  // nothing else decides
  std::vector<bool> known;
  std::vector<int64_t> values = symbol_values(symbolic, sizes, known);
  auto instance = std::make_shared<Instance>();
  instance->key = sizes.key;
  if (trace.graphs.captured) {
    torch_api::Lowering lowering(trace.as_if, trace.target);
    lowering.for_any_size();
    Answers answers(symbolic, values, known);
    std::vector<PyObject*> results;
    const auto how = torch_api::relower(trace.graphs, inputs, answers, lowering, results);
    if (how != torch_api::Relowered::Done) return {nullptr, by_key && how == torch_api::Relowered::Other};
    if (trace.joint) {
      auto joint = torch_api::make_joint(lowering, results, trace.gradients);
      if (joint)
        instance->joint = std::make_shared<torch_api::JointAtSizes>(joint.take());
      else
        instance->no_joint = joint.error().what;
      PyErr_Clear();
    } else {
      instance->no_joint = trace.no_joint;
    }
    instance->graphs = lowering.finish(results, trace.views);
    if (instance->graphs.aten->inputs().size() != inputs.size() + instance->graphs.constants.size())
      return {nullptr, false};
  }
  const bool all = std::all_of(known.begin(), known.end(), [](bool k) { return k; });
  if (!all || !symbolic.table.holds(values) || !make_integers(symbolic, values, instance->integers))
    return {nullptr, by_key};
  instance->values = std::move(values);
  return {std::move(instance), false};
}

}  // namespace

std::shared_ptr<Instance> sized_instance(const Trace& trace, const CallSizes& sizes,
                                         const std::vector<PyObject*>& inputs, SymbolicGraphs& graphs,
                                         std::string& why) {
  if (trace.graphs.captured) record_own(trace, sizes, inputs, graphs);
  if (graphs.empty()) return nullptr;
  if (!graphs.front()->why.empty()) why = graphs.front()->why;
  return evaluated_instance(trace, graphs.front(), sizes);
}

NewInstance new_instance(const Trace& trace, const CallSizes& sizes, const std::vector<PyObject*>& inputs,
                         SymbolicGraphs& graphs) {
  if (trace.graphs.captured && !is_for_its_sizes(trace)) record_own(trace, sizes, inputs, graphs);
  for (const std::shared_ptr<SymbolicGraph>& graph : graphs)
    if (auto instance = evaluated_instance(trace, graph, sizes)) return {std::move(instance), false};
  NewInstance made = recorded_instance(trace, sizes, inputs);
  if (!made.instance) return made;
  auto other = by_another_graph(trace, sizes, inputs, *made.instance, graphs);
  return other ? NewInstance{std::move(other), false} : made;
}

}  // namespace vitrine::capture
