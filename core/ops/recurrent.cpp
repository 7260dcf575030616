// What PyTorch's recurrent layers give where each is one operator. None has a row: they run through PyTorch
// alone.
#include "core/ops/layout.h"
#include "core/ops/unlisted.h"

namespace vitrine::ops::unlisted {

namespace {

constexpr int64_t kGates = 4;  // of an LSTM

// What oneDNN keeps of a step: its gates, its cell and its hidden state, f32 each; about.
constexpr int64_t kKeptBytes = 4 * (kGates + 2);

void need_sizes(const TensorType& type, const Dims& sizes) {
  need(type.sizes == sizes, "sizes that do not go together");
}

// aten.mkldnn_rnn_layer(input, weight0, weight1, weight2, weight3, hx, cx, reverse, batch_sizes, mode,
// hidden_size, ...): one layer of an LSTM in one direction. Without gradients the last is an undefined tensor.
Types onednn_layer(const Call& c) {
  const TensorType &x = c.tensor(0), &hx = c.tensor(5), &cx = c.tensor(6);
  const Sym hidden = c.integer(10);
  need(x.device.is_cpu() && x.sizes.size() == 3 && c.ints(8).empty() && c.integer(9) == 2, "an LSTM, unpacked");
  need(x.sizes[0] > 0 && x.sizes[1] > 0 && x.sizes[2] > 0, "an empty sequence");
  need_sizes(c.tensor(1), {kGates * hidden, x.sizes[2]});
  need_sizes(c.tensor(2), {kGates * hidden, hidden});
  for (const TensorType* state : {&hx, &cx}) need_sizes(*state, {x.sizes[1], hidden});
  for (size_t i = 1; i < 7; ++i) need(c.tensor(i).dtype == x.dtype, "several element types");
  const TensorType y = TensorType::contiguous(x.dtype, {x.sizes[0], x.sizes[1], hidden});
  const TensorType state = TensorType::contiguous(x.dtype, hx.sizes);
  const TensorType kept =
      c.grad_enabled ? TensorType::contiguous(DType::u8, {y.numel() * kKeptBytes}) : TensorType::contiguous(DType::f32, {0});
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

struct Row {
  std::string_view op;
  ShapeRule types;
};
constexpr Row kRows[] = {{"aten.mkldnn_rnn_layer.default", covered<onednn_layer>},
                         {"aten.mkldnn_rnn_layer_backward.default", covered<onednn_layer_backward>},
                         {"aten.gru.input", covered<layers>},
                         {"aten.lstm.input", covered<layers>}};

}  // namespace

ShapeRule recurrent_types(std::string_view op) {
  for (const Row& row : kRows)
    if (op == row.op) return row.types;
  return nullptr;
}

}  // namespace vitrine::ops::unlisted
