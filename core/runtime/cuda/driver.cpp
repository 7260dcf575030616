#include "core/runtime/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

namespace vitrine::runtime::cuda {

namespace {

using CuResult = int;  // CUresult: 0 = success

// X(member, exported name); the types below, as in cuda.h.
#define VITRINE_DRIVER(X)                       \
  X(init, "cuInit")                             \
  X(error_string, "cuGetErrorString")           \
  X(device_get, "cuDeviceGet")                  \
  X(device_attribute, "cuDeviceGetAttribute")   \
  X(context_current, "cuCtxGetCurrent")         \
  X(context_set, "cuCtxSetCurrent")             \
  X(primary_retain, "cuDevicePrimaryCtxRetain") \
  X(module_load, "cuModuleLoadData")            \
  X(module_unload, "cuModuleUnload")            \
  X(module_function, "cuModuleGetFunction")     \
  X(function_attribute, "cuFuncSetAttribute")   \
  X(launch, "cuLaunchKernel")                   \
  X(event_create, "cuEventCreate")              \
  X(event_destroy, "cuEventDestroy_v2")         \
  X(event_record, "cuEventRecord")              \
  X(event_wait, "cuEventSynchronize")           \
  X(event_between, "cuEventElapsedTime")        \
  X(stream_captures, "cuStreamIsCapturing")     \
  X(device_name, "cuDeviceGetName")             \
  X(version, "cuDriverGetVersion")

// Later additions, which a driver may lack.
#define VITRINE_GRAPH_DRIVER(X)                    \
  X(launch_after, "cuLaunchKernelEx")              \
  X(capture_info, "cuStreamGetCaptureInfo_v2")     \
  X(set_node, "cuGraphExecKernelNodeSetParams_v2") \
  X(encode, "cuTensorMapEncodeTiled")

// CUDA_KERNEL_NODE_PARAMS_v2.
struct NodeParameters {
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void **extra = nullptr, *kernel = nullptr, *context = nullptr;
};

// CUlaunchAttribute, of which a number is asked, and CUlaunchConfig.
struct LaunchAttribute {
  int id = 0;
  char reserved[4] = {};
  union {
    char all[64] = {};
    int number;
  };
};
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct DriverFunctions {
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*error_string)(CuResult, const char**) = nullptr;
  CuResult (*device_get)(int*, int) = nullptr;
  CuResult (*device_attribute)(int*, int, int) = nullptr;
  CuResult (*context_current)(void**) = nullptr;
  CuResult (*context_set)(void*) = nullptr;
  CuResult (*primary_retain)(void**, int) = nullptr;
  CuResult (*module_load)(void**, const void*) = nullptr;
  CuResult (*module_unload)(void*) = nullptr;
  CuResult (*module_function)(void**, void*, const char*) = nullptr;
  CuResult (*function_attribute)(void*, int, int) = nullptr;
  CuResult (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                     void**, void**) = nullptr;
  CuResult (*launch_after)(const LaunchConfig*, void*, void**, void**) = nullptr;
  CuResult (*capture_info)(void*, int*, uint64_t*, void**, void* const**, size_t*) = nullptr;
  CuResult (*set_node)(void*, void*, const NodeParameters*) = nullptr;
  CuResult (*encode)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*,
                     const uint32_t*, int, int, int, int) = nullptr;
  CuResult (*event_create)(void**, unsigned) = nullptr;
  CuResult (*event_destroy)(void*) = nullptr;
  CuResult (*event_record)(void*, void*) = nullptr;
  CuResult (*event_wait)(void*) = nullptr;
  CuResult (*event_between)(float*, void*, void*) = nullptr;
  CuResult (*stream_captures)(void*, int*) = nullptr;
  CuResult (*device_name)(char*, int, int) = nullptr;
  CuResult (*version)(int*) = nullptr;
};

// nullptr: there is no driver, or an old one.
const DriverFunctions* driver() {
  static const DriverFunctions* const kFound = []() -> const DriverFunctions* {
    void* open = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!open) return nullptr;
    static DriverFunctions d;
    bool all = true;
    auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(open, name));
      all = all && function;
    };
#define X(member, name) look_up(d.member, name);
    VITRINE_DRIVER(X)
    const bool enough = all;
    VITRINE_GRAPH_DRIVER(X)
#undef X
    return enough && d.init(0) == 0 ? &d : nullptr;
  }();
  return kFound;
}

Error no_driver() {
  return Error{"no CUDA driver was found", "Kernels for the GPU can be compiled here, but not run."};
}

