// What has no place in a graph: reads of data, shapes that depend on data, what eager refuses or warns of.
#include "core/ir/each_integer.h"
#include "core/recording/operator_call.h"

#include <algorithm>

#include "core/torch_api/api.h"
#include "core/torch_api/convert.h"

namespace vitrine::torch_api {

// aten.item and its like: only a constant's value is known.
PyRef OperatorCall::known_number() {
  for (BoundArg& b : bound_) {
    for (int index : b.tensors) {
      PyRef value = recording_.known_value(index);
      if (!value || bound_.size() != 1)
        stop("scalar_read", op_.name + " reads a tensor's data",
             "Keep the value as a 0-d tensor; .item(), int(), float() and bool() wait for the data.");
      PyRef out = PyRef::steal(PyObject_CallOneArg(op_.object, value.get()));
      if (!out) throw Raised{};
      return out;
    }
  }
  stop("scalar_read", op_.name + " reads data");
}

void OperatorCall::refuse_data_dependent() const {
  stop("data_dependent_shape", "the shape of " + op_.name + "'s result depends on data",
       "Use a mask of fixed size instead of nonzero, unique or boolean indexing.");
}

// What has no place in a graph.
void OperatorCall::refuse() {
  if (op_.dynamic_shape && !fixed_shape() && !takes_stand_in()) refuse_data_dependent();
  if (!op_.aten && op_.returns_other())
    stop("unsupported_operator", op_.name + " returns a value that is no tensor",
         "Return it as a tensor: another value would be the one of capture in every call.");
  if (op_.name == "aten._neg_view.default")
    stop("unsupported_operator", op_.name + " makes a tensor that is negated when it is read");
  if (op_.name == "aten.as_strided.default" && !bound_[3].arg.is_none() && reads_input(0))
    stop("unsupported_operator", op_.name + " begins at a place of an input's whole memory",
         "Leave out storage_offset: the view then begins where the tensor does.");
  if (lacks_freedom())
    stop("warning", op_.name + " warns of degrees of freedom <= 0",
         "Give a correction that is smaller than the number of elements reduced.");
  if (op_.writes && !api().symbols.inference_enabled() && !recording_.inference_mode)
    refuse_inference_writes();
}

// Where an input begins in its memory is no part of what a program is compiled for.
bool OperatorCall::reads_input(size_t param) const {
  const std::vector<int>& tensors = bound_[param].tensors;
  return std::ranges::any_of(tensors, [&](int t) { return recording_.storage_of_tensor(t).input; });
}

// A variance of fewer numbers than its correction takes away: PyTorch's kernels warn, whatever they are
// given.
bool OperatorCall::lacks_freedom() const {
  if (!ops::is(op_.row, ops::kNeedsFreedom)) return false;
  const ir::Dims& sizes = recording_.at(bound_[0].tensors.at(0)).type.sizes;
  const ir::Arg &dims = bound_[1].arg, &correction = bound_[2].arg;
  ir::Sym reduced = 1;
  const auto list =
      dims.is<std::vector<ir::Arg>>() ? dims.as<std::vector<ir::Arg>>() : std::vector<ir::Arg>();
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto is_d = [&](const ir::Arg& dim) {
      return dim.as<int64_t>() == static_cast<int64_t>(d) ||
             dim.as<int64_t>() + static_cast<int64_t>(sizes.size()) == static_cast<int64_t>(d);
    };
    if (list.empty() || std::any_of(list.begin(), list.end(), is_d)) reduced *= sizes[d];
  }
  const bool nothing = std::any_of(sizes.begin(), sizes.end(), [](const ir::Sym& s) { return s == 0; });
  const double taken = correction.is<int64_t>()  ? static_cast<double>(correction.as<int64_t>())
                       : correction.is<double>() ? correction.as<double>()
                                                 : 1;
  return nothing ? 0 <= taken : taken >= 0 && reduced <= static_cast<int64_t>(std::min(taken, 9e15));
}

