#include "core/ops/unlisted.h"

#include <algorithm>

#include "core/ops/layout.h"

namespace vitrine::ops::unlisted {

namespace {

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
constexpr Recurrent kRecurrent[] = {
    {"aten.mkldnn_rnn_layer.default", 3, "aten.mkldnn_rnn_layer_backward.default", {10, 11, 12}},
};

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

void add_refs(const ir::Arg& arg, std::vector<ir::Ref>& out) {
  ir::each_ref(arg, [&](ir::Ref r) { out.push_back(r); });
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

// By PyTorch's naming: "add_", "index_put_", overloads called out; "__and__" is functional, "__iand__" not.
bool named_as_writer(std::string_view op) {
  std::string_view name = packet(op), overload = op.substr(op.rfind('.') + 1);
  if (name.starts_with("__i")) return true;
  if (name.ends_with('_') && !name.ends_with("__")) return true;
  return is_out(overload) || quiet_writer(name);
}

constexpr std::array<std::string_view, 10> kRejectZeros = {
    "aten.cholesky.default",         "aten.cholesky_inverse.default",
    "aten.lu_unpack.default",        "aten.linalg_lu_solve.default",
    "aten.linalg_ldl_solve.default", "aten.multinomial.default",
    "aten.segment_reduce.default",   "aten.native_group_norm_backward.default",
    "aten.repeat_interleave.Tensor", "aten.remainder.Scalar_Tensor"};
constexpr std::array<std::string_view, 3> kChecks = {"aten._linalg_check_errors.default",
                                                     "aten._assert_async.default", "aten._assert_async.msg"};
// And the view that each is, but for what autograd is told.
constexpr std::pair<std::string_view, std::string_view> kHiddenViews[] = {
    {"aten.unsafe_split.Tensor", "aten.split.Tensor"},
    {"aten.unsafe_split_with_sizes.default", "aten.split_with_sizes.default"}};
constexpr std::string_view kUnsafeView = "aten._unsafe_view.default";  // it has a row
constexpr std::array<std::string_view, 1> kHiddenShapes = {"aten._pack_padded_sequence.default"};
constexpr std::array<std::string_view, 14> kRandomSigns = {
    "rand",        "bernoulli", "dropout", "multinomial", "normal", "uniform",   "cauchy",
    "exponential", "geometric", "poisson", "binomial",    "rrelu",  "dirichlet", "gamma"};

// What PyTorch's recurrent layers give where each is one operator.
constexpr int64_t kGates = 4;  // of an LSTM

// What oneDNN keeps of a step: its gates, its cell and its hidden state, f32 each; about.
constexpr int64_t kKeptBytes = 4 * (kGates + 2);

void need_sizes(const TensorType& type, const Dims& sizes) {
  need(type.sizes == sizes, "sizes that do not go together");
}

// aten.mkldnn_rnn_layer(input, weight0, weight1, weight2, weight3, hx, cx, reverse, batch_sizes, mode,
// hidden_size, ...): one layer of an LSTM in one direction. Without gradients the last is an undefined
// tensor.
Types onednn_layer(const Call& c) {
  const TensorType &x = c.tensor(0), &hx = c.tensor(5), &cx = c.tensor(6);
  const Sym hidden = c.integer(10);
  need(x.device.is_cpu() && x.sizes.size() == 3 && c.ints(8).empty() && c.integer(9) == 2,
       "an LSTM, unpacked");
  need(x.sizes[0] > 0 && x.sizes[1] > 0 && x.sizes[2] > 0, "an empty sequence");
  need_sizes(c.tensor(1), {kGates * hidden, x.sizes[2]});
  need_sizes(c.tensor(2), {kGates * hidden, hidden});
  for (const TensorType* state : {&hx, &cx}) need_sizes(*state, {x.sizes[1], hidden});
  for (size_t i = 1; i < 7; ++i) need(c.tensor(i).dtype == x.dtype, "several element types");
  const TensorType y = TensorType::contiguous(x.dtype, {x.sizes[0], x.sizes[1], hidden});
  const TensorType state = TensorType::contiguous(x.dtype, hx.sizes);
  const TensorType kept = c.grad_enabled ? TensorType::contiguous(DType::u8, {y.numel() * kKeptBytes})
                                         : TensorType::contiguous(DType::f32, {0});
  return {y, state, state, kept};
}

// Gradients of the first seven arguments, which its own begin with.
Types onednn_layer_backward(const Call& c) {
  Types out;
  for (size_t i = 0; i < 7; ++i) out.push_back(TensorType::contiguous(c.tensor(i).dtype, c.tensor(i).sizes));
  need(c.tensor(0).device.is_cpu(), "a layer on the CPU");
  return out;
}

// aten.gru.input(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), and
// aten.lstm.input with (hx, cx) for hx: as PyTorch writes them out, and without gradients.
Types layers(const Call& c) {
  const TensorType& x = c.tensor(0);
  const bool is_lstm = !c.is_tensor(1);
  const std::vector<const TensorType*> states =
      is_lstm ? c.tensors(1) : std::vector<const TensorType*>{&c.tensor(1)};
  const Sym ways = c.flag(7) ? 2 : 1;
  const size_t time = c.flag(8) ? 1 : 0;
  need(x.device.is_cpu() && x.sizes.size() == 3 && x.sizes[time] > 0 && x.sizes[1 - time] > 0, "a sequence");
  need(c.number(5) == 0 || !c.flag(6) || c.integer(4) == 1, "it draws");
  need(states.size() == (is_lstm ? 2U : 1U), "states");
  Types out;
  for (const TensorType* state : states) {
    need(state && state->dtype == x.dtype && state->sizes.size() == 3, "a state");
    need_sizes(*state, {c.integer(4) * ways, x.sizes[1 - time], state->sizes[2]});
    out.push_back(TensorType::contiguous(x.dtype, state->sizes));
  }
  const Sym size = states[0]->sizes[2] * ways;
  TensorType y = TensorType::contiguous(x.dtype, {x.sizes[time], x.sizes[1 - time], size});
  if (time == 1) {
    std::swap(y.sizes[0], y.sizes[1]);
    std::swap(y.strides[0], y.strides[1]);
  }
  out.insert(out.begin(), y);
  return out;
}

struct TypesRow {
  std::string_view op;
  ShapeRule types;
};
constexpr TypesRow kRecurrentTypes[] = {
    {"aten.mkldnn_rnn_layer.default", covered<onednn_layer>},
    {"aten.mkldnn_rnn_layer_backward.default", covered<onednn_layer_backward>},
    {"aten.gru.input", covered<layers>},
    {"aten.lstm.input", covered<layers>}};

}  // namespace

const DropsOut* dropping_out(std::string_view op) {
  for (const DropsOut& row : kDropsOut)
    if (op == row.op) return &row;
  return nullptr;
}

const Recurrent* recurrent(std::string_view op) {
  for (const Recurrent& row : kRecurrent)
    if (op == row.op || op == row.backward) return &row;
  return nullptr;
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

// "index_add_" and its like write what they are called on and nothing else, by all of PyTorch's schemas but
// one;
// "_fused_adam_" writes lists.
bool writes_self(const ir::Node& node) {
  const std::string_view name = packet(node.op);
  return is_aten(node.op) && name.ends_with('_') && !name.starts_with('_') && !node.args.empty() &&
         name != "rrelu_with_noise_";
}

// "_fused_adamw_", "_fused_sgd_": an optimizer's step of whole lists.
bool is_fused_optimizer(std::string_view op) {
  const std::string_view name = packet(op);
  return is_aten(op) && name.starts_with("_fused_") && name.ends_with('_');
}

std::vector<ir::Ref> written(const ir::Node& node) {
  std::vector<ir::Ref> out;
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

// Operators outside ATen may draw; ATen's own carry their trade in the name.
bool named_as_random(std::string_view op) {
  return !is_aten(op) || std::any_of(kRandomSigns.begin(), kRandomSigns.end(), [&](std::string_view sign) {
    return packet(op).find(sign) != std::string_view::npos;
  });
}

bool rejects_zeros(std::string_view op) {
  return holds(kRejectZeros, op);
}
bool only_raises(std::string_view op) {
  return holds(kChecks, op);
}
bool is_view(std::string_view op) {
  return view_like(op) != nullptr;
}
bool is_hidden_view(std::string_view op) {
  return op == kUnsafeView || is_view(op);
}
const OpRow* view_like(std::string_view op) {
  for (const auto& [hidden, like] : kHiddenViews)
    if (op == hidden) return find(like);
  return nullptr;
}
bool shape_follows_data(std::string_view op) {
  return holds(kHiddenShapes, op);
}

ShapeRule recurrent_types(std::string_view op) {
  for (const TypesRow& row : kRecurrentTypes)
    if (op == row.op) return row.types;
  return nullptr;
}

}  // namespace vitrine::ops::unlisted
