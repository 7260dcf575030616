#include "core/ir/substitute.h"

#include <algorithm>

namespace vitrine::ir {

namespace {

// f(sym) for every integer of the argument.
template <class A, class F>
void each_integer(A& arg, F&& f) {
  if (arg.template is<int64_t>())
    f(std::get<Sym>(arg.v));
  else if (arg.template is<std::vector<Arg>>())
    for (auto& item : std::get<std::vector<Arg>>(arg.v)) each_integer(item, f);
}
template <class T, class F>
void each_integer_of_type(T& type, F&& f) {
  for (auto& size : type.sizes) f(size);
  for (auto& stride : type.strides) f(stride);
  f(type.offset);
}
template <class N, class F>
void each_integer_of_node(N& node, F&& f) {
  for (auto& arg : node.args) each_integer(arg, f);
  for (auto& [name, arg] : node.kwargs) each_integer(arg, f);
  for (auto& type : node.outputs) each_integer_of_type(type, f);
}

}  // namespace

Result<TensorType> at_sizes(const TensorType& type, const SymbolTable& table,
                            std::span<const int64_t> values) {
  TensorType out = type;
  bool all = true;
  each_integer_of_type(out, [&](Sym& value) {
    const auto known = table.evaluate(value, values);
    all = all && known;
    value = known.value_or(0);
  });
  if (!all) return Error{"a size has no value", ""};
  return out;
}

Result<GraphPtr> at_sizes(const Graph& graph, const SymbolTable& table, std::span<const int64_t> values) {
  std::string failed;
  const auto put = [&](Sym& value) {
    if (!value.symbolic()) return;
    const auto known = table.evaluate(value, values);
    if (!known) failed = table.text(value);
    value = known.value_or(0);
  };
  Builder out(graph.stage, nullptr);
  for (Node node : graph.nodes()) {
    each_integer_of_node(node, put);
    out.add(std::move(node));
  }
  std::vector<Arg> results = graph.results();
  for (Arg& result : results) each_integer(result, put);
  if (!failed.empty()) return Error{failed + " has no value for these sizes", ""};
  return out.finish(std::move(results));
}

bool is_concrete(const Graph& graph) {
  bool found = false;
  const auto look = [&](const Sym& value) { found = found || value.symbolic(); };
  for (const Node& node : graph.nodes()) each_integer_of_node(node, look);
  for (const Arg& result : graph.results()) each_integer(result, look);
  return !found;
}

}  // namespace vitrine::ir
