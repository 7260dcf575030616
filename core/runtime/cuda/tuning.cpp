#include "core/runtime/cuda/tuning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <numeric>

#include "core/runtime/cuda/driver.h"
#include "core/runtime/kernels/object_cache.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/errors_aside.h"
#include "core/torch_api/library/cublaslt.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/library/lt_call.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime::cuda {

namespace bridge = torch_api;

namespace {

constexpr int kTurns = 9;                                // timed calls of each way, after one that is not
constexpr int kEnoughTurns = 2;                          // of a way that takes half as long again or more
constexpr int64_t kLongNs = 100'000'000;                 // of one way's calls together: no more of them
constexpr int64_t kCacheBytes = int64_t{256} << 20;      // more than any GPU's cache holds
constexpr double kGain = 0.97;                           // less is within what measurements differ by
constexpr int64_t kPatternNumbers = (int64_t{1} << 20);  // different numbers that tensors are filled from

ir::Device device_of(const codegen::Program& program, const codegen::Step& step) {
  return program.buffers[static_cast<size_t>(step.outs.at(0))].type.device;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Memory of its own for the buffers of one step.
class Room {
 public:
  Room(const codegen::Program& program, ir::Device device)
      : program_(program), device_(device), handles_(program.buffers.size(), nullptr) {}
  ~Room() {
    for (bridge::Handle h : handles_)
      if (h) bridge::release(h);
    for (bridge::Handle h : {cache_, pattern_})
      if (h) bridge::release(h);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // "" or why there is none.
  std::string open(const std::vector<int32_t>& buffers) {
    try {
      return take(buffers);
    } catch (const InternalError&) {  // PyTorch's allocator
      bridge::PendingError dropped;
      return "there is not enough memory to try its ways";
    }
  }
  const bridge::Handle* handles() const { return handles_.data(); }
  bridge::Handle handle(int32_t b) const { return handles_[static_cast<size_t>(b)]; }
  // As a step finds the cache: what the steps before it made is there, weights and inputs are not.
  bool prepare() const {
    bool ok = bridge::zero(cache_);
    for (size_t b = 0; b < handles_.size() && ok; ++b) {
      if (!handles_[b] || !is_made(program_.buffers[b])) continue;
      ir::TensorType type = program_.buffers[b].type;
      type.offset = 0;
      ok = fill(handles_[b], type);
    }
    return ok;
  }
  // What failed last; the error is taken.
  static std::string reason() {
    bridge::PendingError error;
    const std::string text = error.text();
    return text.empty() ? "the GPU did not answer" : first_line(text);
  }

 private:
  bool is_made(const codegen::Buffer& buffer) const {
    if (buffer.view_of >= 0) return is_made(program_.buffers[static_cast<size_t>(buffer.view_of)]);
    return buffer.kind != codegen::Buffer::Kind::input && buffer.kind != codegen::Buffer::Kind::constant;
  }
  std::string take(const std::vector<int32_t>& buffers) {
    ir::TensorType bytes = ir::TensorType::contiguous(ir::DType::u8, {kCacheBytes});
    bytes.device = device_;
    if (!(cache_ = bridge::empty_strided(bytes)) || !make_pattern()) return reason();
    for (int32_t b : buffers) {
      bridge::Handle& handle = handles_[static_cast<size_t>(b)];
      if (handle) continue;
      ir::TensorType type = program_.buffers[static_cast<size_t>(b)].type;
      type.offset = 0;
      if (!(handle = bridge::empty_strided(type)) || !fill(handle, type)) return reason();
    }
    return "";
  }
  // Ordinary numbers: zeros may be faster to compute with.
  bool make_pattern() {
    const ir::TensorType type = ir::TensorType::contiguous(ir::DType::f32, {kPatternNumbers});
    ir::TensorType there = type;
    there.device = device_;
    pattern_ = bridge::empty_strided(there);
    bridge::Handle here = pattern_ ? bridge::empty_strided(type) : nullptr;
    if (!here) return false;
    auto* numbers = static_cast<float*>(bridge::data(here));
    uint32_t state = 1;
    for (int64_t i = 0; i < kPatternNumbers; ++i) {
      state = state * 1664525U + 1013904223U;
      numbers[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;  // in [-1, 1)
    }
    const bool ok = bridge::copy_into(pattern_, here);
    bridge::release(here);
    return ok;
  }
  // Integers are places and classes: zero is one of each.
  bool fill(bridge::Handle handle, const ir::TensorType& type) const {
    if (!ir::is_float(type.dtype)) return bridge::zero(handle);
    ir::TensorType from = type;
    from.dtype = ir::DType::f32;
    int64_t left = kPatternNumbers - 1;
    for (size_t d = type.sizes.size(); d-- > 0;) {
      const int64_t steps = std::max<int64_t>(1, type.sizes[d] - 1);
      const int64_t fits = left / steps / static_cast<int64_t>(d + 1);
      from.strides[d] = type.sizes[d] > 1 ? std::min<int64_t>(fits, d % 2 ? 1 : 37) : 0;
      left -= from.strides[d] * (type.sizes[d] - 1);
    }
    bridge::Handle numbers = bridge::as_strided(pattern_, from);
    const bool ok = numbers && bridge::copy_into(handle, numbers);
    if (numbers) bridge::release(numbers);
    return ok;
  }

  const codegen::Program& program_;
  const ir::Device device_;
  std::vector<bridge::Handle> handles_;  // by buffer, owned
  bridge::Handle cache_ = nullptr, pattern_ = nullptr;
};

struct TimedCandidate {
  int32_t candidate = 0;
  std::string name;
  std::function<bool()> call;  // false: a Python error may be set
};

// Of several calls, in ns: about half of them lie between low and high. 0: it failed.
struct TimeSpread {
  int64_t low = 0, median = 0, high = 0;
};

// first: of the first way, whose time is to be beaten; a way whose first calls all take far longer gets no
// more, nor does one that takes long.
TimeSpread timed(const Room& room, Timer& timer, void* stream, const std::function<bool()>& call,
                 const TimeSpread& first) {
  std::vector<int64_t> times;
  for (int turn = 0; turn <= kTurns; ++turn) {
    if (!room.prepare()) return {};
    const int64_t ns = timer.time(stream, call);
    if (!ns) return {};
    if (turn > 0) times.push_back(ns);
    if (turn > kEnoughTurns && std::accumulate(times.begin(), times.end(), int64_t{0}) > kLongNs) break;
    if (turn == kEnoughTurns && first.median &&
        2 * *std::min_element(times.begin(), times.end()) > 3 * first.median)
      break;
  }
  std::sort(times.begin(), times.end());
  const size_t n = times.size();
  return {times[n / 4], times[n / 2], times[n - 1 - n / 4]};
}

class Trial {
 public:
  Trial(const codegen::Program& program, const codegen::Step& step, Ways ways,
        const std::vector<CompiledKernel>& kernels)
      : program_(program),
        step_(step),
        ways_(ways),
        kernels_(kernels),
        room_(program, device_of(program, step)) {}

  codegen::ProductChoice run(std::vector<std::string>& dropped) {
    const bridge::ErrorsAside errors;
    codegen::ProductChoice choice;
    choice.source = "measured";
    stream_ = bridge::current_stream(device_of(program_, step_).index);
    if (is_capturing(stream_)) return choice;
    std::vector<int32_t> all = step_.buffers;
    all.insert(all.end(), step_.outs.begin(), step_.outs.end());
    if (ways_ == Ways::instead)
      for (const codegen::Alternative& a : step_.instead)
        all.insert(all.end(), a.buffers.begin(), a.buffers.end());
    if (std::string why = room_.open(all); !why.empty()) {
      dropped.push_back(step_.label + " was not tuned: " + why);
      return choice;
    }
    Timer timer(device_of(program_, step_).index);
    std::vector<TimeSpread> spreads;
    const bool shaped = ways_ == Ways::shapes, fused = !shaped && is_kernel();
    for (const TimedCandidate& way : shaped ? shapes() : fused ? followed() : calls()) {
      const TimeSpread ns =
          timed(room_, timer, stream_, way.call, spreads.empty() ? TimeSpread{} : spreads.front());
      if (ns.median) {
        choice.times.push_back(
            {way.candidate, ns.median, fused && !choice.times.empty(), shaped ? way.name : ""});
        spreads.push_back(ns);
      } else if (const std::string why = Room::reason(); why.find("cuBLASLt") == std::string::npos) {
        dropped.push_back(step_.label + ", " + way.name + ", was left out of the choice: " + why);
      }
    }
    if (choice.times.size() < 2) choice.times.clear();
    choice.candidate = chosen(choice.times, spreads);
    return choice;
  }

 private:
  // The least, if it is less than the first's by more than measurements differ, of which there are few: most
  // of its own are below most of the first's.
  static int32_t chosen(const std::vector<codegen::ProductTime>& times,
                        const std::vector<TimeSpread>& spreads) {
    const auto least = std::min_element(times.begin(), times.end(),
                                        [](const auto& a, const auto& b) { return a.ns < b.ns; });
    if (least == times.end()) return 0;
    const auto& first = times.front();
    const TimeSpread& its = spreads[static_cast<size_t>(least - times.begin())];
    const bool gains = static_cast<double>(least->ns) < kGain * static_cast<double>(first.ns) &&
                       its.high < spreads.front().low;
    return gains ? least->candidate : first.candidate;
  }
  std::vector<TimedCandidate> shapes() {
    std::vector<TimedCandidate> out;
    for (const codegen::Alternative& a : step_.shapes)
      out.push_back({a.candidate, a.shape, [this, &a] { return launch(a); }});
    return out;
  }
  bool is_kernel() const { return step_.kind == codegen::Step::Kind::kernel; }
  // The kernel that follows a product, and both in one.
  std::vector<TimedCandidate> followed() {
    std::vector<TimedCandidate> out;
    const codegen::Alternative apart{0, step_.kernel, "", step_.buffers, step_.numbers};
    out.push_back({0, step_.label, [this, apart] { return launch(apart); }});
    for (const codegen::Alternative& a : step_.instead)
      out.push_back({a.candidate, name_of(a.candidate), [this, &a] { return launch(a); }});
    return out;
  }
  static std::string name_of(int32_t candidate) {
    return std::string(codegen::product_candidates()[static_cast<size_t>(candidate)].name);
  }
  bool launch(const codegen::Alternative& a) const {
    std::vector<void*> pointers, addresses;
    for (int32_t b : a.buffers) pointers.push_back(bridge::data(room_.handle(b)));
    for (int64_t number : a.numbers) pointers.push_back(std::bit_cast<void*>(number));
    if (program_.kernels[static_cast<size_t>(a.kernel)].draws >= 0) pointers.resize(pointers.size() + 2);
    for (void*& p : pointers) addresses.push_back(&p);
    const GpuFunction* function = kernels_.at(static_cast<size_t>(a.kernel)).loaded.cuda.get();
    const codegen::Grid& grid = program_.kernels[static_cast<size_t>(a.kernel)].grid;
    if (!function) return false;
    const std::string failed = function->launch(grid.blocks, grid.threads, stream_, addresses.data());
    if (!failed.empty()) bridge::set_python_error(failed);
    return failed.empty();
  }

  // PyTorch's own call first. One that cuBLASLt cannot make fails, where the plan would fall back.
  std::vector<TimedCandidate> calls() {
    auto slot = [this](ir::Ref r) {
      for (const auto& [value, buffer] : program_.value_buffer)
        if (value == r) return buffer;
      throw InternalError("a product reads a value that no buffer holds");
    };
    std::vector<TimedCandidate> out;
    auto add = [&](int32_t candidate, std::unique_ptr<bridge::LibraryCall> call) {
      const std::string name = name_of(candidate);
      if (!call || !call->into_out()) return;
      std::shared_ptr<bridge::LibraryCall> kept = std::move(call);
      out.push_back({candidate, name, [this, kept] {
                       bridge::Handle given = room_.handle(step_.outs.at(0));
                       try {
                         return kept->call(room_.handles(), &given);
                       } catch (const std::exception& refused) {  // no memory for what it works in
                         bridge::set_python_error(refused.what());
                         return false;
                       }
                     }});
    };
    add(0, bridge::LibraryCall::make(step_.node, slot));
    for (const codegen::Alternative& a : step_.instead) {
      if (a.kernel >= 0) {
        out.push_back({a.candidate, name_of(a.candidate), [this, &a] { return launch(a); }});
        continue;
      }
      const int algorithm = codegen::product_candidates()[static_cast<size_t>(a.candidate)].algorithm;
      add(a.candidate, bridge::make_lt_call(step_.node, slot, static_cast<size_t>(algorithm - 1), nullptr));
    }
    return out;
  }

  const codegen::Program& program_;
  const codegen::Step& step_;
  const Ways ways_;
  const std::vector<CompiledKernel>& kernels_;
  Room room_;
  void* stream_ = nullptr;
};

}  // namespace

codegen::ProductChoice tune(const codegen::Program& program, const codegen::Step& step, Ways ways,
                            const std::vector<CompiledKernel>& kernels, std::vector<std::string>& dropped) {
  return Trial(program, step, ways, kernels).run(dropped);
}

void join_fused(codegen::ProductChoice& product, const codegen::ProductChoice& following) {
  if (product.times.empty() || following.times.size() < 2) return;
  int64_t now = 0;
  for (codegen::ProductTime& time : product.times) {
    time.ns += following.times[0].ns;
    if (time.candidate == product.candidate) now = time.ns;
  }
  for (size_t i = 1; i < following.times.size(); ++i) {
    const codegen::ProductTime& both = following.times[i];
    product.times.push_back(both);
    if (static_cast<double>(both.ns) < kGain * static_cast<double>(now))
      product.candidate = both.candidate, product.fused = true, now = both.ns;
  }
}

Result<std::string> tuning_machine(int device) {
  auto gpu = identity(device);
  if (!gpu) return gpu;
  return gpu.value() + " cuBLASLt " + std::to_string(bridge::lt_version());
}

std::string tuning_work(const codegen::Program& program, const codegen::Step& step, Ways ways) {
  const bool shaped = ways == Ways::shapes;
  std::string out = shaped ? "" : step.node.op;
  for (const auto& [name, value] : step.node.kwargs)
    if (value.is<double>() || value.is<int64_t>() || value.is<bool>())
      out += " " + name + (value == ir::Arg(true) ? " true" : "");
  for (const std::vector<int32_t>* list : {&step.buffers, &step.outs})
    for (int32_t b : *list) out += " " + program.buffers[static_cast<size_t>(b)].type.text();
  const auto kernel = [&](int32_t k) {
    return "\n" + ObjectCache::key(program.kernels[static_cast<size_t>(k)].text);
  };
  if (shaped) {
    for (const codegen::Alternative& a : step.shapes) out += kernel(a.kernel);
    return out;
  }
  out += " precision " + std::to_string(bridge::global_state().matmul_precision);
  for (const codegen::Alternative& a : step.instead)
    out += " " + std::to_string(a.candidate) + (a.kernel >= 0 ? kernel(a.kernel) : "");
  if (step.kind == codegen::Step::Kind::kernel) out += kernel(step.kernel);
  return out;
}

}  // namespace vitrine::runtime::cuda
