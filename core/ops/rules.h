// Shape rules that several families share.
#pragma once

#include "core/ops/layout.h"
#include "core/ops/promote.h"

namespace vitrine::ops {

enum class PromotedType : uint8_t { same, floating, boolean };

// The operands at these positions, promoted together; the output has their common type, or a floating one
// (int -> default dtype), or bool.
Types pointwise(const Call& call, std::initializer_list<size_t> operands,
                PromotedType result = PromotedType::same);

// Element-wise over argument 0 alone.
Types unary(const Call& call);             // type kept
Types unary_floating(const Call& call);    // integers become the default floating type
Types unary_float_only(const Call& call);  // integers are refused, as eager does
Types unary_bool(const Call& call);

// Of a list of numbers, one for each spatial dimension: one alone stands for all.
Sym spatial(const Dims& list, size_t i);
// floor or ceil((size + 2 pad - dilation (kernel - 1) - 1) / stride) + 1; no window starts in the padding.
Sym pooled_size(const Sym& size, const Sym& kernel, const Sym& stride, const Sym& pad, const Sym& dilation,
                bool ceil);

}  // namespace vitrine::ops
