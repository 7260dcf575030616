#include "core/passes/attention/known_mask.h"

#include <cmath>
#include <limits>

#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

using ir::Dims;
using ir::DType;
using ir::Sym;

// Every dimension of the mask is the scores', or of one element.
bool fits(const Dims& mask, const Dims& query, const Dims& key) {
  if (mask.size() < 2 || mask.size() > query.size() || key.size() != query.size()) return false;
  Dims scores = query;
  scores.back() = key[key.size() - 2];
  for (size_t i = 1; i <= mask.size(); ++i)
    if (!mask[mask.size() - i].same(1) && !mask[mask.size() - i].same(scores[scores.size() - i]))
      return false;
  return true;
}

// Attention's operators, and where their arguments are.
struct AttentionRow {
  std::string_view op;
  size_t dropout, causal;
  size_t mask;  // its position; 0: by name
};
constexpr AttentionRow kAttention[] = {
    {"aten.scaled_dot_product_attention.default", 4, 5, 3},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", 3, 4, 0},
};
constexpr std::string_view kMaskName = "attn_mask";

const AttentionRow* attention_of(const Node& node) {
  for (const AttentionRow& a : kAttention)
    if (a.op == node.op) return &a;
  return nullptr;
}

const Arg* mask_of(const AttentionRow& attention, const Node& node) {
  if (attention.mask > 0) return attention.mask < node.args.size() ? &node.args[attention.mask] : nullptr;
  for (const auto& [key, value] : node.kwargs)
    if (key == kMaskName) return &value;
  return nullptr;
}

bool is_off(const Node& node, size_t at) {
  if (at >= node.args.size()) return true;
  const Arg& a = node.args[at];
  return a == Arg(false) || a == Arg(0.0) || a == Arg(0);
}

class Masks {
 public:
  explicit Masks(const ir::Graph& graph)
      : graph_(graph),
        storages_(graph),
        values_([&](NodeId id) { return graph.find(id); }, [&](NodeId id) { return storages_.written(id); }) {
  }

  KnownMask of(const AttentionRow& attention, const Node& node) {
    const Arg* mask = mask_of(attention, node);
    if (!mask || !mask->is<Ref>() || !is_off(node, attention.causal)) return KnownMask::unknown;
    const TensorType &query = type(node.args[0]), &key = type(node.args[1]);
    if (query.device.is_cuda() && !is_off(node, attention.dropout)) return KnownMask::unknown;
    return known_mask(values_, mask->as<Ref>(), query, key);
  }

 private:
  const TensorType& type(const Arg& value) const {
    const Ref ref = value.as<Ref>();
    return graph_.node(ref.node).outputs.at(static_cast<size_t>(ref.output));
  }

  const ir::Graph& graph_;
  Storages storages_;
  IndexValues values_;
};

}  // namespace

bool sees_up_to_itself(const Linear& test) {
  const size_t dims = test.steps.size();
  for (size_t d = 0; d + 2 < dims; ++d)
    if (test.steps[d] != 0) return false;
  return dims >= 2 && test.start == 0 && test.steps[dims - 2] == 1 && test.steps[dims - 1] == -1;
}

KnownMask known_mask(IndexValues& values, Ref mask, const TensorType& query, const TensorType& key) {
  const TensorType& type = values.type(mask);
  const bool truth = type.dtype == DType::b1;
  if (!truth && type.dtype != query.dtype) return KnownMask::unknown;
  if (type.device != query.device || !fits(type.sizes, query.sizes, key.sizes)) return KnownMask::unknown;
  const double seen = truth ? 1 : 0, left_out = truth ? 0 : -std::numeric_limits<double>::infinity();
  const IndexValue value = values.of(mask);
  if (const double* n = std::get_if<double>(&value))
    return *n == seen ? KnownMask::nothing : KnownMask::unknown;
  const Choice* choice = std::get_if<Choice>(&value);
  if (!choice || !query.sizes[query.sizes.size() - 2].same(key.sizes[key.sizes.size() - 2]))
    return KnownMask::unknown;
  const bool below = choice->yes == seen && choice->no == left_out && sees_up_to_itself(choice->test);
  const bool above =
      choice->no == seen && choice->yes == left_out && sees_up_to_itself(opposite(choice->test));
  return below || above ? KnownMask::causal : KnownMask::unknown;
}

// attention(q, k, v, mask) = attention(q, k, v), or attention(q, k, v, is_causal=True).
GraphPtr known_masks(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  Rewriter out(graph, ids, "known_mask");
  Masks masks(*graph);
  for (const Node& node : graph->nodes()) {
    const AttentionRow* attention = attention_of(node);
    const KnownMask known = attention ? masks.of(*attention, node) : KnownMask::unknown;
    if (known == KnownMask::unknown) {
      out.keep(node);
      continue;
    }
    std::vector<Arg> args;
    Kwargs kwargs;
    for (const Arg& a : node.args) args.push_back(out.mapped(a));
    for (const auto& [name, arg] : node.kwargs)
      if (name != kMaskName) kwargs.emplace_back(name, out.mapped(arg));
    if (attention->mask > 0) args[attention->mask] = Arg();
    if (known == KnownMask::causal) {
      if (args.size() <= attention->dropout) args.resize(attention->dropout, Arg());
      if (args.size() == attention->dropout) args.emplace_back(0.0);
      args.resize(std::max(args.size(), attention->causal + 1), Arg(false));
      args[attention->causal] = Arg(true);
    }
    out.change(node, node.op, std::move(args), std::move(kwargs), node.outputs);
  }
  return out.finish();
}

}  // namespace vitrine::passes
