#include "profiler/events/activity.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "profiler/events/records.h"

namespace vitrine::profiler {

namespace {

namespace r = records;
using ActivityKind = Activity::Kind;

template <class T>
T at(std::string_view record, size_t offset) {
  T value{};
  std::memcpy(&value, record.data() + offset, sizeof value);
  return value;
}

template <class Place>
void take_times(std::string_view record, Activity& a) {
  a.start_ns = static_cast<int64_t>(at<uint64_t>(record, Place::start));
  a.end_ns = static_cast<int64_t>(at<uint64_t>(record, Place::end));
}

template <class Place>
void take_place(std::string_view record, Activity& a) {
  take_times<Place>(record, a);
  a.device = at<uint32_t>(record, Place::device);
  a.stream = at<uint32_t>(record, Place::stream);
  a.correlation = at<uint32_t>(record, Place::correlation);
}

constexpr std::array<const char*, 11> kCopies = {"copy",      "copy HtoD", "copy DtoH", "copy HtoA",
                                                 "copy AtoH", "copy AtoA", "copy AtoD", "copy DtoA",
                                                 "copy DtoD", "copy HtoH", "copy PtoP"};
constexpr std::array<const char*, 5> kWaits = {"wait", "wait for event", "stream waits for event",
                                               "wait for stream", "wait for context"};

template <size_t n>
std::string named(const std::array<const char*, n>& names, uint32_t type) {
  return names[type < n ? type : 0];
}

// CUpti_ActivityOverheadKind: compilation is 1, CUPTI's own in the upper half.
std::string overhead_name(uint32_t type) {
  switch (type) {
    case 1:
      return "driver compiles";
    case 1u << 16:
      return "CUPTI empties buffers";
    case 2u << 16:
      return "CUPTI instruments";
    case 4u << 16:
      return "module is loaded";
    case 5u << 16:
      return "function is loaded";
    case 6u << 16:
      return "command buffer is full";
    default:
      return type >> 16 ? "CUPTI" : "overhead";
  }
}

void read_kernel(std::string_view record, Activity& a) {
  take_place<r::KernelRecord>(record, a);
  a.graph_node = at<uint64_t>(record, r::KernelRecord::graph_node);
  a.registers = at<uint16_t>(record, r::KernelRecord::registers16);
  a.shared_bytes = at<int32_t>(record, r::KernelRecord::static_shared) +
                   at<int32_t>(record, r::KernelRecord::dynamic_shared);
  a.blocks = 1;
  a.threads = 1;
  for (size_t d = 0; d < 3; ++d) {
    a.blocks *= at<int32_t>(record, r::KernelRecord::grid + 4 * d);
    a.threads *= at<int32_t>(record, r::KernelRecord::block + 4 * d);
  }
}

template <class Place>
void read_transfer(std::string_view record, Activity& a) {
  take_place<Place>(record, a);
  a.graph_node = at<uint64_t>(record, Place::graph_node);
  a.bytes = static_cast<int64_t>(at<uint64_t>(record, Place::size));
}

// "cudaLaunchKernel" of "cudaLaunchKernel_v7000", as CUPTI calls functions of the runtime.
void drop_version(std::string& name) {
  const size_t at = name.rfind("_v");
  if (at != std::string::npos && at + 2 < name.size() &&
      name.find_first_not_of("0123456789", at + 2) == std::string::npos)
    name.resize(at);
}

void read_call(std::string_view record, Activity& a) {
  take_times<r::CallRecord>(record, a);
  a.thread = at<uint32_t>(record, r::CallRecord::thread);
  a.correlation = at<uint32_t>(record, r::CallRecord::correlation);
  if (a.kind == ActivityKind::runtime_call) drop_version(a.name);
  if (a.name.empty()) a.name = "call " + std::to_string(at<uint32_t>(record, r::CallRecord::function));
}

// false: a kind that is not read.
bool read_record(std::string_view record, Activity& a) {
  switch (at<uint32_t>(record, 0)) {
    case r::kConcurrentKernel:
      a.kind = ActivityKind::kernel;
      read_kernel(record, a);
      return true;
    case r::kCopy:
      a.kind = ActivityKind::copy;
      a.name = named(kCopies, at<uint8_t>(record, r::CopyRecord::kind8));
      read_transfer<r::CopyRecord>(record, a);
      return true;
    case r::kSet:
      a.kind = ActivityKind::set;
      a.name = "memset";
      read_transfer<r::SetRecord>(record, a);
      return true;
    case r::kRuntime:
    case r::kDriver:
      a.kind =
          at<uint32_t>(record, 0) == r::kRuntime ? ActivityKind::runtime_call : ActivityKind::driver_call;
      read_call(record, a);
      return true;
    case r::kSynchronization:
      a.kind = ActivityKind::wait;
      a.name = named(kWaits, at<uint32_t>(record, r::WaitRecord::type));
      take_times<r::WaitRecord>(record, a);
      a.stream = at<uint32_t>(record, r::WaitRecord::stream);
      a.correlation = at<uint32_t>(record, r::WaitRecord::correlation);
      return true;
    case r::kGraph:
      a.kind = ActivityKind::graph;
      a.name = "CUDA graph";
      take_place<r::GraphRecord>(record, a);
      return true;
    case r::kOverhead:
      a.kind = ActivityKind::overhead;
      a.name = overhead_name(at<uint32_t>(record, r::OverheadRecord::type));
      take_times<r::OverheadRecord>(record, a);
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view kind_name(ActivityKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"kernel",      "copy", "set",   "runtime_call",
                                                      "driver_call", "wait", "graph", "overhead"};
  return kNames[static_cast<size_t>(kind)];
}

void append_to_log(std::string& log, std::string_view record, std::string_view name) {
  const uint32_t sizes[2] = {static_cast<uint32_t>(record.size()), static_cast<uint32_t>(name.size())};
  log.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(record).append(name);
}

std::vector<Activity> activities_of(std::string_view log) {
  std::vector<Activity> out;
  while (log.size() >= 8) {
    const auto bytes = at<uint32_t>(log, 0), name = at<uint32_t>(log, 4);
    log.remove_prefix(8);
    if (uint64_t{bytes} + name > log.size() || bytes < 4) break;
    const std::string_view record = log.substr(0, bytes);
    Activity a;
    a.name = log.substr(bytes, name);
    log.remove_prefix(bytes + name);
    const size_t needed = r::kept_bytes(at<uint32_t>(record, 0));
    if (!needed || bytes < needed || !read_record(record, a)) continue;
    // "A value of 0 for both means that the time could not be collected."
    if (a.start_ns > 0 && a.end_ns >= a.start_ns) out.push_back(std::move(a));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  return out;
}

}  // namespace vitrine::profiler