std::string words(CuResult code) {
  const char* text = nullptr;
  driver()->error_string(code, &text);
  return text ? text : "CUDA error " + std::to_string(code);
}

// A context is current meanwhile. PyTorch keeps one GPU's current, which need not be the one that is worked
// on.
class CurrentContext {
 public:
  explicit CurrentContext(void* context) : context_(context) {
    driver()->context_current(&before_);
    if (before_ != context_) driver()->context_set(context_);
  }
  ~CurrentContext() {
    if (before_ != context_) driver()->context_set(before_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  void *context_, *before_ = nullptr;
};

// A device's primary context, which PyTorch uses; held as long as the process lives.
CuResult context_of(int device, void** context) {
  int handle = 0;
  if (CuResult failed = driver()->device_get(&handle, device)) return failed;
  return driver()->primary_retain(context, handle);
}

}  // namespace

namespace {

// CUtensorMap.
struct alignas(64) EncodedMap {
  uint64_t words[16] = {};
};

// Of memory that begins at a multiple of 16 bytes; the kernel asks whether it does, and reads no map if not.
CuResult encode(const codegen::TensorMap& map, void* data, EncodedMap& out) {
  constexpr int kF16 = 6, kBf16 = 9;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT16, _BFLOAT16
  constexpr int kNone = 0, kRunsOf128 = 3,
                kFetch256 = 3;  // no interleave; SWIZZLE_128B; L2_PROMOTION_L2_256B
  constexpr uint64_t kBytes = 2, kAlign = 16;
  const auto size = [](int64_t n) { return static_cast<uint64_t>(n); };
  const uint64_t sizes[] = {size(map.along), size(map.rows), size(map.images)};
  const uint64_t steps[] = {size(map.row_step) * kBytes, size(map.image_step) * kBytes};
  const uint32_t tile[] = {static_cast<uint32_t>(map.tile_along), static_cast<uint32_t>(map.tile_rows), 1};
  const uint32_t every[] = {1, 1, 1};
  void* at = reinterpret_cast<void*>(reinterpret_cast<uint64_t>(data) / kAlign * kAlign);
  return driver()->encode(&out, map.dtype == ir::DType::f16 ? kF16 : kBf16, 3, at, sizes, steps, tile, every,
                          kNone, kRunsOf128, kFetch256, 0);
}

// In the places of pointers the maps of what is there, as long as it lives.
class MapsOf {
 public:
  MapsOf(const std::vector<codegen::TensorMap>& maps, void** arguments)
      : maps_(maps), arguments_(arguments), made_(maps.size()) {
    if (!maps.empty() && !driver()->encode) failed_ = "this driver makes no tensor maps";
    for (size_t i = 0; i < maps.size() && failed_.empty(); ++i) {
      void** argument = &arguments[maps[i].argument];
      if (CuResult code = cuda::encode(maps[i], *static_cast<void**>(*argument), made_[i]))
        failed_ = words(code);
      pointers_.push_back(std::exchange(*argument, &made_[i]));
    }
  }
  ~MapsOf() {
    for (size_t i = 0; i < pointers_.size(); ++i) arguments_[maps_[i].argument] = pointers_[i];
  }
  MapsOf(const MapsOf&) = delete;
  MapsOf& operator=(const MapsOf&) = delete;
  const std::string& failed() const { return failed_; }

