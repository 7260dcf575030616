// PyTorch's process-wide and thread-wide state: what a guard compares, and what keeps capture from running.
#include <Python.h>

#include "core/torch_bridge/api.h"
#include "core/torch_bridge/bridge.h"

namespace vitrine::torch_bridge {

namespace {
constexpr int8_t kCpu = 0, kCuda = 1;  // c10::DeviceType

// functorch keeps a std::vector of its levels: empty when begin == end.
bool functorch_active(const Symbols& s) {
  void** vector = s.functorch_stack();
  return vector[0] != vector[1];
}
// torch.autograd.forward_ad._current_level is -1 outside dual_level().
bool forward_ad_active() {
  PyObject* level = PyDict_GetItemWithError(api().forward_ad_globals, api().s_current_level);
  return level && PyLong_CheckExact(level) && PyLong_AsLong(level) >= 0;
}
bool saved_hooks_active(const Symbols& s) {
  void** deque = s.saved_hooks();
  return deque[api().saved_hooks_begin] != deque[api().saved_hooks_end];
}
bool jit_tracing(const Symbols& s) {
  return s.jit_tracing && *s.jit_tracing() != nullptr;
}

uint64_t autocast_flags(const Symbols& s) {
  const bool cpu = s.autocast_enabled(kCpu), cuda = s.autocast_enabled(kCuda);
  if (!cpu && !cuda) return 0;
  uint64_t flags = uint64_t{cpu} << 16 | uint64_t{cuda} << 17 | uint64_t{s.autocast_cache()} << 18;
  if (cpu) flags |= static_cast<uint64_t>(static_cast<uint8_t>(s.autocast_dtype(kCpu))) << 24;
  if (cuda) flags |= static_cast<uint64_t>(static_cast<uint8_t>(s.autocast_dtype(kCuda))) << 32;
  return flags;
}
}  // namespace

GlobalState global_state() {
  const Symbols& s = api().symbols;
  void* context = s.context();
  GlobalState state;
  int bit = 0;
  auto flag = [&](bool on) { state.flags |= uint64_t{on} << bit++; };
  flag(s.grad_enabled());
  flag(s.inference_enabled());
  flag(s.deterministic(context));
  flag(s.deterministic_warn(context));
  flag(*s.anomaly);
  flag(s.mkldnn_enabled(context));
  flag(functorch_active(s));
  flag(forward_ad_active());
  flag(s.dispatch_modes() != 0);
  flag(s.function_modes() != 0);
  flag(s.function_disabled() != 0);
  flag(saved_hooks_active(s));
  flag(jit_tracing(s));
  state.flags |= autocast_flags(s);
  state.default_dtype = s.default_dtype();
  state.matmul_precision = s.matmul_precision(context);
  return state;
}

std::string unsupported_state() {
  const Symbols& s = api().symbols;
  if (functorch_active(s)) return "a functorch transform (vmap, grad, ...) is active";
  if (forward_ad_active()) return "a forward-mode AD level is active";
  if (s.dispatch_modes() != 0) return "a foreign dispatch mode is active";
  if (s.function_modes() != 0) return "a foreign function mode (for example a default device) is active";
  if (saved_hooks_active(s)) return "saved-tensor hooks are active";
  if (jit_tracing(s)) return "torch.jit.trace is running";
  if (*s.anomaly) return "anomaly detection is on";
  return "";
}

}  // namespace vitrine::torch_bridge
