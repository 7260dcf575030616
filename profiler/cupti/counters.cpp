#include "profiler/cupti/counters.h"

#include <cmath>
#include <limits>

#include "profiler/analysis/metrics.h"
#include "profiler/cupti/library.h"
#include "profiler/cupti/params.h"

namespace vitrine::profiler {

using namespace params;

namespace {

// X(member, exported name, type of its argument)
#define VITRINE_COUNTERS(X)                                                               \
  X(initialize, "cuptiProfilerInitialize", Initialize)                                    \
  X(deinitialize, "cuptiProfilerDeInitialize", Initialize)                                \
  X(availability, "cuptiProfilerGetCounterAvailability", Availability)                    \
  X(chip_name, "cuptiDeviceGetChipName", ChipName)                                        \
  X(host_initialize, "cuptiProfilerHostInitialize", HostInitialize)                       \
  X(host_deinitialize, "cuptiProfilerHostDeinitialize", HostObject)                       \
  X(host_add, "cuptiProfilerHostConfigAddMetrics", HostMetrics)                           \
  X(host_image_size, "cuptiProfilerHostGetConfigImageSize", HostImageSize)                \
  X(host_image, "cuptiProfilerHostGetConfigImage", HostImage)                             \
  X(host_passes, "cuptiProfilerHostGetNumOfPasses", HostPasses)                           \
  X(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues", HostEvaluate)                  \
  X(enable, "cuptiRangeProfilerEnable", RangeEnable)                                      \
  X(disable, "cuptiRangeProfilerDisable", RangeObject)                                    \
  X(data_size, "cuptiRangeProfilerGetCounterDataSize", RangeDataSize)                     \
  X(data_initialize, "cuptiRangeProfilerCounterDataImageInitialize", RangeDataInitialize) \
  X(configure, "cuptiRangeProfilerSetConfig", RangeConfigure)                             \
  X(start, "cuptiRangeProfilerStart", RangeObject)                                        \
  X(stop, "cuptiRangeProfilerStop", RangeStop)                                            \
  X(decode, "cuptiRangeProfilerDecodeData", RangeDecode)                                  \
  X(count, "cuptiRangeProfilerGetCounterDataInfo", RangeCount)

struct CounterFunctions {
#define X(member, name, type) CuptiResult (*member)(type*) = nullptr;
  VITRINE_COUNTERS(X)
#undef X
  void* library = nullptr;

  template <class Take>
  void each(Take take) {
#define X(member, name, type) take(member, name);
    VITRINE_COUNTERS(X)
#undef X
  }
};

}  // namespace

struct CounterSession::State {
  CounterFunctions f;
  std::string chip;
  std::vector<uint8_t> availability, image, data;
  std::vector<const char*> names;  // of the metrics' counters that this GPU has
  // By metric, of names: its counter and what it is a share of; -1: the GPU lacks it, or it is not a share.
  std::vector<std::pair<int, int>> columns;
  void *host = nullptr, *profiler = nullptr;
  size_t passes = 0, most = 0;
  bool initialized = false;

  // The first that fails keeps its code.
  template <class T>
  bool call(CuptiResult (*function)(T*), T& argument) {
    if (!failed) failed = function(&argument);
    return failed == 0;
  }
  CuptiResult failed = 0;

