// Type promotion as PyTorch's torch.result_type does it: tensors with dimensions decide within a category
// (bool < integer < floating), 0-d tensors next, Python numbers last.
#pragma once

#include "core/ops/call.h"

namespace vitrine::ops {

DType promote(DType a, DType b);             // of two tensors of equal standing
bool can_cast(DType from, DType to);         // whether an in-place result may be stored: no fall in category
DType floating_or(DType t, DType fallback);  // t if floating, else the fallback (integers in sqrt, div, ...)
DType opmath(DType t);                       // f32 for f16 and bf16

class Promotion {
 public:
  explicit Promotion(DType default_dtype) : default_dtype_(default_dtype) {}
  void tensor(const TensorType& type, bool wrapped = false);
  void number(DType type);  // of a Python number: b1, i64 or any floating type
  // Adds argument i of a call, tensor or number.
  void argument(const Call& call, size_t i);
  DType result() const;

 private:
  DType default_dtype_;
  std::optional<DType> dims_, zero_, wrapped_;
};

}  // namespace vitrine::ops
