// PyTorch's kernels through its C interface, without Python: matrix products and convolutions into given
// tensors, tensors over memory of ours, and the thread's modes around them. The GIL must be held where an
// error may be set.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/torch_api/bridge.h"

struct _object;

namespace vitrine::torch_api {

// A tensor over memory of its device that outlives it; nothing is copied. PyRef handle; nullptr with a Python
// error set.
Handle from_blob(void* data, const ir::TensorType& type);
// A dense copy with the same strides. PyRef handle; nullptr with a Python error set.
Handle clone(Handle t);
// dst.copy_(src). false: a Python error is set.
bool copy_into(Handle dst, Handle src);
bool zero(Handle t);  // false: a Python error is set
bool grad_enabled();
void set_grad_enabled(bool on);
// Autocast of this thread. A graph was recorded below autocast, so replaying it must not cast again.
bool autocast_enabled(ir::Device::Type device);
void set_autocast_enabled(ir::Device::Type device, bool on);

// Whether cuDNN may be called, and may choose any algorithm: torch.backends.cudnn.enabled and .deterministic,
// torch.use_deterministic_algorithms.
bool cudnn_is_free();
bool deterministic_algorithms();  // torch.use_deterministic_algorithms
// torch.backends.cudnn.allow_tf32: convolutions of f32 may round to TF32. The GIL must be held.
bool cudnn_allows_tf32();
// Whether oneDNN's gelu of this type, which PyTorch takes for what is contiguous on a CPU, gives NaN for
// infinity. That depends on the machine: found by trying it, once a type. The GIL must be held.
bool gelu_loses_infinity(ir::DType dtype);

// State of the default CPU generator, to take a failed call's draws back. nullptr: a Python error is set.
_object* generator_state();
bool set_generator_state(_object* state);

// An int or a float that a call has for an argument.
std::optional<double> number_of(const ir::Arg& arg);

// One call of a kernel that PyTorch's C interface exports, with its constants converted beforehand.
class LibraryCall {
 public:
  using SlotOf = std::function<int32_t(ir::Ref)>;
  // nullptr: this operator, with these arguments, has no such form here; the Python overload does it.
  // algorithm: 0 is PyTorch's own call, n cuBLASLt's n-th, where it has the product; kForAnySize: one of its
  // that serves sizes that were not met.
  static constexpr int kForAnySize = -1;
  static std::unique_ptr<LibraryCall> make(const ir::Node& node, const SlotOf& slot_of, int algorithm = 0);
  virtual ~LibraryCall() = default;

  // true: computes into the one out that call() is given. false: call() makes the outs.
  bool into_out() const { return into_out_; }
  // Whether it computes the operator of other sizes, too.
  virtual bool for_any_size() const { return false; }
  const std::vector<int32_t>& reads() const { return reads_; }
  size_t outs() const { return outs_; }
  // values: handles by slot. outs: see into_out(); else receive owned handles, nullptr for an undefined
  // tensor. false: a Python error is set.
  virtual bool call(const Handle* values, Handle* outs) const = 0;

 protected:
  bool into_out_ = true;
  size_t outs_ = 1;
  std::vector<int32_t> reads_;
};

}  // namespace vitrine::torch_api
