// Element types, devices and tensor types; f32[8,128]{1,8}cuda:0 is the text form (strides only if not
// contiguous, the device only if it is not the CPU). Sizes, strides and offsets may be symbolic (sym.h): used
// as plain numbers, they are specialised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/sym.h"

namespace vitrine::ir {

// One row an element type: enumerator, short name, PyTorch's name, bytes, torch ScalarType number
// (c10/core/ScalarType.h).
#define VITRINE_DTYPES(X)               \
  X(u8, "u8", "uint8", 1, 0)            \
  X(i8, "i8", "int8", 1, 1)             \
  X(i16, "i16", "int16", 2, 2)          \
  X(i32, "i32", "int32", 4, 3)          \
  X(i64, "i64", "int64", 8, 4)          \
  X(f16, "f16", "float16", 2, 5)        \
  X(f32, "f32", "float32", 4, 6)        \
  X(f64, "f64", "float64", 8, 7)        \
  X(c32, "c32", "complex32", 4, 8)      \
  X(c64, "c64", "complex64", 8, 9)      \
  X(c128, "c128", "complex128", 16, 10) \
  X(b1, "b1", "bool", 1, 11)            \
  X(bf16, "bf16", "bfloat16", 2, 15)    \
  X(u64, "u64", "uint64", 8, 29)

// u64 is the random state of PyTorch's attention: no tensor of a program is of it.
enum class DType : uint8_t {
#define X(e, s, t, b, n) e,
  VITRINE_DTYPES(X)
#undef X
      other,  // quantised, float8, ...: only opaque nodes carry it
};

std::string_view dtype_name(DType t);        // "f32"
std::string_view dtype_torch_name(DType t);  // "float32"
int64_t dtype_bytes(DType t);
int dtype_to_scalar_type(DType t);             // torch ScalarType number
DType dtype_from_scalar_type(int n);           // DType::other if unknown
DType dtype_from_name(std::string_view name);  // accepts both spellings
constexpr bool is_float(DType t) {
  return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64;
}
constexpr bool is_complex(DType t) {
  return t == DType::c32 || t == DType::c64 || t == DType::c128;
}
constexpr bool is_integer(DType t) {
  return t <= DType::i64;
}  // without bool

// Where a tensor's memory is.
struct Device {
  enum class Type : uint8_t { cpu, cuda };
  Type type = Type::cpu;
  int8_t index = 0;  // which GPU; the CPU is one
  bool is_cpu() const { return type == Type::cpu; }
  bool is_cuda() const { return type == Type::cuda; }
  std::string text() const;  // "cpu", "cuda:0"
  bool operator==(const Device&) const = default;
};
// "cpu", "cuda" (the first), "cuda:1"; nullopt: a device of another kind.
std::optional<Device> device_from_text(std::string_view text);

using Dims = std::vector<Sym>;
Dims contiguous_strides(
    const Dims& sizes);  // as torch.empty(sizes).stride(): size-0 and size-1 dims count as 1
Sym numel(const Dims& sizes);
bool same(const Dims& a, const Dims& b);          // by expression: asks nothing
std::vector<int64_t> integers(const Dims& dims);  // specialises
Dims dims_of(std::span<const int64_t> integers);

// The same as an array, for the functions of PyTorch's: without an allocation where the dims are few.
class NumberArray {
 public:
  explicit NumberArray(const Dims& dims) {
    if (dims.size() > kFew) more_.resize(dims.size());
    std::copy(dims.begin(), dims.end(), dims.size() > kFew ? more_.data() : few_);
  }
  const int64_t* data() const { return more_.empty() ? few_ : more_.data(); }

 private:
  static constexpr size_t kFew = 8;
  int64_t few_[kFew];
  std::vector<int64_t> more_;
};
std::string dims_text(const Dims& dims, const char* separator = ",");  // "8,128"

struct TensorType;
bool same(const std::vector<TensorType>& a, const std::vector<TensorType>& b);

struct TensorType {
  DType dtype = DType::f32;
  Dims sizes, strides;  // strides in elements
  Sym offset = 0;       // storage offset in elements
  Device device;

  static TensorType contiguous(DType dtype, Dims sizes);
  bool is_contiguous() const;  // PyTorch's meaning: dims of size 1 do not matter
  Sym numel() const { return ir::numel(sizes); }
  Sym bytes() const { return numel() * dtype_bytes(dtype); }
  std::string text() const;                  // "f32[8,128]", "f32[8,128]cuda:0"
  bool same(const TensorType& other) const;  // by expression: asks nothing
  bool operator==(const TensorType&) const = default;
};

}  // namespace vitrine::ir
