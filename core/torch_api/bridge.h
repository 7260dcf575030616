// PyTorch without its headers: tensors by borrowed handle, its exported C interface looked up at run time,
// offsets found and self-tested at the first use. The only folder that touches PyTorch's internals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

struct _object;  // PyObject

namespace vitrine::torch_api {

using Handle = void*;  // at::Tensor*, as PyTorch's AtenTensorHandle

// Facts found by init(), shown by `vitrine doctor`.
struct Facts {
  std::string torch_version;
  bool ready = false;  // false: nothing may be compiled
  std::vector<std::pair<std::string, std::string>>
      self_tests;  // name, "ok" or what failed and what it switches off
};

// A test of what others call of PyTorch: its name, and what it says ("ok", or what is missing).
struct SelfTest {
  const char* name;
  std::string (*run)();
};

// Looks up names and functions, and keeps PyTorch's own as they are now. Computes nothing. Needs the GIL and
// `import torch`. Errors: PyTorch lacks one.
Status find_pytorch();
// find_pytorch(), then finds the layout of tensors by trying on small ones, and tests it; once. Needs the
// GIL, and lets go of it: the trials run on a thread of their own, which knows nothing of the caller's modes.
// of_calls: what is tested besides. Errors: PyTorch too old or changed.
Status init(std::span<const SelfTest> of_calls);
const Facts& facts();

bool is_tensor(_object* o);         // torch.Tensor or a subclass
bool is_plain_tensor(_object* o);   // exactly torch.Tensor or torch.nn.Parameter
Handle handle_of(_object* tensor);  // borrowed, 2 ns; tensor must satisfy is_tensor
_object* wrap(Handle owned);        // steals the handle; new reference, or nullptr with a Python error set

// What a guard reads. Pointers are valid while the tensor lives and is not resized.
struct TensorView {
  int64_t ndim = 0;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  int64_t storage_offset = 0;
  int32_t scalar_type = 0, device_type = 0, device_index = 0;
};
inline constexpr int32_t kCudaDevice = 1;  // c10::DeviceType::CUDA
TensorView view(Handle t);
ir::Device device_of(const TensorView& v);  // of a CPU or CUDA tensor; any other device reads as the CPU
void* data(Handle t);                       // address of element 0, storage offset included
uint64_t dispatch_keys(Handle t);           // raw key set
bool requires_grad(_object* tensor);
bool is_leaf(_object* tensor);  // autograd did not make it
ir::TensorType type_of(_object* tensor);
ir::TensorType type_of(Handle t);
const void* storage_id(Handle t);  // equal for tensors that share storage
// Autograd records nothing in the scope.
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;

 private:
  const bool before_;
};
// Grad mode is on in the scope, for an operator that asks for it; autograd records nothing all the same.
// Throws std::runtime_error where PyTorch has no such guard.
class GradModeAlone {
 public:
  GradModeAlone();
  ~GradModeAlone();
  GradModeAlone(const GradModeAlone&) = delete;

 private:
  _object* const below_;
  const bool before_;
};
// Whether nothing else knows the tensor's storage: no other tensor, no Python object. false: not known.
bool owns_storage_alone(Handle t);
// Tells autograd that the tensor's memory was written without PyTorch's knowledge. false: not possible here.
bool bump_version(Handle t);
// Nothing: an inference tensor, or where bump_version() is false.
std::optional<uint32_t> version(Handle t);
// Gives a tensor that nobody has seen yet the version that it would have; some of PyTorch's operators count
// what they do inside. An inference tensor has none. Does nothing where bump_version() is false.
void set_version(Handle t, int32_t version);

// New tensor on the type's device, uninitialised, outside autograd. PyRef handle.
Handle empty_strided(const ir::TensorType& type);
// A view of `base`'s storage (as_strided without autograd: no view relation, its own version counter). dtype
// is base's. PyRef handle. The offset is counted from the storage's start.
Handle as_strided(Handle base, const ir::TensorType& type);
// A 0-d tensor of f64 with this value. New reference; nullptr: a Python error is set.
_object* number_tensor(double value);
void release(Handle owned);
// The stream that PyTorch launches on now, a cudaStream_t. nullptr: the default stream, or no CUDA.
void* current_stream(int gpu);

// Process-wide state that changes what torch functions do; one number each so that a guard compares words.
struct GlobalState {
  uint64_t flags = 0;  // grad, inference, autocast cpu/cuda enabled + dtype, deterministic, anomaly,
                       // functorch/forward-AD levels, modes ...
  int32_t default_dtype = 0;
  int32_t matmul_precision = 0;
  int32_t replaced = 0;        // what stands in the place of PyTorch's own functions (replaced.h)
  int32_t default_device = 0;  // default_device.h
  bool operator==(const GlobalState&) const = default;
};
GlobalState global_state();
// What differs first between two states: the question that a user would ask, and both answers.
struct StateChange {
  std::string question, was, now;
};
StateChange state_change(const GlobalState& was, const GlobalState& now);
// "" when capture may run; else why not ("a functorch level is active", "a foreign dispatch mode is active",
// ...).
std::string unsupported_state();

// Runs an operator by its overload through PyTorch (the GIL must be held), as the dispatcher would: returns
// new references. Errors: a Python exception is set and an empty optional comes back.
struct OpCall {
  _object* overload = nullptr;  // torch.ops.aten.xyz.overload, borrowed for the process's life
};
Result<OpCall> find_op(const std::string& qualified);  // "aten.add.Tensor"

// PyTorch's own intra-op pool: fn(begin, end, context) over [0, n) in chunks of at least `grain`; serial
// inside a parallel region.
void parallel_for(int64_t n, int64_t grain, void (*fn)(int64_t, int64_t, void*), void* context);
int num_threads();

}  // namespace vitrine::torch_api
