// What an operator gives: by the shape rule of its row, else by PyTorch itself; as fake tensors.
#include "core/recording/operator_call.h"

#include <algorithm>

#include "core/ops/device.h"
#include "core/ops/unlisted.h"
#include "core/torch_api/api.h"

namespace vitrine::torch_api {

// An operator that answers about sizes or kernels, not about data (a data access raises).
PyRef OperatorCall::question() {
  if (is_check()) {
    node_.id = recording_.next_id();
    add_node();
    return PyRef::borrow(Py_None);
  }
  if (op_.returns.empty()) stop("unsupported_operator", op_.name + " acts without a result");
  return call_pytorch();
}

// Operators that do nothing but raise, depending on data: they stay in the graph, and a call that raises
// leaves no trace of the segment.
bool OperatorCall::is_check() const {
  return ops::unlisted::only_raises(op_.name);
}

PyRef OperatorCall::fresh(const ir::TensorType& type) {
  const bool random_state = type.dtype == ir::DType::u64 && ops::unlisted::dropping_out(op_.name);
  if (type.dtype == ir::DType::other || (type.dtype == ir::DType::u64 && !random_state))
    stop("unsupported_value", op_.name + " gives an unsupported element type");
  const int index = recording_.fresh(type);
  output(index);
  return recording_.at(index).object;
}

ops::ShapeArg OperatorCall::shape_arg(const ir::Arg& arg, const std::vector<int>& tensors,
                                      size_t& next) const {
  ops::ShapeArg out;
  if (arg.is<ir::Ref>()) {
    out.tensor = &recording_.at(tensors[next++]).type;
    return out;
  }
  out.constant = &arg;
  if (arg.is<std::vector<ir::Arg>>() && !tensors.empty()) {
    for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>()) out.list.push_back(shape_arg(a, tensors, next));
  }
  return out;
}

std::vector<FallbackArg> OperatorCall::fallback_args() const {
  std::vector<FallbackArg> args;
  for (const BoundArg& b : bound_) {
    FallbackArg a{b.object, {}};
    for (int t : b.tensors) a.tensors.push_back(&recording_.at(t).type);
    args.push_back(std::move(a));
  }
  return args;
}

// Null: no rule, or a call that the rule does not cover (eager may reject it).
ops::ShapeCall OperatorCall::shape_call() const {
  ops::ShapeCall call;
  call.default_dtype = ir::dtype_from_scalar_type(api().symbols.default_dtype());
  call.grad_enabled = api().symbols.grad_enabled();
  call.args.reserve(bound_.size());
  for (const BoundArg& b : bound_) {
    size_t next = 0;
    call.args.push_back(shape_arg(b.arg, b.tensors, next));
  }
  return call;
}

// PyTorch's recurrent layers have a rule, but no row. What a layer makes for its backward alone is undefined
// where no gradient is wanted.
PyRef OperatorCall::recurrent_layer() {
  const ops::ShapeRule rule = ops::unlisted::recurrent_types(op_.name);
  if (!rule) return PyRef();
  const Result<std::vector<ir::TensorType>> types = rule(shape_call());
  if (!types) return PyRef();
  const ops::unlisted::Recurrent* row = ops::unlisted::recurrent(op_.name);
  std::vector<PyRef> made;
  for (const ir::TensorType& type : types.value()) {
    const bool undefined = row && row->op == op_.name && made.size() == row->workspace && type.numel() == 0;
    if (undefined) node_.outputs.push_back(type);
    made.push_back(undefined ? PyRef::borrow(Py_None) : fresh(type));
  }
  return packed(made);
}

PyRef OperatorCall::by_rule() {
  if (!op_.row) return recurrent_layer();
  if (!op_.row || !op_.row->shape || writes_overlap() || refuses_devices()) return PyRef();
  Result<std::vector<ir::TensorType>> types = ops::types_of(*op_.row, shape_call());
  if (!types) return PyRef();
  if (!types.value().empty()) refuse_numbers(types.value()[0]);
  return results(types.value());
}

PyRef OperatorCall::results(const std::vector<ir::TensorType>& types) {
  if (op_.returns.size() == 1 && op_.returns[0].kind == ReturnKind::tensor_list) {
    std::vector<PyRef> made;
    for (const ir::TensorType& t : types) made.push_back(fresh(t));
    return listed(made);
  }
  if (types.size() != op_.returns.size()) return PyRef();
  for (size_t i = 0; i < types.size(); ++i)
    if (op_.returns[i].same_as >= 0 && !fits(op_.returns[i].same_as, types[i])) return PyRef();
  std::vector<PyRef> made;
  for (size_t i = 0; i < types.size(); ++i)
    made.push_back(op_.returns[i].same_as >= 0 ? written_argument(op_.returns[i].same_as) : fresh(types[i]));
  return packed(made);
}

PyRef OperatorCall::listed(const std::vector<PyRef>& made) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (const PyRef& item : made) PyList_Append(list.get(), item.get());
  return list;
}

PyRef OperatorCall::packed(const std::vector<PyRef>& made) {
  if (made.size() == 1) return made[0];
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
  for (size_t i = 0; i < made.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef(made[i]).release());
  return tuple;
}

bool OperatorCall::fits(int param, const ir::TensorType& type) const {
  const BoundArg& b = bound_[static_cast<size_t>(param)];
  return b.tensors.size() == 1 && recording_.at(b.tensors[0]).type.sizes == type.sizes &&
         recording_.at(b.tensors[0]).type.dtype == type.dtype;
}

PyRef OperatorCall::written_argument(int param) {
  const BoundArg& b = bound_[static_cast<size_t>(param)];
  for (int t : b.tensors) output(t);
  return PyRef::borrow(b.object);
}

PyRef OperatorCall::by_pytorch() {
  if (is_of_expressions()) return by_sized_rule();
  const FallbackResult ran = run_for_types(op_, fallback_args());
  const PyRef& result = ran.value;
  if (!result) throw Raised{};
  meta_device_ = ran.device;
  if (ran.resized) stop("unsupported_operator", op_.name + " changes the size of its output");
  if (ran.aliased) stop("unsupported_operator", op_.name + " returns memory of its argument");
  if (op_.returns.size() <= 1) return mirrored(result.get(), 0);
  std::vector<PyRef> made;
  for (size_t i = 0; i < op_.returns.size(); ++i)
    made.push_back(mirrored(PySequence_Fast_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i)), i));
  return packed(made);
}

bool OperatorCall::is_strided(PyObject* tensor) {
  return api().has_plain_keys(dispatch_keys(handle_of(tensor)));
}

// The same value with fake tensors for its tensors.
PyRef OperatorCall::mirrored(PyObject* value, size_t which) {
  if (which < op_.returns.size() && op_.returns[which].same_as >= 0)
    return written_argument(op_.returns[which].same_as);
  if (is_tensor(value)) {
    if (!meta_device_ && !is_strided(value))
      stop("unsupported_operator", op_.name + " makes a tensor of another layout");
    ir::TensorType type = type_of(value);
    if (meta_device_) type.device = *meta_device_;
    return fresh(type);
  }
  if (PyList_Check(value)) {
    PyRef list = PyRef::steal(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
      PyList_Append(list.get(), mirrored(PyList_GET_ITEM(value, i), which).get());
    return list;
  }
  if (value == Py_None && which < op_.returns.size() && op_.returns[which].kind == ReturnKind::tensor)
    node_.outputs.push_back(ir::TensorType::contiguous(ir::DType::f32, {0}));  // an undefined tensor
  return PyRef::borrow(value);
}

}  // namespace vitrine::torch_api