// Eager raises, but only when it has written.
void OperatorCall::refuse_inference_writes() const {
  for (size_t i = 0; i < bound_.size(); ++i)
    for (int t : bound_[i].tensors)
      if (op_.params[i].written && recording_.storage_of_tensor(t).inference)
        stop("exception", op_.name + " writes to an inference tensor outside inference mode");
}

// A number that the element type cannot hold: eager raises, or wraps it before it computes. Sums and
// products wrap alike whenever that is done.
void OperatorCall::refuse_numbers(const ir::TensorType& out) const {
  ir::DType target = out.dtype;
  for (size_t i = 0; target == ir::DType::b1 && i < bound_.size(); ++i)
    if (!bound_[i].tensors.empty()) target = recording_.at(bound_[i].tensors[0]).type.dtype;
  // Of a tensor that a size gives nothing is asked: any size fits these.
  const bool holds_sizes = target == ir::DType::i64 || target == ir::DType::f32 || target == ir::DType::f64;
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (recording_.symbols && holds_sizes && bound_[i].tensors.size() == 1) continue;
    const Number number = number_of(bound_[i]);
    const bool compared = out.dtype == ir::DType::b1 && (ir::is_float(target) || number.is_float());
    if (compared || (!op_.params[i].number && !converts_operands(target)) || number.fits(target)) continue;
    stop("unsupported_value",
         op_.name + " of a number that " + std::string(ir::dtype_torch_name(target)) + " cannot hold");
  }
}

Number OperatorCall::number_of(const BoundArg& b) const {
  if (ir::has_expression(b.arg)) return Number(ir::Arg());  // a size: 64 bits hold it
  if (b.tensors.size() != 1) return Number(b.arg);
  const PyRef value =
      recording_.at(b.tensors[0]).type.sizes.empty() ? recording_.known_value(b.tensors[0]) : PyRef();
  return value ? Number(constant_arg(value.get()).value_or(ir::Arg())) : Number(ir::Arg());
}

// Whether an operand's conversion to the common type can be told from one of the result.
bool OperatorCall::converts_operands(ir::DType target) const {
  if (op_.name.starts_with("aten.where")) return true;
  return ir::is_integer(target) && !ops::is(op_.row, ops::kWrapsAlike);
}

bool OperatorCall::fixed_shape() const {
  if (op_.name == "aten.repeat_interleave.Tensor") return !bound_.back().arg.is_none();
  if (op_.name != "aten.index.Tensor") return false;
  return std::none_of(bound_[1].tensors.begin(), bound_[1].tensors.end(), [&](int t) {
    const ir::DType dtype = recording_.at(t).type.dtype;
    return dtype == ir::DType::b1 || dtype == ir::DType::u8;
  });
}

// Rules say nothing of tensors on several devices. Element-wise operators are compiled with such operands,
// of which PyTorch takes some; what is written into memory may come from anywhere.
bool OperatorCall::refuses_devices() const {
  std::optional<ir::Device> first;
  bool mixed = false;
  for (const BoundArg& b : bound_)
    for (int t : b.tensors) {
      const ir::Device device = recording_.at(t).type.device;
      mixed = mixed || (first && *first != device);
      first = device;
    }
  if (!mixed || (op_.row->family == ops::Family::memory && op_.writes)) return false;
  if (op_.row->family != ops::Family::pointwise) return true;
  if (!take_together(op_, fallback_args())) throw Raised{};
  return false;
}

// An expanded tensor cannot be written: PyTorch says so best.
bool OperatorCall::writes_overlap() const {
  for (size_t i = 0; op_.writes && i < bound_.size(); ++i) {
    if (!op_.params[i].written) continue;
    for (int t : bound_[i].tensors) {
      const ir::TensorType& type = recording_.at(t).type;
      for (size_t d = 0; d < type.sizes.size(); ++d)
        if (type.strides[d] == 0 && type.sizes[d] > 1) return true;
    }
  }
  return false;
}

}  // namespace vitrine::torch_api
