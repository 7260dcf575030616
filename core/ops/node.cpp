#include "core/ops/node.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/ir/parse.h"
#include "core/ops/device.h"
#include "core/ops/promote.h"

namespace vitrine::ops {

namespace {

// Operators without a row that drop out where a probability, this argument, is not zero. A backward draws
// nothing: it is given the seed and the offset.
struct DropsOut {
  std::string_view op;
  size_t probability;
  bool draws = true;
};
constexpr DropsOut kDropsOut[] = {
    {"aten.scaled_dot_product_attention.default", 4},
    {"aten._scaled_dot_product_flash_attention.default", 3},
    {"aten._scaled_dot_product_flash_attention.quantized", 6},
    {"aten._scaled_dot_product_efficient_attention.default", 5},
    {"aten._scaled_dot_product_cudnn_attention.default", 5},
    {"aten._scaled_dot_product_fused_attention_overrideable.default", 4},
    {"aten._flash_attention_forward.default", 7},
    {"aten._flash_attention_forward.quantized", 7},
    {"aten._efficient_attention_forward.default", 8},
    {"aten._cudnn_attention_forward.default", 9},
    {"aten._cudnn_rnn.default", 11},
    {"aten._scaled_dot_product_flash_attention_backward.default", 10, false},
    {"aten._scaled_dot_product_efficient_attention_backward.default", 9, false},
    {"aten._scaled_dot_product_cudnn_attention_backward.default", 13, false},
    {"aten._flash_attention_backward.default", 10, false},
    {"aten._efficient_attention_backward.default", 11, false},
    {"aten._cudnn_attention_backward.default", 13, false},
};
const DropsOut* row_that_drops_out(const ir::Node& node) {
  for (const DropsOut& row : kDropsOut)
    if (node.op == row.op) return &row;
  return nullptr;
}

// An operator without a row and its backward: an output that it makes for that alone, and gradients that its
// backward does without.
struct Recurrent {
  std::string_view op;
  size_t workspace;
  std::string_view backward;
  std::array<size_t, 3> gradients;
};
constexpr Recurrent kRecurrent[] = {
    {"aten.mkldnn_rnn_layer.default", 3, "aten.mkldnn_rnn_layer_backward.default", {10, 11, 12}},
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// "self!, other, *, alpha=1, dim=[1, 2]" at the commas outside brackets.
std::vector<Param> parse_params(const OpRow& row) {
  std::vector<Param> out;
  bool keyword_only = false;
  std::string_view text = row.params;
  for (size_t from = 0, depth = 0, i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth)) continue;
    std::string_view item = trim(text.substr(from, i - from));
    from = i + 1;
    if (item.empty()) continue;
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    Param p;
    p.keyword_only = keyword_only;
    if (size_t eq = item.find('='); eq != std::string_view::npos) {
      auto value = ir::parse_constant(item.substr(eq + 1));
      VITRINE_CHECK(value.ok(), "row " + std::string(row.name) + ": default of " + std::string(item));
      p.fallback = value.take();
      p.required = false;
      item = item.substr(0, eq);
    }
    if (size_t mark = item.find('!'); mark != std::string_view::npos) {
      p.written = true;
      p.written_if = std::string(item.substr(mark + 1));
      item = item.substr(0, mark);
    }
    p.name = std::string(item);
    out.push_back(std::move(p));
  }
  return out;
}

ShapeArg shape_arg(const ir::Arg& arg, const TypeOf& type_of) {
  ShapeArg out;
  if (arg.is<ir::Ref>()) {
    out.tensor = &type_of(arg.as<ir::Ref>());
    return out;
  }
  out.constant = &arg;
  if (!arg.is<std::vector<ir::Arg>>()) return out;
  bool any_tensor = false;
  for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) any_tensor |= a.is<ir::Ref>();
  if (any_tensor) {
    for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) out.list.push_back(shape_arg(a, type_of));
  }
  return out;
}

void add_refs(const ir::Arg& arg, std::vector<ir::Ref>& out) {
  ir::each_ref(arg, [&](ir::Ref r) { out.push_back(r); });
}

// "aten.add_.Tensor" -> "add_"
std::string_view packet(std::string_view op) {
  size_t from = op.find('.');
  if (from == std::string_view::npos) return op;
  op.remove_prefix(from + 1);
  return op.substr(0, op.find('.'));
}

bool is_aten(std::string_view op) {
  return op.starts_with("aten.") || op.starts_with("prims.");
}

// Operators that write although PyTorch's naming does not say so, and from which argument to which; to 0:
// any.
struct QuietWriter {
  std::string_view name;
  size_t from, to;
};
constexpr std::array<QuietWriter, 7> kQuietWriters = {{{"native_batch_norm", 3, 5},
                                                       {"_native_batch_norm_legit", 3, 5},
                                                       {"cudnn_batch_norm", 3, 5},
                                                       {"_batch_norm_with_update", 3, 5},
                                                       {"rrelu_with_noise", 1, 2},
                                                       {"_fused_moving_avg_obs_fq_helper", 3, 7},
                                                       {"_foreach_copy", 0, 0}}};
