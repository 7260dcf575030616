#include "core/ir/substitute.h"

#include "core/ir/each_integer.h"

namespace vitrine::ir {

Result<TensorType> at_sizes(const TensorType& type, const SymbolTable& table,
                            std::span<const int64_t> values) {
  TensorType out = type;
  bool all = true;
  each_integer(out, [&](Sym& value) {
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
    each_integer(node, put);
    out.add(std::move(node));
  }
  std::vector<Arg> results = graph.results();
  for (Arg& result : results) each_integer(result, put);
  if (!failed.empty()) return Error{failed + " has no value for these sizes", ""};
  return out.finish(std::move(results));
}

}  // namespace vitrine::ir
