// Recurrent layers of sizes that are expressions. PyTorch's functions write such a layer out for a length
// that is a number; here the operators that are chosen for every length are recorded at once. What is
// recorded must be what PyTorch recorded for the first sizes, so nothing here needs to be certain.
#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/recording/lowering_guards.h"
#include "core/recording/lowering_state.h"
#include "core/recording/operator_call.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

constexpr Py_ssize_t kInput = 0, kStates = 1, kWeights = 2, kArguments = 9;

std::vector<PyObject*> tensors_of(PyObject* value) {
  if (is_tensor(value)) return {value};
  std::vector<PyObject*> out;
  for (Py_ssize_t i = 0; (PyTuple_Check(value) || PyList_Check(value)) && i < PySequence_Fast_GET_SIZE(value);
       ++i)
    out.push_back(PySequence_Fast_GET_ITEM(value, i));
  return out;
}

// oneDNN computes it, where each step gives as much as it keeps.
bool is_onednn_lstm(Recording& recording, const PreservedComposite& whole, PyObject* args) {
  const std::vector<PyObject*> states = tensors_of(PyTuple_GET_ITEM(args, kStates));
  if (whole.function != Name::lstm || states.size() != 2) return false;
  const ir::TensorType &h = recording.at(recording.find(states[0])).type,
                       &c = recording.at(recording.find(states[1])).type;
  return h.dtype != ir::DType::f64 && h.sizes.back().same(c.sizes.back());
}

}  // namespace

bool Lowering::State::is_recurrence_of_expressions(const PreservedComposite* whole, PyObject* args) {
  if (!whole || !whole->recurrent || !recording.symbols || PyTuple_GET_SIZE(args) != kArguments) return false;
  const std::vector<PyObject*> weights = tensors_of(PyTuple_GET_ITEM(args, kWeights));
  std::vector<PyObject*> all = tensors_of(PyTuple_GET_ITEM(args, kStates));
  all.insert(all.end(), weights.begin(), weights.end());
  all.push_back(PyTuple_GET_ITEM(args, kInput));
  const auto is_known = [&](PyObject* t) { return is_tensor(t) && recording.find(t) >= 0; };
  return !weights.empty() && std::all_of(all.begin(), all.end(), is_known) &&
         std::any_of(all.begin(), all.end(),
                     [&](PyObject* t) { return ir::has_expression(recording.at(recording.find(t)).type); });
}

// Null with an error set: as when a call of the program raises.
PyRef Lowering::State::recurrence_of_expressions(const PreservedComposite& whole, const Asked& asked,
                                                 WarningWatch::Once once, PyRef& warned) {
  if (is_onednn_lstm(recording, whole, asked.args))
    return run_in_modes(kept(Name::lstm_of_expressions), asked, once, warned);
  bool differentiates = false;
  for (const Py_ssize_t i : {kInput, kStates, kWeights})
    for (PyObject* t : tensors_of(PyTuple_GET_ITEM(asked.args, i)))
      differentiates |= grad_mode && requires_grad(t);
  if (differentiates)
    stop("unsupported_operator", asked.name + " of sizes that are expressions has no derivative");
  const Result<OpCall> found = find_op(whole.op);
  const Overload* op = found ? overload_of(found.value().overload) : nullptr;
  if (!op) stop("unsupported_operator", std::string("PyTorch lacks ") + whole.op);
  bool off = false;
  const GradModeGuard guard(off);
  try {
    return OperatorCall(recording, *op, asked.args, asked.kwargs).run();
  } catch (const Raised&) {
    return PyRef();
  }
}

}  // namespace vitrine::torch_api
