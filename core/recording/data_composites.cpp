// Recurrent layers of packed sequences, and the way back from these. PyTorch takes such a call apart by
// reading how many sequences go on at each step. Where sizes may stand for those of a run, the call is
// recorded as one operator that reads data (operator_data.cpp), which a run gives to PyTorch.
#include <algorithm>

#include "core/recording/lowering_guards.h"
#include "core/recording/lowering_state.h"
#include "core/recording/operator_call.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

constexpr Py_ssize_t kLayer = 9, kDropRate = 6, kTrain = 7;  // arguments of a recurrent layer

constexpr DataComposite kRows[] = {
    {Name::lstm, "aten.lstm.data", kLayer, 1},
    {Name::gru, "aten.gru.data", kLayer, 1},
    {Name::rnn_tanh, "aten.rnn_tanh.data", kLayer, 1},
    {Name::rnn_relu, "aten.rnn_relu.data", kLayer, 1},
    {Name::pad_packed_sequence, "aten._pad_packed_sequence.default", 5, 1},
};

// The tensors of an argument that is one, or a list of some.
void add_tensors(PyObject* argument, std::vector<PyObject*>& to) {
  if (is_tensor(argument)) to.push_back(argument);
  if (!PyTuple_Check(argument) && !PyList_Check(argument)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(argument); ++i)
    if (PyObject* item = PySequence_Fast_GET_ITEM(argument, i); is_tensor(item)) to.push_back(item);
}

bool drops_out(PyObject* args) {
  PyObject* rate = PyTuple_GET_ITEM(args, kDropRate);
  const bool none =
      (PyFloat_Check(rate) && PyFloat_AS_DOUBLE(rate) == 0) || Py_IsFalse(PyTuple_GET_ITEM(args, kTrain));
  return !none;
}

}  // namespace

// nullptr: the call is none, or is recorded as others are.
const DataComposite* Lowering::State::data_composite(PyObject* callable, PyObject* args, PyObject* kwargs) {
  if (!recording.stands_in || kwargs || autocast.cpu || autocast.cuda || for_absent_gpu()) return nullptr;
  for (const DataComposite& row : kRows) {
    if (kept(row.function) != callable || PyTuple_GET_SIZE(args) != row.arguments) continue;
    std::vector<PyObject*> tensors;
    for (Py_ssize_t i = 0; i < row.arguments; ++i) add_tensors(PyTuple_GET_ITEM(args, i), tensors);
    const auto is_known = [this](PyObject* t) { return recording.find(t) >= 0; };
    // Of a padded sequence the second argument is a state or a pair of some, and the third the weights.
    PyObject* lengths = PyTuple_GET_ITEM(args, row.lengths);
    if (row.arguments == kLayer && drops_out(args)) return nullptr;
    if (!is_tensor(lengths) || !std::all_of(tensors.begin(), tensors.end(), is_known)) return nullptr;
    const ir::TensorType& type = recording.at(recording.find(lengths)).type;
    return type.dtype == ir::DType::i64 && type.sizes.size() == 1 ? &row : nullptr;
  }
  return nullptr;
}

// Null with an error set: as when a call of the program raises.
PyRef Lowering::State::by_stand_ins(const DataComposite& whole, const Asked& asked) {
  const Result<OpCall> found = find_op(whole.op);
  const Overload* op = found ? overload_of(found.value().overload) : nullptr;
  if (!op) stop("unsupported_operator", std::string("PyTorch lacks ") + whole.op);
  PyRef results;
  try {
    bool off = false;
    const GradModeGuard guard(off);
    results = OperatorCall(recording, *op, asked.args, asked.kwargs).run();
  } catch (const Raised&) {
    return PyRef();
  }
  std::vector<PyObject*> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked.args); ++i)
    add_tensors(PyTuple_GET_ITEM(asked.args, i), tensors);
  if (!grad_mode || std::none_of(tensors.begin(), tensors.end(), requires_grad)) return results;
  const PyRef given = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  if (!given) return PyRef();
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(tensors[i]));
  const GradModeGuard guard(grad_mode);
  return torch_api::call(Name::stemming_from, "OO", results.get(), given.get());
}

}  // namespace vitrine::torch_api
