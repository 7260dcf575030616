#include "core/ops/call.h"

namespace vitrine::ops {

const TensorType& Call::tensor(size_t i) const {
  if (!arg(i).tensor) uncovered("an argument is not a tensor");
  return *arg(i).tensor;
}

std::vector<const TensorType*> Call::tensors(size_t i) const {
  std::vector<const TensorType*> out;
  for (const ShapeArg& a : arg(i).list) {
    if (!a.tensor && a.constant && !a.constant->is_none()) uncovered("a list holds more than tensors");
    out.push_back(a.tensor);
  }
  return out;
}

Sym Call::integer(size_t i) const {
  const ir::Arg& c = constant(i);
  if (c.is<Sym>()) return c.as<Sym>();
  if (c.is<bool>()) return c.as<bool>();
  uncovered("an argument is not an integer");
}

bool Call::flag(size_t i) const {
  const ir::Arg& c = constant(i);
  if (c.is<bool>()) return c.as<bool>();
  if (c.is<int64_t>()) return c.as<int64_t>() != 0;
  uncovered("an argument is not a bool");
}

double Call::number(size_t i) const {
  const ir::Arg& c = constant(i);
  if (c.is<double>()) return c.as<double>();
  return static_cast<double>(int64_t{integer(i)});
}

DType Call::number_dtype(size_t i) const {
  const ir::Arg& c = constant(i);
  if (c.is<double>()) return default_dtype;
  if (c.is<bool>()) return DType::b1;
  if (c.is<int64_t>()) return DType::i64;
  uncovered("an argument is not a number");
}

Dims Call::ints(size_t i) const {
  const ir::Arg& c = constant(i);
  if (c.is<Sym>()) return {c.as<Sym>()};
  if (!c.is<std::vector<ir::Arg>>()) uncovered("an argument is not a list of integers");
  Dims out;
  for (const ir::Arg& a : c.as<std::vector<ir::Arg>>()) {
    if (!a.is<Sym>()) uncovered("a list holds more than integers");
    out.push_back(a.as<Sym>());
  }
  return out;
}

std::vector<bool> Call::flags(size_t i) const {
  const ir::Arg& c = constant(i);
  if (!c.is<std::vector<ir::Arg>>()) uncovered("an argument is not a list of bools");
  std::vector<bool> out;
  for (const ir::Arg& a : c.as<std::vector<ir::Arg>>()) out.push_back(a.is<bool>() && a.as<bool>());
  return out;
}

std::string Call::text(size_t i) const {
  const ir::Arg& c = constant(i);
  if (!c.is<std::string>()) uncovered("an argument is not text");
  return c.as<std::string>();
}

std::optional<DType> Call::dtype(size_t i) const {
  if (none(i)) return std::nullopt;
  const ir::Arg& c = constant(i);
  if (!c.is<DType>() || c.as<DType>() == DType::other) uncovered("an argument is not a known dtype");
  return c.as<DType>();
}

std::string Call::word(size_t i) const {
  if (none(i)) return "";
  const ir::Arg& c = constant(i);
  if (!c.is<ir::Word>()) uncovered("an argument is not a memory format");
  return c.as<ir::Word>().text;
}

size_t wrap_dim(int64_t dim, size_t ndim) {
  int64_t n = std::max<int64_t>(static_cast<int64_t>(ndim), 1);
  if (dim < -n || dim >= n) uncovered("dimension out of range");
  return static_cast<size_t>(dim < 0 ? dim + n : dim);
}

std::vector<bool> dim_mask(const Dims& dims, size_t ndim) {
  std::vector<bool> mask(std::max<size_t>(ndim, 1), dims.empty());
  for (int64_t d : dims) {
    size_t i = wrap_dim(d, ndim);
    need(!mask[i], "a dimension appears twice");
    mask[i] = true;
  }
  mask.resize(ndim);
  return mask;
}

}  // namespace vitrine::ops
