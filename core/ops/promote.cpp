#include "core/ops/promote.h"

namespace vitrine::ops {

namespace {
// bool 0, integers 1, floating 2
int category(DType t) {
  return t == DType::b1 ? 0 : ir::is_integer(t) ? 1 : 2;
}
void known(DType t) {
  if (t == DType::other || t == DType::u64 || ir::is_complex(t))
    uncovered("complex or foreign element types");
}
void join(std::optional<DType>& into, DType t) {
  into = into ? promote(*into, t) : t;
}
// A higher standing wins unless the lower one's category is above it.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || category(*higher) == 2) return higher;
  if (*higher == DType::b1 || category(*lower) == 2) return promote(*higher, *lower);
  return higher;
}
}  // namespace

DType promote(DType a, DType b) {
  known(a), known(b);
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if ((a == DType::f16 && b == DType::bf16) || (a == DType::bf16 && b == DType::f16)) return DType::f32;
    return ir::dtype_bytes(a) > ir::dtype_bytes(b) ? a : b;
  }
  if (a == DType::u8 || b == DType::u8) {
    DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return ir::dtype_bytes(a) > ir::dtype_bytes(b) ? a : b;
}

bool can_cast(DType from, DType to) {
  known(from), known(to);
  return category(from) <= category(to);
}

DType floating_or(DType t, DType fallback) {
  known(t);
  return ir::is_float(t) ? t : fallback;
}

DType opmath(DType t) {
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
}

void Promotion::tensor(const TensorType& type, bool wrapped) {
  known(type.dtype);
  if (!type.sizes.empty())
    join(dims_, type.dtype);
  else if (wrapped)
    number(type.dtype);
  else
    join(zero_, type.dtype);
}

void Promotion::number(DType type) {
  join(wrapped_, ir::is_float(type) ? default_dtype_ : type);
}

void Promotion::argument(const Call& call, size_t i) {
  if (call.is_tensor(i))
    tensor(call.tensor(i), call.wrapped(i));
  else
    number(call.number_dtype(i));
}

DType Promotion::result() const {
  auto out = combine(dims_, combine(zero_, wrapped_));
  if (!out) uncovered("no operand has a type");
  return *out;
}

}  // namespace vitrine::ops
