#include "profiler/cupti/sampling.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include "profiler/cupti/library.h"
#include "profiler/cupti/params.h"

namespace vitrine::profiler {

using namespace params;

namespace {

// X(member, exported name, type of its argument)
#define VITRINE_SAMPLING(X)                                                   \
  X(enable, "cuptiPCSamplingEnable", SamplingContext)                         \
  X(disable, "cuptiPCSamplingDisable", SamplingContext)                       \
  X(start, "cuptiPCSamplingStart", SamplingContext)                           \
  X(stop, "cuptiPCSamplingStop", SamplingContext)                             \
  X(configure, "cuptiPCSamplingSetConfigurationAttribute", SamplingConfigure) \
  X(get, "cuptiPCSamplingGetData", SamplingData)                              \
  X(reason_count, "cuptiPCSamplingGetNumStallReasons", SamplingReasonCount)   \
  X(reasons, "cuptiPCSamplingGetStallReasons", SamplingReasons)

struct SamplingFunctions {
#define X(member, name, type) CuptiResult (*member)(type*) = nullptr;
  VITRINE_SAMPLING(X)
#undef X
  void* library = nullptr;

  template <class Take>
  void each(Take take) {
#define X(member, name, type) take(member, name);
    VITRINE_SAMPLING(X)
#undef X
  }
};

constexpr size_t kReasonBytes = 128;  // of a name
constexpr size_t kRoom = 8192;        // instructions that are fetched at once
constexpr int kMostFetches = 256;
constexpr int32_t kKernelByKernel = 2;

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard" -> "long_scoreboard". Those that end in "_not_issued"
// count a part of the same samples again: "".
std::string short_reason(std::string_view name) {
  constexpr std::string_view kStalled = "stalled_", kAgain = "_not_issued";
  if (name.ends_with(kAgain)) return "";
  const size_t at = name.find(kStalled);
  return std::string(at == std::string_view::npos ? name : name.substr(at + kStalled.size()));
}

// Memory that CUPTI writes samples to.
class SampleBuffer {
 public:
  SampleBuffer(size_t room, size_t reasons) : counts_(room * reasons), pcs_(room) {
    for (size_t i = 0; i < room; ++i) {
      pcs_[i].bytes = kBytes<SampledPc>;
      pcs_[i].counts = counts_.data() + i * reasons;
    }
    clear();
  }
  void clear() {
    data_ = {};
    data_.bytes = kBytes<Sampled>;
    data_.room = pcs_.size();
    data_.pc = pcs_.data();
  }
  Sampled* data() { return &data_; }

 private:
  std::vector<StallCount> counts_;
  std::vector<SampledPc> pcs_;
  Sampled data_;
};

}  // namespace

struct SamplingSession::State {
  SamplingFunctions f;
  void* context = nullptr;
  bool enabled = false;
  std::map<uint32_t, std::string> reasons;
  std::unique_ptr<SampleBuffer> last, fetched;  // last: what CUPTI still has when it is switched off
  Samples out;
  CuptiResult failed = 0;