  Status prepare(int device, size_t most_ranges, ReplayMode replay);
  bool look_at_device(int device);
  void* new_host();
  void end_host(void*& which) const;
  int column_of(std::string_view counter, void* trial);
  bool plan_passes();
  bool enable(ReplayMode replay);
  ~State();
};

Status CounterSession::State::prepare(int device, size_t most_ranges, ReplayMode replay) {
  most = most_ranges;
  if (!current_context())
    return Error{"no CUDA context is current on this thread", "Call something on the GPU first."};
  if (look_at_device(device) && plan_passes() && enable(replay)) return {};
  return explained(f.library, failed, "CUPTI does not count on this GPU");
}

// Which chip it is, and which of its counters the system gives.
bool CounterSession::State::look_at_device(int device) {
  auto start = made<Initialize>();
  initialized = call(f.initialize, start);
  auto name = made<ChipName>();
  name.device = static_cast<size_t>(device);
  if (!call(f.chip_name, name)) return false;
  chip = name.chip;
  auto image_of = made<Availability>();
  image_of.context = current_context();
  if (!call(f.availability, image_of)) return false;
  availability.resize(image_of.image_bytes);
  image_of.image = availability.data();
  return call(f.availability, image_of);
}

void* CounterSession::State::new_host() {
  auto p = made<HostInitialize>();
  p.chip = chip.c_str();
  p.availability = availability.data();
  return call(f.host_initialize, p) ? p.host : nullptr;
}

void CounterSession::State::end_host(void*& which) const {
  auto p = made<HostObject>();
  p.host = which;
  if (which) f.host_deinitialize(&p);
  which = nullptr;
}

// A counter that this chip lacks is left out: each is first added to a host that is only there to say so.
int CounterSession::State::column_of(std::string_view counter, void* trial) {
  if (counter.empty()) return -1;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == counter) return static_cast<int>(i);
  const char* name = counter.data();  // of a literal: it ends in 0
  auto p = made<HostMetrics>();
  p.host = trial;
  p.names = &name;
  p.count = 1;
  if (f.host_add(&p) != 0) return -1;
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

bool CounterSession::State::plan_passes() {
  void* trial = new_host();
  if (!trial) return false;
  for (const Metric& metric : kMetrics) {
    const int over = column_of(metric.over, trial), own = column_of(metric.counter, trial);
    columns.emplace_back(metric.over.empty() || over >= 0 ? own : -1, over);
  }
  end_host(trial);
  // All in one act: what is added by itself gets passes by itself.
  auto all = made<HostMetrics>();
  all.host = host = new_host();
  all.names = names.data();
  all.count = names.size();
  if (!host || !call(f.host_add, all)) return false;
  auto size = made<HostImageSize>();
  size.host = host;
  if (!call(f.host_image_size, size)) return false;
  image.resize(size.image_bytes);
  auto get = made<HostImage>();
  get.host = host;
  get.image_bytes = image.size();
  get.image = image.data();
  auto count = made<HostPasses>();
  count.image_bytes = image.size();
  count.image = image.data();
  if (!call(f.host_image, get) || !call(f.host_passes, count)) return false;
  passes = count.passes;
  return true;
}

bool CounterSession::State::enable(ReplayMode replay) {
  auto on = made<RangeEnable>();
  on.context = current_context();
  if (!call(f.enable, on)) return false;
  profiler = on.profiler;
  auto size = made<RangeDataSize>();
  size.profiler = profiler;
  size.names = names.data();
  size.count = names.size();
  size.most_ranges = most;
  size.most_nodes = static_cast<uint32_t>(most);
  if (!call(f.data_size, size)) return false;
  data.resize(size.data_bytes);
  auto initial = made<RangeDataInitialize>();
  initial.profiler = profiler;
  initial.data_bytes = data.size();
  initial.data = data.data();
  auto how = made<RangeConfigure>();
  how.profiler = profiler;
  how.image_bytes = image.size();
  how.image = image.data();
  how.data_bytes = data.size();
  how.data = data.data();
  how.replay = replay == ReplayMode::by_cupti ? 2 : 3;
  how.most_ranges = most;
  how.target_level = replay == ReplayMode::by_cupti ? 0 : 1;
  return call(f.data_initialize, initial) && call(f.configure, how);
}

CounterSession::State::~State() {
  auto object = made<RangeObject>();
  object.profiler = profiler;
  if (profiler) f.disable(&object);
  end_host(host);
  auto end = made<Initialize>();
  if (initialized) f.deinitialize(&end);
}

CounterSession::CounterSession() : state_(std::make_unique<State>()) {}
CounterSession::~CounterSession() = default;

Result<std::unique_ptr<CounterSession>> CounterSession::open(const std::string& library, int device,
                                                             size_t most, ReplayMode replay) {
  auto found = cupti_functions<CounterFunctions>(library, "this CUPTI reads no counters of single kernels");
  if (!found) return found.error();
  std::unique_ptr<CounterSession> session(new CounterSession);
  session->state_->f = found.take();
  if (Status failed = session->state_->prepare(device, most, replay)) return *failed;
  return session;
}

size_t CounterSession::passes() const {
  return state_->passes;
}

Status CounterSession::begin_pass() {
  auto p = made<RangeObject>();
  p.profiler = state_->profiler;
  if (state_->call(state_->f.start, p)) return {};
  return explained(state_->f.library, state_->failed, "CUPTI does not begin to count");
}

Result<bool> CounterSession::end_pass() {
  auto p = made<RangeStop>();
  p.profiler = state_->profiler;
  if (!state_->call(state_->f.stop, p))
    return explained(state_->f.library, state_->failed, "CUPTI does not end to count");
  return p.all_passes != 0;
}

Result<Counted> CounterSession::read() {
  State& s = *state_;
  auto decode = made<RangeDecode>();
  decode.profiler = s.profiler;
  auto count = made<RangeCount>();
  count.data = s.data.data();
  count.data_bytes = s.data.size();
  Counted out;
  if (s.call(s.f.decode, decode)) s.call(s.f.count, count);
  std::vector<double> values(s.names.size());
  for (size_t range = 0; range < count.ranges && !s.failed; ++range) {
    auto p = made<HostEvaluate>();
    p.host = s.host;
    p.data = s.data.data();
    p.data_bytes = s.data.size();
    p.range = range;
    p.names = s.names.data();
    p.count = s.names.size();
    p.values = values.data();
    if (!s.call(s.f.host_evaluate, p)) break;
    std::vector<double>& kernel = out.kernels.emplace_back();
    for (size_t i = 0; i < kMetrics.size(); ++i) {
      const auto [own, over] = s.columns[i];
      double value = own >= 0 ? values[static_cast<size_t>(own)] : std::numeric_limits<double>::quiet_NaN();
      // share = counter / over, in percent where the metric's unit is
      if (own >= 0 && over >= 0) value /= values[static_cast<size_t>(over)];
      kernel.push_back(over >= 0 && kMetrics[i].unit == "%" ? value * 100 : value);
    }
  }
  if (s.failed) return explained(s.f.library, s.failed, "CUPTI does not give what it counted");
  out.passes = s.passes;
  out.dropped = decode.dropped;
  return out;
}

}  // namespace vitrine::profiler
