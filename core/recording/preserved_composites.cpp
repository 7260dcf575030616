#include <optional>

#include "core/ops/node.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/convert.h"

namespace vitrine::torch_api {

namespace {

// Torch-level functions that stay one ATen operator where PyTorch would decompose them. They run as usual,
// for types, checks and autograd; then their ATen nodes are replaced by one, unless PyTorch chose `kernel`,
// its own fused form, which is whole already and needs no choice at run time.
constexpr PreservedComposite kWhole[] = {
    {Name::scaled_dot_product_attention, "aten.scaled_dot_product_attention.default",
     "aten._scaled_dot_product_flash_attention_for_cpu.default"},
    // Step by step they would be as many operators as the sequence is long.
    {Name::gru, "aten.gru.input", "aten._cudnn_rnn.default", 2, true},
    {Name::lstm, "aten.lstm.input", "aten.mkldnn_rnn_layer.default", 1, true},
};

bool is_sequence(PyObject* o) {
  return PyTuple_Check(o) || PyList_Check(o);
}

// PyTorch's fused attention on a GPU reads a mask by rows of neighbours. One that repeats a number along a
// row is written out before, else attention would run operator by operator.
void write_out_mask(Recording& recording, ir::Node& attention, const ir::TensorType& mask) {
  constexpr size_t kMask = 3;
  if (!mask.device.is_cuda() || mask.sizes.empty()) return;
  if (mask.sizes.back() == 1 || mask.strides.back() == 1) return;
  ir::Node copy;
  copy.op = "aten.clone.default";
  copy.id = recording.next_id();
  copy.args = {attention.args[kMask]};
  copy.kwargs.emplace_back("memory_format", ir::Arg(ir::Word{"torch.contiguous_format"}));
  ir::TensorType written = ir::TensorType::contiguous(mask.dtype, mask.sizes);
  written.device = mask.device;
  copy.outputs = {written};
  attention.args[kMask] = ir::Arg(ir::Ref{copy.id, 0});
  recording.add_aten(std::move(copy));
}

}  // namespace

// The row of a callable, or nullptr.
const PreservedComposite* preserved_composite(PyObject* callable) {
  for (const PreservedComposite& whole : kWhole)
    if (kept(whole.function) == callable) return &whole;
  return nullptr;
}

// "", or why the ATen nodes of a call, those since the mark, are not the operator that the call is.
std::string Lowering::State::why_apart(const PreservedComposite& whole, PyObject* args,
                                       const std::vector<PyObject*>& results, const Recording::Mark& mark) {
  const auto& nodes = recording.aten_nodes();
  if (whole.list >= 0 &&
      (PyTuple_GET_SIZE(args) <= whole.list || !is_sequence(PyTuple_GET_ITEM(args, whole.list))))
    return "another overload";
  if (whole.recurrent && (autocast.cpu || autocast.cuda)) return "autocast";
  for (size_t i = mark.aten; i < nodes.size(); ++i) {
    if (nodes[i].op == whole.kernel || nodes[i].op == "aten._cudnn_rnn.default")
      return "PyTorch's own fused form";
    if (for_any_size && ops::is_attention(nodes[i])) return "one way is chosen for all sizes";
    if (whole.recurrent && ops::is_random(nodes[i])) return "it draws";
  }
  if (results.empty()) return "no results";
  for (PyObject* r : results)
    if (!is_tensor(r) || requires_grad(r)) return "what autograd has taken note of must stay in the graph";
  return "";
}

// Replaces the ATen nodes of a call by the operator that the call is.
void Lowering::State::collapse(const PreservedComposite& whole, PyObject* args, PyObject* kwargs,
                               PyObject* result, const Recording::Mark& mark) {
  std::vector<PyObject*> results;
  for (Py_ssize_t i = 0; is_sequence(result) && i < PySequence_Fast_GET_SIZE(result); ++i)
    results.push_back(PySequence_Fast_GET_ITEM(result, i));
  if (!is_sequence(result)) results.push_back(result);
  if (!why_apart(whole, args, results, mark).empty()) return;
  Result<OpCall> found = find_op(whole.op);
  const Overload* op = found ? overload_of(found.value().overload) : nullptr;
  if (!op) return PyErr_Clear();
  ir::Node node;
  node.op = whole.op;
  node.id = recording.next_id();
  auto ref = [&](PyObject* t) -> std::optional<ir::Arg> {
    return ir::Arg(recording.at(recording.find(t)).aten);
  };
  std::optional<ir::TensorType> mask;
  for (size_t i = 0; i < op->params.size(); ++i) {
    const OverloadParam& p = op->params[i];
    PyObject* value =
        static_cast<Py_ssize_t>(i) < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, i) : nullptr;
    if (!value && kwargs) value = PyDict_GetItemWithError(kwargs, p.py_name);
    std::optional<ir::Arg> arg = value ? to_arg(value, ref) : std::optional(p.default_arg);
    if (!arg) return;  // stays decomposed
    if (p.name == "attn_mask" && value && is_tensor(value)) mask = recording.at(recording.find(value)).type;
    if (!p.keyword_only)
      node.args.push_back(std::move(*arg));
    else if (!arg->is_none())
      node.kwargs.emplace_back(p.name, std::move(*arg));
  }
  node.makes_new = whole.recurrent;
  std::vector<int> indices;
  for (PyObject* r : results) {
    indices.push_back(recording.find(r));
    node.outputs.push_back(recording.at(indices.back()).type);
  }
  recording.cut_aten(mark.aten);
  recording.forget_since(mark, indices);
  if (mask) write_out_mask(recording, node, *mask);
  for (size_t k = 0; k < indices.size(); ++k)
    recording.set_aten(indices[k], {node.id, static_cast<int32_t>(k)});
  recording.add_aten(std::move(node));
}

}  // namespace vitrine::torch_api
