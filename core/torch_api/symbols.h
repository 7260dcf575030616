// PyTorch's exported functions, looked up by name in the libraries that `import torch` has loaded. One row a
// symbol: an absent optional one is a null pointer, and whoever uses it has a slower way.
#pragma once

#include <cstdint>

#include "core/base/result.h"

struct _object;  // PyObject

namespace vitrine::torch_api {

using ParallelFn = void (*)(int64_t, int64_t, void*);

// X(member, library, needed, symbol, type). Libraries: cpu = libtorch_cpu, c10 = libc10, python =
// libtorch_python.
#define VITRINE_TORCH_SYMBOLS(X)                                                                             \
  X(get_dim, cpu, true, "aoti_torch_get_dim", int (*)(void*, int64_t*))                                      \
  X(get_sizes, cpu, true, "aoti_torch_get_sizes", int (*)(void*, int64_t**))                                 \
  X(get_strides, cpu, true, "aoti_torch_get_strides", int (*)(void*, int64_t**))                             \
  X(get_storage_offset, cpu, true, "aoti_torch_get_storage_offset", int (*)(void*, int64_t*))                \
  X(get_dtype, cpu, true, "aoti_torch_get_dtype", int (*)(void*, int32_t*))                                  \
  X(get_device_type, cpu, true, "aoti_torch_get_device_type", int (*)(void*, int32_t*))                      \
  X(get_device_index, cpu, true, "aoti_torch_get_device_index", int (*)(void*, int32_t*))                    \
  X(get_data_ptr, cpu, true, "aoti_torch_get_data_ptr", int (*)(void*, void**))                              \
  X(get_storage_size, cpu, true, "aoti_torch_get_storage_size", int (*)(void*, int64_t*))                    \
  X(empty_strided, cpu, true, "aoti_torch_empty_strided",                                                    \
    int (*)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, void**))                     \
  X(reinterpret_tensor, cpu, true, "aoti_torch__reinterpret_tensor",                                         \
    int (*)(void*, int64_t, const int64_t*, const int64_t*, int64_t, void**))                                \
  X(from_blob, cpu, true, "aoti_torch_create_tensor_from_blob",                                              \
    int (*)(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, void**))     \
  X(zero, cpu, false, "aoti_torch_zero_", int (*)(void*))                                                    \
  X(new_handle, cpu, true, "aoti_torch_new_tensor_handle", int (*)(void*, void**))                           \
  X(delete_tensor, cpu, true, "aoti_torch_delete_tensor_object", int (*)(void*))                             \
  X(parallel_for, cpu, false, "torch_parallel_for", int (*)(int64_t, int64_t, int64_t, ParallelFn, void*))   \
  X(get_num_threads, cpu, false, "torch_get_num_threads", int (*)(uint32_t*))                                \
  X(set_requires_grad, cpu, false, "torch_set_requires_grad", int (*)(void*, bool))                          \
  X(error_text, cpu, false, "torch_exception_get_what_without_backtrace", const char* (*)())                 \
  X(wrap_move, python, false, "_Z16THPVariable_WrapON2at10TensorBaseE", _object* (*)(void*))                 \
  X(wrap_copy, python, false, "_Z16THPVariable_WrapRKN2at10TensorBaseE", _object* (*)(void*))                \
  X(current_stream, cpu, false, "aoti_torch_get_current_stream", int (*)(int32_t, void**))                   \
  X(guard_impls, c10, false, "_ZN3c104impl26device_guard_impl_registryE", void**)                            \
  X(grad_enabled, c10, true, "_ZN3c108GradMode10is_enabledEv", bool (*)())                                   \
  X(grad_set_enabled, c10, true, "_ZN3c108GradMode11set_enabledEb", void (*)(bool))                          \
  X(inference_enabled, c10, true, "_ZN3c1013InferenceMode10is_enabledEv", bool (*)())                        \
  X(warn_always, c10, false, "_ZN3c1012WarningUtils14get_warnAlwaysEv", bool (*)())                          \
  X(set_warn_always, c10, false, "_ZN3c1012WarningUtils14set_warnAlwaysEb", void (*)(bool))                  \
  X(default_dtype, c10, true, "_ZN3c1031get_default_dtype_as_scalartypeEv", int8_t (*)())                    \
  X(dispatch_modes, c10, true, "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", int64_t (*)())              \
  X(function_modes, cpu, true, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", int64_t (*)())             \
  X(function_disabled, cpu, true, "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv", int (*)())    \
  X(autocast_enabled, cpu, true, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE",                  \
    bool (*)(int8_t))                                                                                        \
  X(autocast_dtype, cpu, true, "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE", int8_t (*)(int8_t)) \
  X(autocast_cache, cpu, true, "_ZN2at8autocast25is_autocast_cache_enabledEv", bool (*)())                   \
  X(autocast_set, cpu, true, "_ZN2at8autocast20set_autocast_enabledEN3c1010DeviceTypeEb",                    \
    void (*)(int8_t, bool))                                                                                  \
  X(autocast_set_dtype, cpu, true,                                                                           \
    "_ZN2at8autocast18set_autocast_dtypeEN3c1010DeviceTypeENS1_10ScalarTypeE", void (*)(int8_t, int8_t))     \
  X(autocast_set_cache, cpu, true, "_ZN2at8autocast26set_autocast_cache_enabledEb", void (*)(bool))          \
  X(autocast_enter, cpu, true, "_ZN2at8autocast17increment_nestingEv", int (*)())                            \
  X(autocast_leave, cpu, true, "_ZN2at8autocast17decrement_nestingEv", int (*)())                            \
  X(autocast_clear, cpu, true, "_ZN2at8autocast11clear_cacheEv", void (*)())                                 \
  X(context, cpu, true, "_ZN2at13globalContextEv", void* (*)())                                              \
  X(deterministic, cpu, true, "_ZNK2at7Context23deterministicAlgorithmsEv", bool (*)(void*))                 \
  X(deterministic_warn, cpu, true, "_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv", bool (*)(void*))    \
  X(matmul_precision, cpu, true, "_ZNK2at7Context22float32MatmulPrecisionEv", int (*)(void*))                \
  X(mkldnn_enabled, cpu, true, "_ZNK2at7Context17userEnabledMkldnnEv", bool (*)(void*))                      \
  X(sdp_cudnn, cpu, true, "_ZNK2at7Context19userEnabledCuDNNSDPEv", bool (*)(void*))                         \
  X(sdp_set_cudnn, cpu, true, "_ZN2at7Context14setSDPUseCuDNNEb", void (*)(void*, bool))                     \
  X(sdp_flash, cpu, true, "_ZNK2at7Context19userEnabledFlashSDPEv", bool (*)(void*))                         \
  X(sdp_set_flash, cpu, true, "_ZN2at7Context14setSDPUseFlashEb", void (*)(void*, bool))                     \
  X(sdp_mem_efficient, cpu, true, "_ZNK2at7Context26userEnabledMemEfficientSDPEv", bool (*)(void*))          \
  X(sdp_set_mem_efficient, cpu, true, "_ZN2at7Context21setSDPUseMemEfficientEb", void (*)(void*, bool))      \
  X(sdp_math, cpu, true, "_ZNK2at7Context18userEnabledMathSDPEv", bool (*)(void*))                           \
  X(sdp_set_math, cpu, true, "_ZN2at7Context13setSDPUseMathEb", void (*)(void*, bool))                       \
  X(sdp_overrideable, cpu, true, "_ZNK2at7Context26userEnabledOverrideableSDPEv", bool (*)(void*))           \
  X(sdp_set_overrideable, cpu, true, "_ZN2at7Context21setSDPUseOverrideableEb", void (*)(void*, bool))       \
  X(functorch_stack, cpu, true, "_ZN2at9functorch20getDynamicLayerStackEv", void** (*)())                    \
  X(saved_hooks, cpu, true, "_ZN2at23SavedTensorDefaultHooks13get_tls_stateEv", void** (*)())                \
  X(operators_observed, cpu, false, "_ZN2at23isRecordFunctionEnabledEv", bool (*)())                         \
  X(observe_operators, cpu, false, "_ZN2at20enableRecordFunctionEb", void (*)(bool))                         \
  X(operators_watched, cpu, false, "_ZN2at23hasThreadLocalCallbacksEv", bool (*)())                          \
  X(range_begins, cpu, false, "aoti_record_function_start",                                                  \
    int (*)(const char*, void*, void* const*, uint64_t, void**))                                             \
  X(range_ends, cpu, false, "aoti_record_function_end", int (*)(void*))                                      \
  X(tensor_to_value, cpu, false, "aoti_torch_tensor_to_ivalue", int (*)(void*, void**))                      \
  X(delete_value, cpu, false, "aoti_torch_delete_c10_value_object", int (*)(void*))                          \
  X(jit_tracing, cpu, false, "_ZN5torch3jit6tracer15getTracingStateEv", void** (*)())                        \
  X(anomaly, cpu, true, "_ZN5torch8autograd11AnomalyMode8_enabledE", bool*)

struct Symbols {
// A type like `int (*)(void*)` takes a name only through an alias.
#define X(member, library, needed, symbol, ...) \
  using member##_type = __VA_ARGS__;            \
  member##_type member = nullptr;
  VITRINE_TORCH_SYMBOLS(X)
#undef X
};

// Errors: PyTorch is not imported, or a needed symbol is missing (named).
Result<Symbols> load_symbols();

}  // namespace vitrine::torch_api
