// What registers of a kernel hold.
#pragma once

#include "core/ir/types.h"

namespace vitrine::fusion {

// Element types that kernels can load and store.
constexpr bool has_lanes(ir::DType t) {
  return ir::is_float(t) || ir::is_integer(t) || t == ir::DType::b1;
}

// The type in which registers hold a value: f32 for f16 and bf16, i32 for narrower integers, else itself.
constexpr ir::DType lane_dtype(ir::DType t) {
  if (t == ir::DType::f16 || t == ir::DType::bf16) return ir::DType::f32;
  if (t == ir::DType::u8 || t == ir::DType::i8 || t == ir::DType::i16) return ir::DType::i32;
  return t;
}

}  // namespace vitrine::fusion
