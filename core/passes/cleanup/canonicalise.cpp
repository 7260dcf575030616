#include "core/passes/cleanup/canonicalise.h"

#include <algorithm>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

// Operators that return their argument.
constexpr std::string_view kSame[] = {"aten.alias.default", "aten.detach.default", "aten.lift_fresh.default"};

// Two spellings of one operator: the left one is replaced. Zeros that PyTorch keeps without memory are not
// for kernels to read.
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"aten._unsafe_view.default", "aten.view.default"},
    {"aten.max.default", "aten.amax.default"},
    {"aten.min.default", "aten.amin.default"},
    {"aten._efficientzerotensor.default", "aten.zeros.default"},
};

// Keywords that say what holds anyway: one layout, no pinned memory, and the CPU for a tensor that is made
// from none on another device.
bool says_nothing(const std::string& key, const Arg& value, bool from_cpu) {
  if (key == "device") return value.is<ir::Word>() && value.as<ir::Word>().text == "cpu" && from_cpu;
  if (key == "layout") return value.is<ir::Word>() && value.as<ir::Word>().text == "torch.strided";
  if (key == "pin_memory" || key == "non_blocking") return value.is<bool>() && !value.as<bool>();
  return false;
}

bool reads_gpu(const ir::Graph& graph, const Node& node) {
  bool found = false;
  ir::each_ref(node, [&](Ref r) {
    found |= !graph.node(r.node).outputs.at(static_cast<size_t>(r.output)).device.is_cpu();
  });
  return found;
}

// Arguments without defaults, required ones first, the rest as PyTorch's schema orders them. A tensor made
// from nothing but numbers gets its dtype, which else hangs on torch.get_default_dtype().
bool shortened(const ir::Graph& graph, const ops::OpRow& row, const Node& node, std::vector<Arg>& args,
               Kwargs& kwargs) {
  auto bound = ops::bind(row, node);
  if (!bound.ok()) return false;
  const auto& params = ops::params(row);
  std::vector<Arg>& values = bound.value();
  const bool from_cpu = !reads_gpu(graph, node);
  bool makes = row.family == ops::Family::memory && params[0].name != "self" && node.outputs.size() == 1;
  size_t keep = params.size();
  auto is_default = [&](size_t i) {
    return !params[i].required &&
           (values[i].same(params[i].fallback) || says_nothing(params[i].name, values[i], from_cpu));
  };
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == "dtype" && makes && values[i].is_none()) values[i] = Arg(node.type().dtype);
    if (params[i].keyword_only && keep == params.size()) keep = i;
  }
  while (keep > 0 && is_default(keep - 1)) --keep;
  args.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(keep));
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].keyword_only && !is_default(i)) kwargs.emplace_back(params[i].name, values[i]);
  }
  return !ir::same(args, node.args) || !ir::same(kwargs, node.kwargs);
}

}  // namespace

GraphPtr canonicalise(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "canonicalise");
  for (const Node& node : graph->nodes()) {
    if (std::find(std::begin(kSame), std::end(kSame), node.op) != std::end(kSame) &&
        !out.is_result(node.id)) {
      out.replace(node, {out.mapped(node.args.at(0))});
      continue;
    }
    const ops::OpRow* row = node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
    std::string op = node.op;
    for (auto [from, to] : kSpellings) {
      if (op == from) op = to;
    }
    std::vector<Arg> args = node.args;
    Kwargs kwargs = node.kwargs;
    Kwargs fresh;
    bool shorter = row && shortened(*graph, *row, node, args, fresh);
    if (shorter) kwargs = fresh;
    if (!shorter && op == node.op) {
      out.keep(node);
      continue;
    }
    for (Arg& a : args) a = out.mapped(a);
    for (auto& [key, a] : kwargs) a = out.mapped(a);
    out.change(node, op, args, kwargs);
  }
  return out.finish();
}

}  // namespace vitrine::passes
