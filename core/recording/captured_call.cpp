// What a recorded call leaves in the captured graph and in the program that replays it.
#include <optional>
#include <utility>
#include <vector>

#include "core/recording/lowering_state.h"
#include "core/torch_api/convert.h"

namespace vitrine::torch_api {

int Lowering::State::leaf_slot(PyObject* tensor) {
  if (!is_plain_tensor(tensor))
    stop("unsupported_value", std::string("a tensor of class ") + Py_TYPE(tensor)->tp_name + " is made");
  const int index = recording.find(tensor);
  if (index < 0) stop("unsupported_value", "a tensor that is not part of the traced program");
  const int slot = recording.at(index).slot;
  if (slot < 0) stop("unsupported_value", "a tensor that no recorded call returned");
  return slot;
}

void Lowering::State::add_captured(const std::string& name, PyObject* callable, PyObject* args,
                                   PyObject* kwargs, const ir::Origin& origin, PyObject* result,
                                   Outcome& outcome, bool state_changed, size_t aten_before) {
  ReplayCall call;
  auto slot = [&](PyObject* t) { return leaf_slot(t); };
  call.args = make_template(args, slot);
  if (kwargs) call.kwargs = make_template(kwargs, slot);
  ir::Node node;
  node.id = recording.call_id();
  node.op = name;
  node.origin = origin;
  auto ref = [&](PyObject* t) -> std::optional<ir::Arg> {
    return ir::Arg(recording.at(recording.find(t)).captured);
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    node.args.push_back(display_arg(PyTuple_GET_ITEM(args, i), ref));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);)
    node.kwargs.emplace_back(PyUnicode_AsUTF8(key), display_arg(value, ref));

  std::vector<std::pair<int, std::vector<int>>> leaves;
  std::vector<int> path;
  each_leaf(result, path, [&](PyObject* t, const std::vector<int>& where) {
    const int index = recording.find(t);
    if (index < 0) stop("unsupported_value", name + " returns a tensor that is not part of the program");
    leaves.emplace_back(index, where);
  });
  if (leaves.empty() && !state_changed && recording.aten_nodes().size() == aten_before) return;
  if (leaves.empty()) note_grad(args);
  if (grad_mode)
    for (PyObject* given : {args, kwargs})
      if (given)
        each_leaf(given, path, [&](PyObject* t, const std::vector<int>&) {
          if (requires_grad(t)) recording.effects.asks_autograd = true;
        });
  for (const auto& [index, where] : leaves) {
    TracedTensor& t = recording.at(index);
    t.captured = {node.id, static_cast<int32_t>(node.outputs.size())};
    call.known.push_back(t.slot);
    t.slot = recording.program().slots++;
    node.outputs.push_back(t.type);
    call.outputs.emplace_back(where, t.slot);
    if (recording.is_made_leaf(index)) {
      recording.effects.makes_leaf = true;
      continue;
    }
    // With gradients off, what is an input's own memory requires grad as before.
    const bool as_before = recording.storage_of_tensor(index).input || requires_grad_by_base(t.object.get());
    if (requires_grad(t.object.get()) && (grad_mode || !as_before)) recording.effects.needs_grad = true;
    if (requires_grad(t.object.get()) && grad_mode) ++recording.effects.differentiable;
  }
  call.callable = PyRef::borrow(callable);
  recording.captured_nodes().push_back(std::move(node));
  recording.program().calls.push_back(std::move(call));
  outcome.captured_nodes = 1;
}

// Eager raises when autograd would save an inference tensor for a backward pass.
void Lowering::State::refuse_inference_inputs(const std::string& name, PyObject* args, PyObject* result) {
  if (!grad_mode || api().symbols.inference_enabled()) return;
  std::vector<int> path;
  bool followed = false;
  each_leaf(result, path,
            [&](PyObject* t, const std::vector<int>&) { followed = followed || requires_grad(t); });
  if (!followed) return;
  each_leaf(args, path, [&](PyObject* t, const std::vector<int>&) {
    const int index = recording.find(t);
    if (index >= 0 && recording.storage_of_tensor(index).inference)
      stop("exception", name + " takes part in a backward pass and is given an inference tensor",
           "Clone the tensor outside inference mode, or use torch.no_grad.");
  });
}

// A call that returns no tensor may have made one of its arguments require grad (x[0] = w).
void Lowering::State::note_grad(PyObject* args) {
  std::vector<int> path;
  each_leaf(args, path, [&](PyObject* t, const std::vector<int>&) {
    if (grad_mode && requires_grad(t)) recording.effects.needs_grad = true;
  });
}

}  // namespace vitrine::torch_api
