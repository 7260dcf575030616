#include "core/runtime/held_weight.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/large_memory.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_api;

namespace {

uint64_t sample_of(const void* data, const ir::TensorType& type) {
  constexpr int64_t kCount = 64;
  if (type.numel() == 0) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < type.sizes.size(); ++d) last += (type.sizes[d] - 1) * type.strides[d];
  const int64_t bytes = ir::dtype_bytes(type.dtype);
  uint64_t sample = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + i * last / (kCount - 1) * bytes,
                static_cast<size_t>(std::min<int64_t>(bytes, sizeof word)));
    sample = sample * 0x9e3779b97f4a7c15U + word + 1;
  }
  return sample;
}

}  // namespace

std::optional<SeenWeight> SeenWeight::of(std::optional<uint32_t> version, const void* data,
                                         const ir::TensorType& type) {
  if (!version) return {};
  return SeenWeight{data, *version, sample_of(data, type)};
}

HeldWeight::HeldWeight(int64_t values, int32_t buffer)
    : values_(reinterpret_cast<float*>(allocate_large(static_cast<size_t>(values) * sizeof(float)))),
      buffer_(buffer) {}

void HeldWeight::Free::operator()(float* p) const {
  std::free(p);
}

bool HeldWeight::is_of(std::optional<uint32_t> version, const void* data, const ir::TensorType& type) {
  const std::optional<SeenWeight> now = SeenWeight::of(version, data, type);
  const bool same = now && now == seen_;
  seen_ = now;
  return same;
}

HeldResults::HeldResults(const BufferTable& table, std::vector<int32_t> weights,
                         std::vector<const HeldResults*> before, std::vector<int32_t> outs)
    : table_(table), weights_(std::move(weights)), outs_(std::move(outs)), before_(std::move(before)) {}

HeldResults::~HeldResults() {
  forget();
}

void HeldResults::forget() {
  seen_.reset();
  for (bridge::Handle h : std::exchange(kept_, {})) bridge::release(h);
}

std::optional<std::vector<SeenWeight>> HeldResults::seen_now(CallState& state) const {
  std::vector<SeenWeight> out;
  for (int32_t b : weights_) {
    const bridge::Handle weight = state.handle(b);
    auto seen =
        SeenWeight::of(bridge::version(weight), state.pointer(b), table_.rows[static_cast<size_t>(b)].type);
    if (!seen) return {};
    out.push_back(*seen);
  }
  for (const HeldResults* each : before_) out.push_back({each, each->made_, 0});
  return out;
}

bool HeldResults::give(CallState& state) {
  if (!seen_ || seen_now(state) != seen_) return false;
  for (size_t i = 0; i < outs_.size(); ++i) {
    const bridge::Handle own = bridge::as_strided(kept_[i], table_.rows[static_cast<size_t>(outs_[i])].type);
    if (!own) {
      const bridge::PendingError dropped;  // the step runs as if nothing were kept
      return false;
    }
    state.take_handle(outs_[i], own);
  }
  return true;
}

bool HeldResults::keep(CallState& state) {
  forget();
  ++made_;
  for (int32_t b : outs_) {
    const bridge::Handle made = state.handle(b);
    const bridge::Handle own =
        made ? bridge::as_strided(made, table_.rows[static_cast<size_t>(b)].type) : nullptr;
    if (!own) return false;
    kept_.push_back(own);
  }
  seen_ = seen_now(state);
  return true;
}

}  // namespace vitrine::runtime
