// Whether an element type can hold a Python number, as PyTorch's checked conversion of a Scalar has it.
#pragma once

#include <cmath>
#include <limits>

#include "core/ir/graph.h"

namespace vitrine::torch_api {

class Number {
 public:
  // Anything but a number fits everywhere.
  explicit Number(const ir::Arg& arg) {
    if (arg.is<int64_t>()) {
      kind_ = Kind::integer;
      integer_ = arg.as<int64_t>();
      value_ = static_cast<double>(integer_);
    } else if (arg.is<double>()) {
      kind_ = Kind::real;
      value_ = arg.as<double>();
    }
  }
  bool is_float() const { return kind_ == Kind::real; }

  // A negative number does not fit in uint8, where PyTorch wraps it.
  bool fits(ir::DType type) const {
    if (kind_ == Kind::none) return true;
    switch (type) {
      case ir::DType::f16:
        return within(65504.0);
      case ir::DType::bf16:
        return within(0x1.fep127);
      case ir::DType::f32:
        return within(std::numeric_limits<float>::max());
      case ir::DType::u8:
        return between(0, 255);
      case ir::DType::i8:
        return between(-128, 127);
      case ir::DType::i16:
        return between(-32768, 32767);
      case ir::DType::i32:
        return between(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      case ir::DType::i64:
        return kind_ == Kind::integer || std::fabs(value_) < 0x1p63;
      default:
        return true;
    }
  }

 private:
  enum class Kind { none, integer, real };
  bool within(double most) const { return !std::isfinite(value_) || std::fabs(value_) <= most; }
  bool between(int64_t least, int64_t most) const {
    if (kind_ == Kind::integer) return integer_ >= least && integer_ <= most;
    return value_ > static_cast<double>(least) - 1 && value_ < static_cast<double>(most) + 1;
  }

  Kind kind_ = Kind::none;
  int64_t integer_ = 0;
  double value_ = 0;
};

}  // namespace vitrine::torch_api
