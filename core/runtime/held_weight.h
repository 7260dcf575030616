// What is kept of weights for the next call: what a product's kernel has packed of one, and what steps that
// read weights alone have made. It is used only while each weight is the same tensor memory with the same
// version, and 64 of its elements, evenly spread, are what they were: that sees every write that PyTorch
// counts and most others, but not all (through `.data` or NumPy to a few elements). So whoever asks for it
// says that weights are constant: the option `freezing`. The GIL must be held in every function.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/ir/graph.h"
#include "core/runtime/call_state.h"

namespace vitrine::runtime {

// A weight at a call.
struct SeenWeight {
  const void* data = nullptr;
  uint32_t version = 0;
  uint64_t sample = 0;
  bool operator==(const SeenWeight&) const = default;
  // No version: nothing.
  static std::optional<SeenWeight> of(std::optional<uint32_t> version, const void* data,
                                      const ir::TensorType& type);
};

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
  std::unique_ptr<float, Free> values_;
  int32_t buffer_;
  std::optional<SeenWeight> seen_;
};

// What a step `of_weights` made.
class HeldResults {
 public:
  // weights: inputs that the step reads; before: what it reads of other such steps, which run first and live
  // as long; outs: what it writes. All are buffers of `table`.
  HeldResults(const BufferTable& table, std::vector<int32_t> weights, std::vector<const HeldResults*> before,
              std::vector<int32_t> outs);
  ~HeldResults();
  HeldResults(const HeldResults&) = delete;
  HeldResults& operator=(const HeldResults&) = delete;

  // Gives the call what is kept, if it is still what the step would make. false: the step is to run, and
  // keep() follows.
  bool give(CallState& state);
  bool keep(CallState& state);  // false: a Python error is set

 private:
  std::optional<std::vector<SeenWeight>> seen_now(CallState& state) const;
  void forget();

  const BufferTable& table_;
  std::vector<int32_t> weights_, outs_;
  std::vector<const HeldResults*> before_;
  std::optional<std::vector<SeenWeight>> seen_;  // by which `kept_` were made
  std::vector<torch_api::Handle> kept_;          // owned
  uint32_t made_ = 0;                            // how often the step ran
};

}  // namespace vitrine::runtime
