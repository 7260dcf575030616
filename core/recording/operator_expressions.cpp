// Operators on tensors whose sizes are expressions: no kernel of PyTorch's says what they give, our rules do.
#include <algorithm>

#include "core/ir/each_integer.h"
#include "core/ops/device.h"
#include "core/ops/sized/types.h"
#include "core/ops/unlisted.h"
#include "core/recording/operator_call.h"
#include "core/recording/sized_attention.h"
#include "core/torch_api/api.h"
#include "core/torch_api/sym_node.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::torch_api {

namespace {

// Takes the layout that a result has at its first sizes, where one follows from it: dims of one element lie
// anywhere.
void lay_out_as(const ir::TensorType& found, ir::TensorType& rule) {
  if (ir::same_at_hints(found.strides, rule.strides)) return;
  ir::TensorType other = rule;
  other.strides = found.strides;
  if (auto strides = dense_strides(other)) rule.strides = *strides;
}

}  // namespace

bool OperatorCall::is_of_expressions() const {
  return recording_.symbols && std::any_of(bound_.begin(), bound_.end(), [&](const BoundArg& b) {
           const auto symbolic = [&](int t) { return ir::has_expression(recording_.at(t).type); };
           return ir::has_expression(b.arg) || std::any_of(b.tensors.begin(), b.tensors.end(), symbolic);
         });
}

std::vector<ir::TensorType> OperatorCall::types_by_rule(const ops::OpRow* row) const {
  if (!row || !row->shape)
    stop("unsupported_operator", op_.name + " of sizes that are expressions has no rule");
  auto types = ops::types_of(*row, shape_call());
  if (!types)
    stop("unsupported_operator", op_.name + " of sizes that are expressions: " + types.error().what);
  return types.take();
}

// A view of complex numbers as pairs, or of pairs as those.
bool OperatorCall::is_other_type() const {
  return op_.name == "aten.view_as_real.default" || op_.name == "aten.view_as_complex.default";
}

PyRef OperatorCall::view_by_rule() {
  if (bound_[0].tensors.size() != 1) stop("unsupported_operator", op_.name + " is no view of one tensor");
  std::vector<PyRef> made;
  node_.id = recording_.next_id();
  PyObject* base = recording_.at(bound_[0].tensors[0]).object.get();
  if (is_other_type()) {
    made.push_back(symbolic_view_by(op_.object, base));
    output(recording_.add(made.back(), symbolic_type(made.back().get())));
    add_node();
    return packed(made);
  }
  const ops::OpRow* row = op_.row ? op_.row : ops::unlisted::view_like(op_.name);
  for (const ir::TensorType& type : types_by_rule(row)) {
    made.push_back(symbolic_view(base, type));
    output(recording_.add(made.back(), type));
  }
  add_node();
  return op_.returns[0].kind == ReturnKind::tensor_list ? listed(made) : packed(made);
}

// The operator's arguments at the first sizes.
std::vector<FallbackArg> OperatorCall::args_at_hints(std::deque<ir::TensorType>& types,
                                                     std::deque<PyRef>& numbers) const {
  std::vector<FallbackArg> out = fallback_args();
  for (size_t i = 0; i < out.size(); ++i) {
    for (const ir::TensorType*& type : out[i].tensors) {
      types.push_back(ir::at_hints(*type));
      type = &types.back();
    }
    const ir::Arg& arg = bound_[i].arg;
    if (!is_symbolic_number(out[i].object)) continue;
    numbers.push_back(PyRef::steal(arg.is<double>() ? PyFloat_FromDouble(arg.as<double>())
                                                    : PyLong_FromLongLong(arg.as<ir::Sym>().hint())));
    out[i].object = numbers.back().get();
  }
  return out;
}

// Attention on a GPU: what it gives beside its rule, its random state and what is undefined, PyTorch says at
// the first sizes.
PyRef OperatorCall::attention_of_expressions(const ops::SizedAttention& row) {
  const auto refuse = [&](const std::string& why) {
    stop("unsupported_operator", op_.name + " of sizes that are expressions: " + why);
  };
  const ops::ShapeCall call = shape_call();
  auto types = row.types(call);
  if (!types) refuse(types.error().what);
  std::deque<ir::TensorType> hints;
  std::deque<PyRef> numbers;
  const FallbackResult ran = run_for_types(op_, args_at_hints(hints, numbers));
  if (!ran.value) throw Raised{};
  meta_device_ = ran.device;
  std::vector<PyRef> made;
  const std::vector<ir::Sym> lengths = row.lengths(call);
  size_t type = 0, length = 0;
  for (size_t i = 0; i < op_.returns.size(); ++i) {
    PyObject* first = PySequence_Fast_GET_ITEM(ran.value.get(), static_cast<Py_ssize_t>(i));
    if (PyLong_Check(first)) {
      if (length == lengths.size() || lengths[length].hint() != PyLong_AsLongLong(first))
        refuse("another length");
      made.push_back(PyRef::steal(sym_int(lengths[length++])));
    } else if (is_tensor(first) && type < types.value().size()) {
      ir::TensorType& as = types.value()[type++];
      as.device = recording_.at(bound_[0].tensors.at(0)).type.device;
      const ir::TensorType found = type_of(first);
      if (found.dtype != as.dtype || !ir::same_at_hints(found.sizes, as.sizes)) refuse("another result");
      lay_out_as(found, as);
      made.push_back(fresh(as));
    } else {
      made.push_back(mirrored(first, i));
    }
  }
  return packed(made);
}

// Whether it gives nothing but the one tensor that it is given and writes to: x.bernoulli_(p). Of several
// tensors it would have to be known which sizes fit.
bool OperatorCall::gives_what_it_writes() const {
  const size_t end = op_.name.find_last_of('.');
  if (!op_.aten || op_.returns.size() != 1 || op_.returns[0].same_as != 0 || end == 0) return false;
  size_t tensors = 0;
  for (const BoundArg& b : bound_) tensors += b.tensors.size();
  return op_.name[end - 1] == '_' && tensors == 1 && bound_[0].tensors.size() == 1;
}

// What the operator's row does not cover.
PyRef OperatorCall::by_sized_rule() {
  if (const ops::SizedAttention* attention = ops::sized_attention(op_.name))
    return attention_of_expressions(*attention);
  if (gives_what_it_writes()) return written_argument(0);
  const ops::ShapeRule rule = ops::sized_types(op_.name);
  std::string why = " of sizes that are expressions is not known";
  std::optional<ir::Device> device;
  for (const BoundArg& b : bound_)
    for (int t : b.tensors) {
      const ir::Device here = recording_.at(t).type.device;
      if (device && *device != here) stop("unsupported_operator", op_.name + why);
      device = here;
    }
  if (!rule || op_.writes) {
    const bool has_rule = op_.row && op_.row->shape;
    const auto types = has_rule ? ops::types_of(*op_.row, shape_call()) : Error{};
    if (has_rule && !types) why += ": " + types.error().what;
    stop("unsupported_operator", op_.name + why);
  }
  auto types = rule(shape_call());
  if (!types) stop("unsupported_operator", op_.name + why + ": " + types.error().what);
  for (ir::TensorType& type : types.value()) type.device = device.value_or(ir::Device{});
  PyRef made = results(types.value());
  if (!made) stop("unsupported_operator", op_.name + why);
  return made;
}

}  // namespace vitrine::torch_api