  template <class T>
  bool call(CuptiResult (*function)(T*), T& argument) {
    argument.context = context;
    if (!failed) failed = function(&argument);
    return failed == 0;
  }
  Status prepare(uint32_t period);
  bool learn_reasons();
  bool configure(uint32_t period);
  void take(SampleBuffer& from);
  void disable();
  ~State() { disable(); }
};

Status SamplingSession::State::prepare(uint32_t period) {
  context = current_context();
  if (!context) return Error{"no CUDA context is current on this thread", "Call something on the GPU first."};
  auto on = made<SamplingContext>();
  enabled = call(f.enable, on);
  if (enabled && learn_reasons() && configure(period)) return {};
  return explained(f.library, failed, "CUPTI does not sample this GPU");
}

bool SamplingSession::State::learn_reasons() {
  size_t count = 0;
  auto how_many = made<SamplingReasonCount>();
  how_many.count = &count;
  if (!call(f.reason_count, how_many)) return false;
  std::vector<uint32_t> index(count);
  std::vector<char> text(count * kReasonBytes);
  std::vector<char*> names(count);
  for (size_t i = 0; i < count; ++i) names[i] = text.data() + i * kReasonBytes;
  auto p = made<SamplingReasons>();
  p.count = count;
  p.index = index.data();
  p.names = names.data();
  if (!call(f.reasons, p)) return false;
  for (size_t i = 0; i < count; ++i) reasons[index[i]] = short_reason(names[i]);
  last = std::make_unique<SampleBuffer>(kRoom, count);
  fetched = std::make_unique<SampleBuffer>(kRoom, count);
  return true;
}

bool SamplingSession::State::configure(uint32_t period) {
  SamplingOption options[4];
  options[0].kind = SamplingOption::kMode;
  options[0].value.number = kKernelByKernel;
  options[1].kind = SamplingOption::kPeriod;
  options[1].value.number = period;
  options[2].kind = SamplingOption::kStartStop;
  options[2].value.number = 1;
  options[3].kind = SamplingOption::kBuffer;
  options[3].value.pointer = last->data();
  auto p = made<SamplingConfigure>();
  p.count = std::size(options);
  p.options = options;
  return call(f.configure, p);
}

void SamplingSession::State::take(SampleBuffer& from) {
  Sampled& data = *from.data();
  out.total += static_cast<int64_t>(data.samples);
  out.dropped += static_cast<int64_t>(data.dropped);
  out.unknown += static_cast<int64_t>(data.of_others);
  for (size_t i = 0; i < data.pcs; ++i) {
    SampledPc& pc = data.pc[i];
    for (size_t k = 0; k < pc.reasons; ++k) {
      const auto reason = reasons.find(pc.counts[k].reason);
      if (reason == reasons.end() || reason->second.empty() || !pc.counts[k].samples) continue;
      out.rows.push_back({pc.function ? pc.function : "", pc.cubin, pc.correlation,
                          static_cast<int64_t>(pc.offset), reason->second,
                          static_cast<int64_t>(pc.counts[k].samples)});
    }
  }
  from.clear();
}

void SamplingSession::State::disable() {
  if (!enabled) return;
  auto off = made<SamplingContext>();
  off.context = context;
  f.disable(&off);
  enabled = false;
}

SamplingSession::SamplingSession() : state_(std::make_unique<State>()) {}
SamplingSession::~SamplingSession() = default;

Result<std::unique_ptr<SamplingSession>> SamplingSession::open(const std::string& library, uint32_t period) {
  auto found = cupti_functions<SamplingFunctions>(library, "this CUPTI does not sample instructions");
  if (!found) return found.error();
  std::unique_ptr<SamplingSession> session(new SamplingSession);
  session->state_->f = found.take();
  if (Status failed = session->state_->prepare(period)) return *failed;
  return session;
}

Status SamplingSession::start() {
  auto p = made<SamplingContext>();
  if (state_->call(state_->f.start, p)) return {};
  return explained(state_->f.library, state_->failed, "CUPTI does not begin to sample");
}

Result<Samples> SamplingSession::stop() {
  State& s = *state_;
  auto end = made<SamplingContext>();
  s.call(s.f.stop, end);
  for (int i = 0; i < kMostFetches && !s.failed; ++i) {
    auto p = made<SamplingData>();
    p.data = s.fetched->data();
    if (!s.call(s.f.get, p)) break;
    const Sampled& got = *s.fetched->data();
    const bool more = got.left > 0 && got.pcs > 0;
    s.take(*s.fetched);
    if (!more) break;
  }
  s.disable();
  s.take(*s.last);
  if (s.failed) return explained(s.f.library, s.failed, "CUPTI does not give its samples");
  return std::move(s.out);
}

}  // namespace vitrine::profiler
