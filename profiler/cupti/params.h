// What CUPTI's functions take and give, as in its headers of CUDA 12.6 to 13 (cupti_range_profiler.h,
// cupti_profiler_host.h, cupti_profiler_target.h, cupti_target.h, cupti_pcsampling.h), which need not be
// where this is built. Each begins with the bytes of it that CUPTI may read: use made<T>(). A later version
// only adds fields behind.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::profiler::params {

struct Head {
  size_t bytes = 0;
  void* reserved = nullptr;
};

// Of the range profiler's host side.
struct HostInitialize : Head {
  int32_t kind = 0;  // 0: the range profiler
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  void* host = nullptr;  // out
};
struct HostObject : Head {
  void* host = nullptr;
};
struct HostMetrics : Head {
  void* host = nullptr;
  const char** names = nullptr;
  size_t count = 0;
};
struct HostImageSize : Head {
  void* host = nullptr;
  size_t image_bytes = 0;  // out
};
struct HostImage : Head {
  void* host = nullptr;
  size_t image_bytes = 0;
  uint8_t* image = nullptr;
};
struct HostPasses : Head {
  size_t image_bytes = 0;
  uint8_t* image = nullptr;
  size_t passes = 0;  // out
};
struct HostEvaluate : Head {
  void* host = nullptr;
  const uint8_t* data = nullptr;
  size_t data_bytes = 0, range = 0;
  const char** names = nullptr;
  size_t count = 0;
  double* values = nullptr;
};

// Of the device.
struct Initialize : Head {};
struct ChipName : Head {
  size_t device = 0;
  const char* chip = nullptr;  // out
};
struct Availability : Head {
  void* context = nullptr;
  size_t image_bytes = 0;  // in and out
  uint8_t* image = nullptr;
};

// Of the range profiler.
struct RangeEnable : Head {
  void* context = nullptr;
  void* profiler = nullptr;  // out
};
struct RangeObject : Head {
  void* profiler = nullptr;
};
struct RangeDataSize : Head {
  void* profiler = nullptr;
  const char** names = nullptr;
  size_t count = 0, most_ranges = 0;
  uint32_t most_nodes = 0;
  size_t data_bytes = 0;  // out
};
struct RangeDataInitialize : Head {
  void* profiler = nullptr;
  size_t data_bytes = 0;
  uint8_t* data = nullptr;
};
struct RangeConfigure : Head {
  void* profiler = nullptr;
  size_t image_bytes = 0;
  const uint8_t* image = nullptr;
  size_t data_bytes = 0;
  uint8_t* data = nullptr;
  int32_t range = 1;   // 1: one for each kernel
  int32_t replay = 2;  // 2: CUPTI runs each kernel again; 3: the caller runs all again
  size_t most_ranges = 0;
  uint16_t levels = 1, least_level = 1;
  size_t pass = 0;
  uint16_t target_level = 0;
};
struct RangeStop : Head {
  void* profiler = nullptr;
  size_t pass = 0, target_level = 0;  // out
  uint8_t all_passes = 0;             // out
};
struct RangeDecode : Head {
  void* profiler = nullptr;
  size_t dropped = 0;  // out
};
struct RangeCount : Head {
  const uint8_t* data = nullptr;
  size_t data_bytes = 0, ranges = 0;  // out: ranges
};

// Of PC sampling.
struct StallCount {
  uint32_t reason = 0, samples = 0;
};
struct SampledPc {
  size_t bytes = 0;
  uint64_t cubin = 0, offset = 0;
  uint32_t function_index = 0, unused = 0;
  char* function = nullptr;  // the caller's to free
  size_t reasons = 0;
  StallCount* counts = nullptr;
  uint32_t correlation = 0;
};
struct Sampled {
  size_t bytes = 0, room = 0;
  uint64_t samples = 0, dropped = 0;
  size_t pcs = 0, left = 0;
  uint64_t range = 0;
  SampledPc* pc = nullptr;
  uint64_t of_others = 0;
  uint8_t full = 0;
};
struct SamplingContext : Head {
  void* context = nullptr;
};
struct SamplingData : Head {
  void* context = nullptr;
  Sampled* data = nullptr;
};
struct SamplingReasonCount : Head {
  void* context = nullptr;
  size_t* count = nullptr;
};
struct SamplingReasons : Head {
  void* context = nullptr;
  size_t count = 0;
  uint32_t* index = nullptr;
  char** names = nullptr;  // of 128 bytes each
};
struct SamplingOption {
  enum Kind : int32_t { kPeriod = 1, kMode = 5, kStartStop = 6, kBuffer = 8 };
  int32_t kind = 0, status = 0;
  union {
    uint64_t all[3];
    uint32_t number;
    void* pointer;
  } value{};
};
struct SamplingConfigure : Head {
  void* context = nullptr;
  size_t count = 0;
  SamplingOption* options = nullptr;
};

// Bytes up to the end of the last field, as CUPTI's headers count them.
template <class T>
constexpr size_t kBytes = sizeof(T);
template <>
inline constexpr size_t kBytes<RangeConfigure> = 90;
template <>
inline constexpr size_t kBytes<RangeStop> = 41;

template <class T>
T made() {
  T p;
  p.bytes = kBytes<T>;
  return p;
}

}  // namespace vitrine::profiler::params
