// Operators whose results are views, and those that make a tensor another view of its memory.
#include "core/recording/operator_call.h"

#include "core/ir/each_integer.h"
#include "core/ops/device.h"
#include "core/ops/table.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

// PyTorch's factories give the program a copy of the object that they have made, by detaching it: no view.
bool OperatorCall::is_handing_out() const {
  return op_.name == "aten.detach.default" && bound_[0].tensors.size() == 1 &&
         recording_.is_of_a_factory(bound_[0].tensors[0]);
}

PyRef OperatorCall::handed_out() {
  PyRef out = call_as_cpu();
  recording_.take_over(bound_[0].tensors[0], out.get());
  return out;
}

// A part of memory whose size is an expression. PyTorch's kernel would ask for the number.
bool OperatorCall::is_of_memory_of_expressions() {
  if (!recording_.symbols || bound_[0].tensors.size() != 1 || !op_.row || !op_.row->shape) return false;
  PyObject* memory = recording_.storage_of_tensor(bound_[0].tensors[0]).first.get();
  return ir::has_expression(symbolic_type(memory)) && ops::types_of(*op_.row, shape_call());
}

// Kernels of views only look at sizes and strides: PyTorch's own give exactly eager's.
PyRef OperatorCall::view() {
  if (is_of_expressions() || is_of_memory_of_expressions()) return view_by_rule();
  PyRef out = call_as_cpu();
  node_.id = recording_.next_id();
  adopt(out.get());
  add_node();
  return out;
}

// A PyTorch without CUDA has no views of CUDA tensors either, so fake tensors are on the CPU meanwhile.
PyRef OperatorCall::call_as_cpu() {
  std::vector<int> moved;
  for (const BoundArg& b : bound_)
    for (int t : b.tensors)
      if (recording_.at(t).type.device.is_cuda()) moved.push_back(t);
  if (moved.empty()) return call_pytorch();
  const ir::Device device = recording_.at(moved[0]).type.device;
  auto place = [&](ir::Device where) {
    for (int t : moved) place_on(handle_of(recording_.at(t).object.get()), where);
  };
  place({});
  PyRef out = PyRef::steal(PyObject_Call(op_.object, args_, kwargs_));
  place(device);
  if (!out) throw Raised{};
  std::vector<int> path;
  each_leaf(out.get(), path, [&](PyObject* t, const std::vector<int>&) { place_on(handle_of(t), device); });
  return out;
}

void OperatorCall::adopt(PyObject* value) {
  if (is_tensor(value)) {
    if (recording_.find_exact(value) >= 0) stop("unsupported_operator", op_.name + " returns its argument");
    const int index = recording_.add(PyRef::borrow(value), type_of(value));
    output(index);
  } else if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      adopt(PySequence_Fast_GET_ITEM(value, i));
  }
}

// t_(), squeeze_(), ...: the tensor object becomes another view of its storage. In the graph that is a view
// like any other, for which the object stands from now on.
PyRef OperatorCall::reshaped_in_place() {
  std::string name = op_.name == "aten.transpose_.default" ? "aten.transpose_.int" : op_.name;
  if (const size_t at = name.find("_."); at != std::string::npos) name.erase(at, 1);
  const Result<OpCall> functional = find_op(name);
  const Overload* view = functional ? overload_of(functional.value().overload) : nullptr;
  PyErr_Clear();
  if (!view || !view->view || bound_[0].tensors.size() != 1)
    stop("unsupported_operator", op_.name + " changes a tensor's storage or shape");
  const int index = bound_[0].tensors[0];
  if (recording_.storage_of_tensor(index).input)
    stop("unsupported_operator", op_.name + " changes the shape of an input");
  PyObject* tensor = bound_[0].object;
  PyRef out = PyRef::borrow(tensor);
  ir::TensorType type;
  if (is_of_expressions()) {
    type = types_by_rule(ops::find(name)).at(0);
    symbolic_reshape(tensor, type);
  } else {
    out = call_as_cpu();
    type = type_of(tensor);
  }
  node_.id = recording_.next_id();
  recording_.set_type(index, std::move(type));
  output(index);
  add_node();
  recording_.aten_nodes().back().op = name;
  return out;
}

}  // namespace vitrine::torch_api
