// What a product's kernel has packed of a weight, kept for the next call. It is used only while the weight is
// the same tensor memory with the same version, and 64 of its elements, evenly spread, are what they were:
// that sees every write that PyTorch counts and most others, but not all (through `.data` or NumPy to a few
// elements). So whoever asks for it says that weights are constant: the option `freezing`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/ir/graph.h"

namespace vitrine::runtime {

class HeldWeight {
 public:
  // values: of f32; buffer: the weight, of a plan.
  HeldWeight(int64_t values, int32_t buffer);
  int32_t buffer() const { return buffer_; }
  float* values() const { return values_.get(); }
  // Whether values() were packed from this weight as it is now. Else they are from now on: the kernel that is
  // called next packs them. No version: never.
  bool is_of(std::optional<uint32_t> version, const void* data, const ir::TensorType& type);

 private:
  struct Free {
    void operator()(float* p) const;
  };
  struct Seen {
    const void* data = nullptr;
    uint32_t version = 0;
    uint64_t sample = 0;
    bool operator==(const Seen&) const = default;
  };
  std::unique_ptr<float, Free> values_;
  int32_t buffer_;
  std::optional<Seen> seen_;
};

}  // namespace vitrine::runtime
