#include "core/autodiff/vjp.h"

#include "core/ops/layout.h"
#include "core/ops/node.h"

namespace vitrine::autodiff {

void refuse(std::string why) {
  throw Refused{std::move(why)};
}

Vjp::Vjp(ir::Builder& builder, const ir::Node& forward, const ops::OpRow& row, std::vector<Arg> args,
         std::vector<std::optional<Ref>> tangents, std::vector<std::vector<bool>> wanted)
    : node(forward),
      builder_(builder),
      args_(std::move(args)),
      tangents_(std::move(tangents)),
      wanted_(std::move(wanted)) {
  const auto& params = ops::params(row);
  for (size_t i = 0; i < params.size(); ++i) {
    names_[std::string(1, static_cast<char>('a' + i))] = args_.at(i);
    names_[params[i].name] = args_.at(i);
  }
  for (size_t k = 0; k < node.outputs.size(); ++k)
    names_[k ? "y" + std::to_string(k) : "y"] = Arg(out(static_cast<int32_t>(k)));
  if (!tangents_.empty() && tangents_[0]) names_["g"] = Arg(*tangents_[0]);
}

Ref Vjp::in(size_t i) const {
  if (!arg(i).is<Ref>()) refuse("argument " + std::to_string(i) + " is not a tensor");
  return arg(i).as<Ref>();
}

Ref Vjp::in(size_t i, size_t k) const {
  return arg(i).as<std::vector<Arg>>().at(k).as<Ref>();
}

Ref Vjp::g(size_t k) const {
  if (!has(k)) refuse("its result " + std::to_string(k) + " has no gradient");
  return *tangents_[k];
}

Dims Vjp::dims(size_t i) const {
  if (arg(i).is<int64_t>()) return {arg(i).as<ir::Sym>()};
  Dims out;
  if (!none(i))
    for (const Arg& a : arg(i).as<std::vector<Arg>>()) out.push_back(a.as<ir::Sym>());
  return out;
}

double Vjp::number(size_t i) const {
  if (arg(i).is<double>()) return arg(i).as<double>();
  return arg(i).is<bool>() ? arg(i).as<bool>() : static_cast<double>(arg(i).as<int64_t>());
}

void Vjp::give(size_t i, Ref gradient, size_t k) {
  if (!wants(i, k)) return;
  const Ref of = arg(i).is<Ref>() ? in(i) : in(i, k);
  const TensorType wanted = type(of);
  if (type(gradient).sizes != wanted.sizes) gradient = sum_to(gradient, wanted.sizes);
  if (type(gradient).dtype != wanted.dtype) gradient = cast(gradient, wanted.dtype);
  given_.insert_or_assign({i, k}, Given{of, gradient});
}

std::vector<Vjp::Given> Vjp::given() const {
  std::vector<Given> out;
  for (const auto& [place, given] : given_) out.push_back(given);
  return out;
}

const Arg* Vjp::name(const std::string& name) const {
  auto it = names_.find(name);
  return it == names_.end() ? nullptr : &it->second;
}

std::vector<Ref> Vjp::ops(const std::string& name, std::vector<Arg> args, Kwargs kwargs) {
  const ops::OpRow* row = ops::find(name);
  if (!row) refuse(name + " has no row");
  ir::Node made;
  made.op = name;
  made.args = std::move(args);
  made.kwargs = std::move(kwargs);
  auto bound = ops::bind(*row, made);
  if (!bound) refuse(bound.error().what);
  auto types = ops::infer(*row, bound.value(), [&](Ref r) -> const TensorType& { return type(r); });
  if (!types) refuse(name + ": " + types.error().what);
  made.outputs = types.take();
  made.origin = node.origin;
  made.origin.from = {node.id};
  made.origin.rule = "gradient";
  const size_t n = made.outputs.size();
  const ir::NodeId id = builder_.add(std::move(made)).node;
  made_.push_back(id);
  std::vector<Ref> out;
  for (size_t k = 0; k < n; ++k) out.push_back({id, static_cast<int32_t>(k)});
  return out;
}

Ref Vjp::op(const std::string& name, std::vector<Arg> args, Kwargs kwargs) {
  return ops(name, std::move(args), std::move(kwargs)).at(0);
}

// The sum over what broadcasting has repeated: leading dimensions, and those that were of size 1.
Ref Vjp::sum_to(Ref value, const Dims& sizes) {
  if (type(value).sizes == sizes) return value;
  if (sizes.empty()) return op("aten.sum.default", {value});
  const Dims from = type(value).sizes;
  if (from.size() < sizes.size()) refuse("a gradient has too few dimensions");
  const size_t leading = from.size() - sizes.size();
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < leading || (sizes[i - leading] == 1 && from[i] != 1))
      dims.push_back(static_cast<int64_t>(i));
    else if (sizes[i - leading] != from[i])
      refuse("a gradient has other sizes than its argument");
  }
  if (!dims.empty()) value = op("aten.sum.dim_IntList", {value, Arg::ints(dims), Arg(true)});
  return leading ? op("aten.view.default", {value, Arg::ints(sizes)}) : value;
}

Ref Vjp::reshape(Ref value, const Dims& sizes) {
  if (type(value).sizes == sizes) return value;
  if (!ops::view_strides(type(value), sizes)) value = contiguous(value);
  return op("aten.view.default", {value, Arg::ints(sizes)});
}

Ref Vjp::contiguous(Ref value) {
  if (type(value).is_contiguous()) return value;
  return op("aten.clone.default", {value}, {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}});
}

Ref Vjp::cast(Ref value, DType dtype) {
  if (type(value).dtype == dtype) return value;
  return op("aten._to_copy.default", {value}, {{"dtype", Arg(dtype)}});
}

Ref Vjp::zeros(Ref like, const Dims& sizes) {
  return op("aten.new_zeros.default", {like, Arg::ints(sizes)});
}

Ref Vjp::unsqueezed(Ref value, const Dims& dims, size_t ndim, bool keepdim) {
  if (keepdim || ndim == 0) return value;
  const std::vector<bool> mask = ops::dim_mask(dims, ndim);
  for (size_t i = 0; i < ndim; ++i)
    if (mask[i]) value = op("aten.unsqueeze.default", {value, Arg(static_cast<int64_t>(i))});
  return value;
}

}  // namespace vitrine::autodiff