const QuietWriter* quiet_writer(std::string_view name) {
  const auto found = std::find_if(kQuietWriters.begin(), kQuietWriters.end(),
                                  [&](const QuietWriter& row) { return row.name == name; });
  return found == kQuietWriters.end() ? nullptr : &*found;
}

// Those without a row that read a tensor given by name. By all other names it is what the result is written
// to: "max.dim_max" has (max, max_values), "sort.values" (values, indices).
constexpr std::array<std::string_view, 8> kReadNamed = {
    "searchsorted", "histogram",      "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors",
    "linalg_pinv",  "segment_reduce", "_histogramdd_bin_edges",    "linalg_matrix_rank"};

bool is_out(std::string_view overload) {
  return overload == "out" || overload.ends_with("_out") || overload.starts_with("out_");
}

template <size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_named(const ir::Node& node, std::vector<ir::Ref>& out) {
  for (const auto& [name, value] : node.kwargs) add_refs(value, out);
}

// "add.out" writes what it is given by name and nothing else, and hands it back.
bool writes_named(const ir::Node& node) {
  const std::string_view name = packet(node.op);
  std::vector<ir::Ref> named;
  add_named(node, named);
  if (!is_aten(node.op) || named.empty() || name.starts_with("_fused") || name.starts_with("_amp"))
    return false;
  return !quiet_writer(name) &&
         (is_out(std::string_view(node.op).substr(node.op.rfind('.') + 1)) || !holds(kReadNamed, name));
}

// By PyTorch's naming: "add_", "index_put_", overloads called out; "__and__" is functional, "__iand__" not.
bool named_as_writer(std::string_view op) {
  std::string_view name = packet(op), overload = op.substr(op.rfind('.') + 1);
  if (name.starts_with("__i")) return true;
  if (name.ends_with('_') && !name.ends_with("__")) return true;
  return is_out(overload) || quiet_writer(name);
}

// "index_add_" and its like write what they are called on and nothing else, by all of PyTorch's schemas but
// one;
// "_fused_adam_" writes lists.
bool writes_self(const ir::Node& node) {
  const std::string_view name = packet(node.op);
  return is_aten(node.op) && name.ends_with('_') && !name.starts_with('_') && !node.args.empty() &&
         name != "rrelu_with_noise_";
}

// What an operator with a row writes is what it returns, but for batch norms.
bool hands_back(const OpRow& row) {
  return row.name.find("batch_norm") == std::string_view::npos;
}

// "_fused_adamw_", "_fused_sgd_": an optimizer's step of whole lists.
bool is_fused_optimizer(std::string_view op) {
  const std::string_view name = packet(op);
  return is_aten(op) && name.starts_with("_fused_") && name.ends_with('_');
}

// What the node passes for a parameter; nullptr: its default.
const ir::Arg* argument(const std::vector<Param>& names, const ir::Node& node, std::string_view name) {
  for (size_t i = 0; i < names.size() && i < node.args.size(); ++i) {
    if (names[i].name == name) return &node.args[i];
  }
  for (const auto& [key, value] : node.kwargs) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

const std::vector<Param>& params(const OpRow& row) {
  // One entry a row, filled when the table is first asked: constant from then on.
  static const auto kParams = [] {
    std::unordered_map<const OpRow*, std::vector<Param>> out;
    for (const OpRow* r : all()) out.emplace(r, parse_params(*r));
    return out;
  }();
  return kParams.at(&row);
}

Result<std::vector<ir::Arg>> bind(const OpRow& row, const ir::Node& node) {
  const auto& names = params(row);
  auto fail = [&](const std::string& what) {
    return Error{"%" + node.name + " = " + node.op + ": " + what, "", ""};
  };
  std::vector<ir::Arg> out(names.size());
  std::vector<bool> given(names.size());
  if (node.args.size() > names.size()) return fail("too many arguments");
  for (size_t i = 0; i < node.args.size(); ++i) out[i] = node.args[i], given[i] = true;
  for (const auto& [key, value] : node.kwargs) {
    size_t i = 0;
    while (i < names.size() && names[i].name != key) ++i;
    if (i == names.size()) return fail("no parameter is called " + key);
    if (given[i]) return fail(key + " is given twice");
    out[i] = value, given[i] = true;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i]) continue;
    if (names[i].required) return fail(names[i].name + " is missing");
    out[i] = names[i].fallback;
  }
  return out;
}

Result<std::vector<TensorType>> infer(const OpRow& row, const std::vector<ir::Arg>& args,
                                      const TypeOf& type_of) {
  if (!row.shape) return Error{std::string(row.name) + " has no shape rule", "", ""};
  ShapeCall call;
  for (const ir::Arg& a : args) call.args.push_back(shape_arg(a, type_of));
  return types_of(row, call);
}

