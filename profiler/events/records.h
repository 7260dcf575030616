// Where CUPTI's activity records hold what is read of them. Declared by place and not by struct: new versions
// of a record only grow behind these fields, so that CUPTI 12.0 to 13.x have them alike (the layouts of
// Kernel9 and Kernel10, Memcpy5 and 6, Memset4, API, Synchronization 1 and 2, Overhead 1 to 3, GraphTrace 1
// and 2, which are packed).
#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::profiler::records {

enum ActivityCode : uint32_t {  // CUpti_ActivityKind
  kCopy = 1,
  kSet = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kSynchronization = 38,
  kGraph = 51,
};

struct KernelRecord {
  static constexpr size_t registers16 = 6, start = 16, end = 24, device = 40, stream = 48, grid = 52,
                          block = 64, static_shared = 76, dynamic_shared = 80, correlation = 92, name = 104,
                          graph_node = 144,
                          bytes = 152;  // that are kept of a record
};
struct CopyRecord {
  static constexpr size_t kind8 = 4, size = 8, start = 16, end = 24, device = 32, stream = 40,
                          correlation = 44, graph_node = 64, bytes = 72;
};
struct SetRecord {
  static constexpr size_t size = 8, start = 16, end = 24, device = 32, stream = 40, correlation = 44,
                          graph_node = 64, bytes = 72;
};
struct CallRecord {
  static constexpr size_t function = 4, start = 8, end = 16, thread = 28, correlation = 32, bytes = 40;
};
struct WaitRecord {
  static constexpr size_t type = 4, start = 8, end = 16, correlation = 24, stream = 32, bytes = 40;
};
struct GraphRecord {
  static constexpr size_t correlation = 4, start = 8, end = 16, device = 24, stream = 36, bytes = 40;
};
struct OverheadRecord {
  static constexpr size_t type = 4, start = 24, end = 32, bytes = 40;
};

// Bytes of a record that are kept; 0: a kind that is not read.
constexpr size_t kept_bytes(uint32_t kind) {
  switch (kind) {
    case kConcurrentKernel:
      return KernelRecord::bytes;
    case kCopy:
      return CopyRecord::bytes;
    case kSet:
      return SetRecord::bytes;
    case kRuntime:
    case kDriver:
      return CallRecord::bytes;
    case kSynchronization:
      return WaitRecord::bytes;
    case kGraph:
      return GraphRecord::bytes;
    case kOverhead:
      return OverheadRecord::bytes;
    default:
      return 0;
  }
}

}  // namespace vitrine::profiler::records
