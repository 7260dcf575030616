// PyTorch's process-wide and thread-wide state: what a guard compares, and what keeps capture from running.
#include <Python.h>

#include <iterator>

#include "core/ir/types.h"
#include "core/torch_api/api.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/default_device.h"
#include "core/torch_api/replaced.h"

namespace vitrine::torch_api {

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

// A bit of GlobalState::flags: what a user would ask, and the answer now.
struct Flag {
  const char* name;
  bool (*is_on)(const Symbols& s, void* context);
};
constexpr Flag kFlags[] = {
    {"torch.is_grad_enabled()", [](const Symbols& s, void*) -> bool { return s.grad_enabled(); }},
    {"torch.is_inference_mode_enabled()",
     [](const Symbols& s, void*) -> bool { return s.inference_enabled(); }},
    {"torch.are_deterministic_algorithms_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.deterministic(context); }},
    {"torch.is_deterministic_algorithms_warn_only_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.deterministic_warn(context); }},
    {"torch.is_anomaly_enabled()", [](const Symbols& s, void*) -> bool { return *s.anomaly; }},
    {"torch.backends.mkldnn.enabled",
     [](const Symbols& s, void* context) -> bool { return s.mkldnn_enabled(context); }},
    {"a functorch transform is active", [](const Symbols& s, void*) { return functorch_active(s); }},
    {"a forward-mode AD level is active", [](const Symbols&, void*) { return forward_ad_active(); }},
    {"a foreign dispatch mode is active",
     [](const Symbols& s, void*) -> bool { return s.dispatch_modes() != 0; }},
    {"__torch_function__ is disabled",
     [](const Symbols& s, void*) -> bool { return s.function_disabled() != 0; }},
    {"saved-tensor hooks are active", [](const Symbols& s, void*) { return saved_hooks_active(s); }},
    {"torch.jit.trace is running", [](const Symbols& s, void*) { return jit_tracing(s); }},
    {"torch.backends.cuda.cudnn_sdp_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.sdp_cudnn(context); }},
    {"torch.backends.cuda.flash_sdp_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.sdp_flash(context); }},
    {"torch.backends.cuda.mem_efficient_sdp_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.sdp_mem_efficient(context); }},
    {"torch.backends.cuda.math_sdp_enabled()",
     [](const Symbols& s, void* context) -> bool { return s.sdp_math(context); }},
    {"the overrideable attention is enabled",
     [](const Symbols& s, void* context) -> bool { return s.sdp_overrideable(context); }},
};
// Bits 16 to 39 are autocast's.
constexpr int bit_of(size_t flag) {
  return static_cast<int>(flag < 16 ? flag : flag + 24);
}

// Where autocast's answers lie behind them.
struct AutocastBits {
  const char* device;
  int enabled, dtype;
};
constexpr AutocastBits kAutocast[] = {{"cpu", 16, 24}, {"cuda", 17, 32}};
constexpr int kAutocastCache = 18;
static_assert(bit_of(std::size(kFlags)) <= 64);

uint64_t autocast_flags(const Symbols& s) {
  const bool cpu = s.autocast_enabled(kCpu), cuda = s.autocast_enabled(kCuda);
  if (!cpu && !cuda) return 0;
  uint64_t flags = uint64_t{s.autocast_cache()} << kAutocastCache;
  const auto add = [&](const AutocastBits& row, bool enabled, auto kind) {
    if (!enabled) return;
    flags |= uint64_t{1} << row.enabled;
    flags |= static_cast<uint64_t>(static_cast<uint8_t>(s.autocast_dtype(kind))) << row.dtype;
  };
  add(kAutocast[0], cpu, kCpu);
  add(kAutocast[1], cuda, kCuda);
  return flags;
}
}  // namespace

GlobalState global_state() {
  const Symbols& s = api().symbols;
  void* context = s.context();
  GlobalState state;
  for (size_t i = 0; i < std::size(kFlags); ++i)
    state.flags |= uint64_t{kFlags[i].is_on(s, context)} << bit_of(i);
  state.flags |= autocast_flags(s);
  state.default_dtype = s.default_dtype();
  state.matmul_precision = s.matmul_precision(context);
  state.replaced = replaced();
  state.default_device = default_device(s);
  return state;
}

StateChange state_change(const GlobalState& was, const GlobalState& now) {
  const auto truth = [](bool on) { return on ? "True" : "False"; };
  const auto dtype = [](auto number) {
    return "torch." + std::string(ir::dtype_torch_name(ir::dtype_from_scalar_type(number)));
  };
  const uint64_t differ = was.flags ^ now.flags;
  const auto is_on = [](const GlobalState& state, int bit) { return (state.flags >> bit & 1) != 0; };
  for (size_t i = 0; i < std::size(kFlags); ++i)
    if (differ >> bit_of(i) & 1)
      return {kFlags[i].name, truth(is_on(was, bit_of(i))), truth(is_on(now, bit_of(i)))};
  for (const AutocastBits& row : kAutocast) {
    const std::string device = std::string("('") + row.device + "')";
    if (differ >> row.enabled & 1)
      return {"torch.is_autocast_enabled" + device, truth(is_on(was, row.enabled)),
              truth(is_on(now, row.enabled))};
    if (differ >> row.dtype & 0xff)
      return {"torch.get_autocast_dtype" + device, dtype(static_cast<int8_t>(was.flags >> row.dtype)),
              dtype(static_cast<int8_t>(now.flags >> row.dtype))};
  }
  if (differ)
    return {"torch.is_autocast_cache_enabled()", truth(is_on(was, kAutocastCache)),
            truth(is_on(now, kAutocastCache))};
  if (was.default_device != now.default_device)
    return {"the default device", default_device_text(was.default_device),
            default_device_text(now.default_device)};
  if (was.default_dtype != now.default_dtype)
    return {"torch.get_default_dtype()", dtype(was.default_dtype), dtype(now.default_dtype)};
  if (was.replaced != now.replaced) {
    const int32_t number = now.replaced ? now.replaced : was.replaced;
    const auto answer = [](int32_t n) { return n ? "replaced" : "PyTorch's own"; };
    return {replaced_name(number), answer(was.replaced), answer(now.replaced)};
  }
  static constexpr const char* kPrecisions[] = {"highest", "high", "medium"};
  const auto precision = [](int32_t n) {
    return n >= 0 && n < 3 ? std::string(kPrecisions[n]) : std::to_string(n);
  };
  return {"torch.get_float32_matmul_precision()", precision(was.matmul_precision),
          precision(now.matmul_precision)};
}

std::string unsupported_state() {
  const Symbols& s = api().symbols;
  if (functorch_active(s)) return "a functorch transform (vmap, grad, ...) is active";
  if (forward_ad_active()) return "a forward-mode AD level is active";
  if (s.dispatch_modes() != 0) return "a foreign dispatch mode is active";
  const int32_t device = default_device(s);
  if (device == kForeignMode) return "a foreign function mode is active";
  // A mode is told a method's name, and calls what stands there now: a replacement comes to itself once more.
  if (device != kNoDefaultDevice && replaced() != 0)
    return "a default device is set and " + replaced_name(replaced()) + " is replaced";
  if (saved_hooks_active(s)) return "saved-tensor hooks are active";
  if (jit_tracing(s)) return "torch.jit.trace is running";
  if (*s.anomaly) return "anomaly detection is on";
  if (const std::string name = replaced_operator(); !name.empty()) return name + " is replaced";
  return "";
}

}  // namespace vitrine::torch_api