DType compute_dtype(const OpRow& row, const std::vector<ir::Arg>& args, const TypeOf& type_of, DType output) {
  if (output != DType::b1) return opmath(output);
  Promotion promotion(DType::f32);
  promotion.number(DType::b1);  // the lowest: what a body without operands (zeros, ones) is left with
  for (const ir::Arg& a : args) {
    if (a.is<ir::Ref>()) promotion.tensor(type_of(a.as<ir::Ref>()));
    if (a.is<int64_t>()) promotion.number(DType::i64);
    if (a.is<double>()) promotion.number(DType::f32);
  }
  return opmath(promotion.result());
}

std::vector<ir::Ref> written(const ir::Node& node) {
  std::vector<ir::Ref> out;
  if (node.kind != ir::NodeKind::op) return out;
  if (const OpRow* row = find(node.op)) {
    const auto& names = params(*row);
    for (const Param& p : names) {
      if (!p.written) continue;
      const ir::Arg* condition = p.written_if.empty() ? nullptr : argument(names, node, p.written_if);
      if (condition && condition->is<bool>() && !condition->as<bool>()) continue;
      if (const ir::Arg* value = argument(names, node, p.name)) add_refs(*value, out);
    }
    return out;
  }
  if (node.reads_only) return out;
  if (writes_named(node)) return add_named(node, out), out;
  if (is_aten(node.op) && !named_as_writer(node.op)) return out;
  const QuietWriter* quiet = node.kwargs.empty() ? quiet_writer(packet(node.op)) : nullptr;
  if (writes_self(node))
    add_refs(node.args[0], out);
  else if (quiet && quiet->to)
    for (size_t i = quiet->from; i < std::min(quiet->to, node.args.size()); ++i) add_refs(node.args[i], out);
  else
    ir::each_ref(node, [&](ir::Ref r) { out.push_back(r); });
  return out;
}

std::vector<ir::Ref> counted(const ir::Node& node) {
  const bool quiet = node.op == "aten.native_batch_norm.default" ||
                     node.op == "aten._native_batch_norm_legit.default" ||
                     node.op == "aten.cudnn_batch_norm.default" || is_fused_optimizer(node.op);
  return quiet ? std::vector<ir::Ref>{} : written(node);
}

bool writes(const ir::Node& node) {
  return !written(node).empty();
}

std::vector<ir::Ref> aliased(const ir::Node& node) {
  if (node.kind != ir::NodeKind::op || node.makes_new) return {};
  std::vector<ir::Ref> out;
  const OpRow* row = find(node.op);
  if (!row && writes_self(node))
    add_refs(node.args[0], out);
  else if (!row && writes_named(node))
    add_named(node, out);
  else if (!row)
    ir::each_ref(node, [&](ir::Ref r) { out.push_back(r); });
  else if (row->family != Family::view)
    return hands_back(*row) ? written(node) : out;
  else if (!node.args.empty())
    add_refs(node.args[0], out);
  return out;
}

bool may_alias(const ir::Node& node) {
  return !aliased(node).empty();
}

bool is_attention(const ir::Node& node) {
  return row_that_drops_out(node) && node.op.find("attention") != std::string::npos;
}

// An argument that is not given is a default, and all defaults are zero.
bool drops_out(const ir::Node& node) {
  const DropsOut* row = row_that_drops_out(node);
  if (!row) return false;
  const ir::Arg* p = row->probability < node.args.size() ? &node.args[row->probability] : nullptr;
  for (const auto& [name, value] : node.kwargs)
    if (name == "dropout_p" || name == "dropout") p = &value;
  return p && !(*p == ir::Arg(0.0)) && !(*p == ir::Arg(int64_t{0}));
}

bool asks_grad_mode(const ir::Node& node) {
  return std::any_of(std::begin(kRecurrent), std::end(kRecurrent), [&](const Recurrent& row) {
    return node.op == row.op && node.outputs.size() > row.workspace &&
           node.outputs[row.workspace].numel() > 0;
  });
}

std::span<const size_t> optional_gradients(const ir::Node& node) {
  for (const Recurrent& row : kRecurrent)
    if (node.op == row.backward) return row.gradients;
  return {};
}

bool is_random(const ir::Node& node) {
  if (const OpRow* row = find(node.op)) return row->family == Family::random;
  // Unknown operators outside ATen may draw; ATen's own have rows or carry their trade in the name.
  if (node.kind != ir::NodeKind::op) return false;
  if (!is_aten(node.op)) return true;
  if (const DropsOut* row = row_that_drops_out(node)) return row->draws && drops_out(node);
  for (std::string_view sign :
       {"rand", "bernoulli", "dropout", "multinomial", "normal", "uniform", "cauchy", "exponential",
        "geometric", "poisson", "binomial", "rrelu", "dirichlet", "gamma"}) {
    if (packet(node.op).find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace vitrine::ops
