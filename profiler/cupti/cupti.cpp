#include "profiler/cupti/cupti.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "profiler/cupti/library.h"
#include "profiler/events/activity.h"
#include "profiler/events/records.h"

namespace vitrine::profiler {

namespace {

using Subscriber = void*;
using Requested = void (*)(uint8_t**, size_t*, size_t*);
using Completed = void (*)(void* context, uint32_t stream, uint8_t*, size_t, size_t);

// X(member, exported name, type as in CUPTI's headers)
#define VITRINE_CUPTI(X)                                                                     \
  X(version, "cuptiGetVersion", CuptiResult (*)(uint32_t*))                                  \
  X(subscribe, "cuptiSubscribe",                                                             \
    CuptiResult (*)(Subscriber*, void (*)(void*, int, uint32_t, const void*), void*))        \
  X(unsubscribe, "cuptiUnsubscribe", CuptiResult (*)(Subscriber))                            \
  X(set_clock, "cuptiActivityRegisterTimestampCallback", CuptiResult (*)(uint64_t (*)()))    \
  X(set_buffers, "cuptiActivityRegisterCallbacks", CuptiResult (*)(Requested, Completed))    \
  X(enable, "cuptiActivityEnable", CuptiResult (*)(uint32_t))                                \
  X(disable, "cuptiActivityDisable", CuptiResult (*)(uint32_t))                              \
  X(next, "cuptiActivityGetNextRecord", CuptiResult (*)(uint8_t*, size_t, void**))           \
  X(flush, "cuptiActivityFlushAll", CuptiResult (*)(uint32_t))                               \
  X(dropped, "cuptiActivityGetNumDroppedRecords", CuptiResult (*)(void*, uint32_t, size_t*)) \
  X(call_name, "cuptiGetCallbackName", CuptiResult (*)(int, uint32_t, const char**))

struct CuptiFunctions {
#define X(member, name, type) std::add_pointer_t<std::remove_pointer_t<type>> member = nullptr;
  VITRINE_CUPTI(X)
#undef X
  void* library = nullptr;
};

constexpr uint32_t kKinds[] = {records::kConcurrentKernel, records::kCopy,   records::kSet,
                               records::kRuntime,          records::kDriver, records::kSynchronization,
                               records::kOverhead};
constexpr uint32_t kOldest = 18, kNewest = 139999;  // cuptiGetVersion() of CUDA 12.0 and of 13.x
constexpr size_t kBufferBytes = size_t{4} << 20, kAlignment = 8;
constexpr int kDriverDomain = 1, kRuntimeDomain = 2;  // CUpti_CallbackDomain
constexpr uint32_t kFlushForced = 1;

struct CuptiRecording {
  std::mutex mutex;
  const CuptiFunctions* f = nullptr;
  Subscriber subscriber = nullptr;
  std::string log;
  int64_t dropped = 0;
  bool active = false;
};
// CUPTI's callbacks carry no argument, and a process has one CUPTI.
CuptiRecording& recording() {
  static CuptiRecording* const kOne = new CuptiRecording;
  return *kOne;
}

uint64_t timestamp() {
  return static_cast<uint64_t>(monotonic_ns());
}

void give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

// The name that a record points to: it is gone after the callback.
std::string_view name_of(const CuptiFunctions& f, uint32_t kind, const char* record) {
  const char* name = nullptr;
  if (kind == records::kConcurrentKernel)
    std::memcpy(&name, record + records::KernelRecord::name, sizeof name);
  if (kind == records::kRuntime || kind == records::kDriver) {
    uint32_t function = 0;
    std::memcpy(&function, record + records::CallRecord::function, sizeof function);
    if (f.call_name(kind == records::kRuntime ? kRuntimeDomain : kDriverDomain, function, &name))
      name = nullptr;
  }
  return name ? name : "";
}

void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  CuptiRecording& r = recording();
  const std::lock_guard lock(r.mutex);
  void* record = nullptr;
  while (r.active && valid > 0 && r.f->next(buffer, valid, &record) == 0) {
    uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    const char* bytes = static_cast<const char*>(record);
    if (const size_t kept = records::kept_bytes(kind))
      append_to_log(r.log, {bytes, kept}, name_of(*r.f, kind, bytes));
  }
  size_t lost = 0;
  if (r.active && r.f->dropped(context, stream, &lost) == 0) r.dropped += static_cast<int64_t>(lost);
  std::free(buffer);
}

void no_callback(void*, int, uint32_t, const void*) {}

Result<const CuptiFunctions*> find(const std::string& library) {
  static const auto kFound = [&]() -> Result<CuptiFunctions> {
    auto open = cupti_library(library);
    if (!open) return open.error();
    CuptiFunctions f;
    f.library = open.value();
    std::string lacks;
#define X(member, name, type)                                              \
  f.member = reinterpret_cast<decltype(f.member)>(dlsym(f.library, name)); \
  if (!f.member) lacks = name;
    VITRINE_CUPTI(X)
#undef X
    uint32_t version = 0;
    if (!lacks.empty() || f.version(&version) || version < kOldest || version > kNewest)
      return Error{"this CUPTI (" +
                       (lacks.empty() ? "version " + std::to_string(version) : "without " + lacks) +
                       ") is not one of CUDA 12 or 13",
                   "Use the CUPTI of CUDA 12 or 13."};
    return f;
  }();
  if (!kFound) return kFound.error();
  return &kFound.value();
}

Error not_recorded(const CuptiFunctions& f, CuptiResult code, const char* what) {
  return explained(f.library, code, std::string("CUPTI does not record (") + what + ")");
}

void switch_off(CuptiRecording& r, size_t kinds) {
  for (size_t i = 0; i < kinds; ++i) r.f->disable(kKinds[i]);
  if (r.subscriber) r.f->unsubscribe(r.subscriber);
  r.subscriber = nullptr;
}

}  // namespace

Status start_recording(const std::string& library, bool others_idle) {
  auto found = find(library);
  if (!found) return found.error();
  CuptiRecording& r = recording();
  {
    const std::lock_guard lock(r.mutex);
    if (r.active) return Error{"a recording is under way already", ""};
    r.f = found.value();
    r.log.clear();
    r.dropped = 0;
  }
  const CuptiFunctions& f = *r.f;
  if (CuptiResult failed = f.subscribe(&r.subscriber, no_callback, nullptr)) {
    r.subscriber = nullptr;
    if (failed != kOtherSubscriber || !others_idle) return not_recorded(f, failed, "subscribe");
  }
  CuptiResult failed = f.set_clock(timestamp);
  if (!failed) failed = f.set_buffers(give_buffer, take_buffer);
  if (failed) {
    switch_off(r, 0);
    return not_recorded(f, failed, "set up");
  }
  {
    const std::lock_guard lock(r.mutex);
    r.active = true;
  }
  for (size_t i = 0; i < std::size(kKinds); ++i)
    if ((failed = f.enable(kKinds[i]))) {
      const std::lock_guard lock(r.mutex);
      r.active = false;
      switch_off(r, i);
      return not_recorded(f, failed, "enable");
    }
  return {};
}

std::string stop_recording(int64_t* dropped) {
  CuptiRecording& r = recording();
  {
    const std::lock_guard lock(r.mutex);
    if (!r.active) return "";
  }
  r.f->flush(kFlushForced);
  switch_off(r, std::size(kKinds));
  const std::lock_guard lock(r.mutex);
  r.active = false;
  if (dropped) *dropped = r.dropped;
  return std::move(r.log);
}

}  // namespace vitrine::profiler