 private:
  const std::vector<codegen::TensorMap>& maps_;
  void** arguments_;
  std::vector<EncodedMap> made_;
  std::vector<void*> pointers_;
  std::string failed_;
};

}  // namespace

GpuFunction::~GpuFunction() {
  if (!driver()) return;
  const CurrentContext current(context_);
  driver()->module_unload(module_);
}

std::string GpuFunction::launch(int64_t blocks, int threads, void* stream, void** arguments) const {
  const CurrentContext current(context_);
  const MapsOf maps(maps_, arguments);
  if (!maps.failed().empty()) return maps.failed();
  if (follows_ && driver()->launch_after) return launch_early(blocks, threads, stream, arguments);
  const CuResult failed =
      driver()->launch(function_, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1,
                       shared_, stream, arguments, nullptr);
  return failed ? words(failed) : "";
}

// Programmatic stream serialization: its blocks may start while what was launched before still runs.
std::string GpuFunction::launch_early(int64_t blocks, int threads, void* stream, void** arguments) const {
  constexpr int kProgrammatic = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  LaunchAttribute attribute;
  attribute.id = kProgrammatic;
  attribute.number = 1;
  LaunchConfig config;
  config.grid[0] = static_cast<unsigned>(blocks);
  config.block[0] = static_cast<unsigned>(threads);
  config.shared_bytes = shared_;
  config.stream = stream;
  config.attributes = &attribute;
  config.attribute_count = 1;
  const CuResult failed = driver()->launch_after(&config, function_, arguments, nullptr);
  return failed ? words(failed) : "";
}

std::string GpuFunction::set_recorded(void* executable, void* node, int64_t blocks, int threads,
                                      void** arguments) const {
  if (!driver()->set_node) return "this driver does not change recorded launches";
  const MapsOf maps(maps_, arguments);
  if (!maps.failed().empty()) return maps.failed();
  NodeParameters p;
  p.function = function_;
  p.grid[0] = static_cast<unsigned>(blocks);
  p.block[0] = static_cast<unsigned>(threads);
  p.shared_bytes = shared_;
  p.arguments = arguments;
  const CuResult failed = driver()->set_node(executable, node, &p);
  return failed ? words(failed) : "";
}

void* recorded_launch(void* stream) {
  if (!driver() || !driver()->capture_info || !driver()->set_node) return nullptr;
  constexpr int kActive = 1;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
  int status = 0;
  uint64_t id = 0;
  void* graph = nullptr;
  void* const* last = nullptr;  // what the next launch would depend on: the last one
  size_t count = 0;
  if (driver()->capture_info(stream, &status, &id, &graph, &last, &count)) return nullptr;
  return status == kActive && count == 1 ? last[0] : nullptr;
}

Result<std::shared_ptr<GpuFunction>> load_kernel(const std::string& cubin, const std::string& function_name,
                                                 int device, int64_t shared, bool follows,
                                                 const std::vector<codegen::TensorMap>& maps) {
  constexpr int kMostShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  if (!driver()) return no_driver();
  void *context = nullptr, *module = nullptr, *function = nullptr;
  if (CuResult failed = context_of(device, &context))
    return Error{"the driver has no GPU " + std::to_string(device) + ": " + words(failed), ""};
  const CurrentContext current(context);
  CuResult failed = driver()->module_load(&module, cubin.data());
  if (!failed) failed = driver()->module_function(&function, module, function_name.c_str());
  if (!failed && shared > 0)
    failed = driver()->function_attribute(function, kMostShared, static_cast<int>(shared));
  if (failed)
    return Error{"the CUDA driver did not load a kernel: " + words(failed),
                 "A driver older than NVRTC refuses its code: update the driver, or let config.nvrtc name an "
                 "older NVRTC."};
  return std::make_shared<GpuFunction>(function, module, context, static_cast<unsigned>(shared), follows,
                                       maps);
}

Result<std::string> architecture(int device) {
  if (!driver()) return no_driver();
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
  int handle = 0, major = 0, minor = 0;
  CuResult failed = driver()->device_get(&handle, device);
  if (!failed) failed = driver()->device_attribute(&major, kMajor, handle);
  if (!failed) failed = driver()->device_attribute(&minor, kMinor, handle);
  if (failed) return Error{"the GPU does not tell its architecture: " + words(failed), ""};
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

Result<std::string> identity(int device) {
  auto arch = architecture(device);
  if (!arch) return arch;
  char name[256] = "";
  int handle = 0, version = 0;
  CuResult failed = driver()->device_get(&handle, device);
  if (!failed) failed = driver()->device_name(name, sizeof name, handle);
  if (!failed) failed = driver()->version(&version);
  if (failed) return Error{"the GPU does not tell its name: " + words(failed), ""};
  return std::string(name) + " " + arch.value() + " driver " + std::to_string(version);
}

bool is_capturing(void* stream) {
  int state = 0;
  return driver() && driver()->stream_captures(stream, &state) == 0 && state != 0;
}

Timer::Timer(int device) {
  void* context = nullptr;
  if (!driver() || context_of(device, &context)) return;
  const CurrentContext current(context);
  if (driver()->event_create(&begin_, 0) || driver()->event_create(&end_, 0)) end_ = nullptr;
}

Timer::~Timer() {
  for (void* event : {begin_, end_})
    if (event) driver()->event_destroy(event);
}

int64_t Timer::time(void* stream, const std::function<bool()>& work) {
  if (!end_ || driver()->event_record(begin_, stream)) return 0;
  const bool done = work();
  float milliseconds = 0;
  if (driver()->event_record(end_, stream) || driver()->event_wait(end_) || !done) return 0;
  if (driver()->event_between(&milliseconds, begin_, end_)) return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(milliseconds * 1e6F));
}

}  // namespace vitrine::runtime::cuda
