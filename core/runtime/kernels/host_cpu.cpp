#include "core/runtime/kernels/host_cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace vitrine::runtime {

namespace {
#if defined(__x86_64__)
// Which register states the system saves: without it AVX-512 must not be used, whatever the processor says.
unsigned long long enabled_states() {
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<unsigned long long>(high) << 32) | low;
}

std::string identity() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  char text[64];
  std::string out = "x86-64";
  if (!__get_cpuid(1, &a, &b, &c, &d)) return out;
  bool has_xgetbv = (c >> 27 & 1) != 0;
  // b holds the core's own number: left out.
  std::snprintf(text, sizeof text, " %08x %08x %08x", a, c, d);
  out += text;
  for (unsigned sub : {0u, 1u}) {
    if (!__get_cpuid_count(7, sub, &a, &b, &c, &d)) continue;
    std::snprintf(text, sizeof text, " %08x %08x %08x %08x", sub == 0 ? 0 : a, b, c, d);
    out += text;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    std::snprintf(text, sizeof text, " %08x %08x", c, d);
    out += text;
  }
  std::snprintf(text, sizeof text, " %llx", has_xgetbv ? enabled_states() & 0xff : 0);
  return out + text;
}
#else
std::string identity() {
  return "unknown";
}
#endif
}  // namespace

std::string host_cpu_identity() {
  static const std::string text = identity();
  return text;
}

int host_lanes() {
#if defined(__x86_64__)
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return wide ? 16 : 8;
#else
  return 8;
#endif
}

bool host_multiplies(ir::DType type) {
#if defined(__x86_64__)
  // Of EDX of leaf 7: of its first part, and of its second.
  constexpr unsigned kFp16 = 1u << 23, kNeConvert = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (d & kNeConvert)) return true;
  if (host_lanes() < 16) return false;
  return type == ir::DType::bf16 || (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kFp16));
#else
  return true;
#endif
}

// sysconf adds up the caches of all clusters of cores, and more on some virtual machines; this file names the
// cache of one. Where it is larger, or not told, many more cores share it.
int64_t host_cache_bytes() {
  static const int64_t bytes = [] {
    constexpr int64_t kShare = int64_t{32} << 20;
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
    int64_t kilobytes = 0;
    return file >> kilobytes && kilobytes > 0 ? std::min(kilobytes * 1024, kShare) : kShare;
  }();
  return bytes;
}

const char* isa_name(int lanes) {
  return lanes == 16 ? "avx512" : "avx2";
}

}  // namespace vitrine::runtime
