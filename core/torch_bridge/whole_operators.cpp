#include <array>
#include <optional>

#include "core/base/once.h"
#include "core/torch_bridge/convert.h"
#include "core/torch_bridge/lowering_state.h"

namespace vitrine::torch_bridge {

namespace {

// Torch-level functions that stay one ATen operator where PyTorch would decompose them. They run as usual,
// for types, checks and autograd; then their ATen nodes are replaced by one, unless PyTorch chose `kernel`,
// its own fused form, which is whole already and needs no choice at run time.
constexpr Whole kWhole[] = {
    {"torch._C._nn", "scaled_dot_product_attention", "aten.scaled_dot_product_attention.default",
     "aten._scaled_dot_product_flash_attention_for_cpu.default"},
};

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
const Whole* whole_of(PyObject* callable) {
  using Callables = std::array<PyObject*, std::size(kWhole)>;
  static constinit Once<Callables> kept;
  const Callables& callables = kept.get([] {
    Callables out{};
    for (size_t i = 0; i < out.size(); ++i) {
      Py module = Py::steal(PyImport_ImportModule(kWhole[i].module));
      out[i] = module ? PyObject_GetAttrString(module.get(), kWhole[i].function) : nullptr;
      PyErr_Clear();
    }
    return out;
  });
  for (size_t i = 0; i < callables.size(); ++i)
    if (callables[i] == callable) return &kWhole[i];
  return nullptr;
}

// Replaces the ATen nodes of a call by the operator that the call is.
void Lowering::State::collapse(const Whole& whole, PyObject* args, PyObject* kwargs, PyObject* result,
                               const Recording::Mark& mark) {
  if (!is_tensor(result)) return;
  for (size_t i = mark.aten; i < recording.aten_nodes().size(); ++i)
    if (recording.aten_nodes()[i].op == whole.kernel) return;
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
  const int index = recording.find(result);
  node.outputs = {recording.at(index).type};
  recording.aten_nodes().resize(mark.aten);
  recording.forget_since(mark, index);
  if (mask) write_out_mask(recording, node, *mask);
  recording.set_aten(index, {node.id, 0});
  recording.add_aten(std::move(node));
}

}  // namespace vitrine::torch_bridge
