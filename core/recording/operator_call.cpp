// One operator as it is recorded: its arguments, what kind of operator it is, its node.
#include "core/recording/operator_call.h"

#include <algorithm>

#include "core/ops/table.h"
#include "core/torch_api/api.h"
#include "core/torch_api/convert.h"

namespace vitrine::torch_api {

PyRef OperatorCall::run() {
  std::optional<ir::SymPlace> place;
  if (recording_.symbols) place.emplace(*recording_.symbols, op_.name);
  bind();
  if (op_.data_dependent) return known_number();
  refuse();
  if (op_.lift_fresh && bound_[0].tensors.empty()) return PyRef::borrow(lifted_.get());
  if (op_.lift_fresh) return PyRef::borrow(bound_[0].object);
  if (op_.view) return is_handing_out() ? handed_out() : view();
  if (op_.inplace_view) return reshaped_in_place();
  if (!op_.has_tensor_return() && !op_.writes) return question();
  if (op_.random && draws()) recording_.effects.random = true, ++recording_.effects.draws;
  node_.id = recording_.next_id();
  const bool of_data = op_.dynamic_shape ? !fixed_shape() : takes_stand_in();
  PyRef out = of_data ? by_stand_in() : by_rule();
  if (!out) out = by_mask();
  if (!out) out = by_pytorch();
  note_writes();
  add_node();
  return out;
}

void OperatorCall::bind() {
  const Py_ssize_t given = PyTuple_GET_SIZE(args_);
  bound_.resize(op_.params.size());
  for (size_t i = 0; i < bound_.size(); ++i) {
    PyObject* value = static_cast<Py_ssize_t>(i) < given ? PyTuple_GET_ITEM(args_, i) : nullptr;
    if (!value && kwargs_) value = PyDict_GetItemWithError(kwargs_, op_.params[i].py_name);
    if (value) {
      bound_[i].object = value;
      convert(bound_[i], op_.params[i]);
    } else {
      bound_[i].object = op_.params[i].default_value;
      bound_[i].arg = op_.params[i].default_arg;
      VITRINE_CHECK(bound_[i].object, op_.name + " lacks " + op_.params[i].name);
    }
  }
}

void OperatorCall::convert(BoundArg& to, const OverloadParam& param) {
  auto arg = to_arg(to.object, [&](PyObject* tensor) -> std::optional<ir::Arg> {
    const int index = traced(tensor);
    if (index < 0) return ir::Arg();
    to.tensors.push_back(index);
    return ir::Arg(recording_.at(index).aten);
  });
  if (!arg) stop("unsupported_value", "argument " + param.name + " of " + op_.name + " cannot be recorded");
  to.arg = std::move(*arg);
  if (param.name == "device" && to.arg.is<ir::Word>() && recording_.as_if())
    to.arg = ir::Arg(ir::Word{recording_.as_if()->text()});
  if (param.name == "device" && to.arg.is<ir::Word>() && !ir::device_from_text(to.arg.as<ir::Word>().text))
    stop("unsupported_value", "a tensor on device " + to.arg.as<ir::Word>().text,
         "Tensors on the CPU and on CUDA GPUs are compiled.");
}

// -1: the constant that lift_fresh is about to adopt.
int OperatorCall::traced(PyObject* tensor) {
  const int index = recording_.find(tensor);
  if (index >= 0) return index;
  if (op_.lift_fresh ||
      (PyObject_TypeCheck(tensor, reinterpret_cast<PyTypeObject*>(api().tensor_type)) && is_scalar(tensor))) {
    const int made = recording_.constant_made_inside(tensor);
    if (!op_.lift_fresh) return made;
    lifted_ = recording_.at(made).object;
    return -1;
  }
  stop("unsupported_value", op_.name + " uses a tensor that is not part of the program");
}

// Composite operators turn Python numbers into 0-d tensors without asking the dispatcher.
bool OperatorCall::is_scalar(PyObject* tensor) {
  const TensorView v = torch_api::view(handle_of(tensor));
  return v.ndim == 0 && v.device_type == 0;
}

// Attention and dropout that are switched off draw nothing.
bool OperatorCall::draws() const {
  for (size_t i = 0; i < bound_.size(); ++i) {
    const std::string& name = op_.params[i].name;
    const ir::Arg& arg = bound_[i].arg;
    if ((name == "dropout_p" || name == "p" || name == "dropout") && arg.is<double>() &&
        arg.as<double>() == 0)
      return false;
    if ((name == "train" || name == "training") && arg.is<bool>() && !arg.as<bool>()) return false;
  }
  return true;
}

PyRef OperatorCall::call_pytorch() {
  PyRef out = PyRef::steal(PyObject_Call(op_.object, args_, kwargs_));
  if (!out) throw Raised{};
  return out;
}

// Appends to the node's outputs; the tensor is that output from now on.
void OperatorCall::output(int index) {
  const ir::Ref ref{node_.id, static_cast<int32_t>(node_.outputs.size())};
  node_.outputs.push_back(recording_.at(index).type);
  outputs_.emplace_back(index, ref);
}

void OperatorCall::note_writes() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!op_.params[i].written) continue;
    for (int t : bound_[i].tensors) recording_.mark_written(t);
  }
  if (op_.hidden_write_flag < 0) return;
  const ir::Arg& flag = bound_[static_cast<size_t>(op_.hidden_write_flag)].arg;
  if (!flag.is<bool>() || !flag.as<bool>()) return;
  for (int i : op_.hidden_writes)
    for (int t : bound_[static_cast<size_t>(i)].tensors) recording_.mark_written(t);
}

// What autograd makes of the call: nothing while gradients are off. They are, too, below the node that a
// library's operator has by its registered backward; where the program has them off, no result requires
// one.
void OperatorCall::follow() {
  if (!api().symbols.grad_enabled() && op_.aten) return;
  std::vector<bool> flags;
  bool any = false;
  for (const bool keyword_only : {false, true})
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (op_.params[i].keyword_only != keyword_only) continue;
      for (int t : bound_[i].tensors) {
        flags.push_back(requires_grad(recording_.at(t).object.get()));
        any = any || flags.back();
      }
    }
  if (any) recording_.follow(node_.id, std::move(flags));
}

// An operator of which no row says what it gives: PyTorch made its results for fake tensors of these sizes.
bool OperatorCall::is_known_new() const {
  if (op_.writes || !op_.aten || ops::find(op_.name)) return false;
  std::vector<int> given, made;
  for (const BoundArg& arg : bound_) given.insert(given.end(), arg.tensors.begin(), arg.tensors.end());
  for (const auto& [index, ref] : outputs_) made.push_back(index);
  return !recording_.share_memory(made, given);
}

// x[i] = 2 fills by a tensor of the CPU that holds the number. As a number it is no memory of the CPU that a
// GPU's graph would have to read.
void OperatorCall::fill_by_number() {
  constexpr size_t kValue = 1;
  if (node_.op != "aten.fill_.Tensor" || bound_[kValue].tensors.size() != 1) return;
  const int index = bound_[kValue].tensors.front();
  if (recording_.storage_of_tensor(index).constant_copy < 0) return;  // not made for this call alone
  const PyRef value = recording_.known_value(index);
  const PyRef number = PyRef::steal(value ? PyObject_CallMethod(value.get(), "item", nullptr) : nullptr);
  auto arg = number ? to_arg(number.get(), [](PyObject*) { return std::optional<ir::Arg>(); }) : std::nullopt;
  PyErr_Clear();
  if (!arg) return;
  node_.op = "aten.fill_.Scalar";
  bound_[kValue].arg = std::move(*arg);
  bound_[kValue].tensors.clear();
}

void OperatorCall::add_node() {
  node_.op = op_.name;
  fill_by_number();
  node_.reads_only = !op_.aten && !op_.writes;
  // It gives back the tensor that it waited for, though its schema does not say so.
  const bool waits = op_.name == "_c10d_functional.wait_tensor.default";
  node_.makes_new = (node_.reads_only && !op_.view && !waits) || is_known_new();
  follow();
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!op_.params[i].keyword_only)
      node_.args.push_back(std::move(bound_[i].arg));
    else if (!bound_[i].arg.is_none())
      node_.kwargs.emplace_back(op_.params[i].name, std::move(bound_[i].arg));
  }
  for (const auto& [index, ref] : outputs_) recording_.set_aten(index, ref);
  recording_.add_aten(std::move(node_));
}

}  // namespace vitrine::torch_api
