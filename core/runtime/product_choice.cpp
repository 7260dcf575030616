#include "core/runtime/product_choice.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/codegen/schedule/size_memory.h"
#include "core/runtime/choice_store.h"
#include "core/runtime/cuda/tuning.h"
#include "core/runtime/scratch.h"
#include "core/runtime/small_product.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_api;

namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;  // larger operands are not allocated to try a product
constexpr int64_t kBudgetNs = 8'000'000;            // of the timed calls of one product
constexpr int kLeastTurns = 3, kMostTurns = 24;
constexpr int64_t kLongNs = 8 * kBudgetNs;  // enough, however the times scatter
constexpr int64_t kFarTooLongNs = 60 * kBudgetNs;
constexpr double kSame = 1.06;
constexpr int64_t kHopeless = 2;

struct Invocation {
  KernelFunction function;
  void* const* arguments;
};

void run_tried_chunk(int64_t begin, int64_t end, void* context) {
  auto* call = static_cast<Invocation*>(context);
  call->function(call->arguments, begin, end);
}

// Memory of their own for buffers of a program, and its kernels on it.
class Bench {
 public:
  Bench(const codegen::Program& program, const std::vector<CompiledKernel>& kernels)
      : program_(program), kernels_(kernels), handles_(program.buffers.size(), nullptr) {}
  ~Bench() {
    for (bridge::Handle h : handles_)
      if (h) bridge::release(h);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // false: they are too large to be allocated for a trial; no error is left set.
  bool allocate(const std::vector<int32_t>& buffers) {
    for (int32_t b : buffers)
      if (!handles_[static_cast<size_t>(b)]) bytes_ += program_.buffers[static_cast<size_t>(b)].type.bytes();
    if (bytes_ > kMostBytes) return false;
    for (int32_t b : buffers) {
      auto i = static_cast<size_t>(b);
      if (handles_[i]) continue;
      ir::TensorType type = program_.buffers[i].type;
      type.offset = 0;
      try {
        handles_[i] = bridge::empty_strided(type);
      } catch (const InternalError&) {  // PyTorch's allocator refuses
        return false;
      }
      fill(bridge::data(handles_[i]), type);
    }
    return true;
  }
  bridge::Handle* handles() { return handles_.data(); }
  void run(int32_t kernel, const std::vector<int32_t>& buffers, const std::vector<ir::Sym>& given) {
    const std::vector<int64_t> numbers(given.begin(), given.end());
    std::vector<void*> arguments;
    for (int32_t b : buffers) arguments.push_back(bridge::data(handles_[static_cast<size_t>(b)]));
    if (!numbers.empty()) arguments.push_back(const_cast<int64_t*>(numbers.data()));
    const auto at = static_cast<size_t>(kernel);
    int64_t ready = 1;
    if (program_.kernels[at].held > 0) {
      held_.resize(static_cast<size_t>(
          std::max<int64_t>(program_.kernels[at].held, static_cast<int64_t>(held_.size()))));
      arguments.push_back(held_.data());
      arguments.push_back(&ready);
    }
    if (program_.kernels[at].scratch > 0) {
      scratch_.reserve(program_.kernels[at].scratch);
      arguments.push_back(scratch_.values());
    }
    Invocation call{kernels_.at(at).loaded.function, arguments.data()};
    bridge::parallel_for(program_.kernels[at].work, std::max<int64_t>(1, program_.kernels[at].grain),
                         run_tried_chunk, &call);
  }

 private:
  // Ordinary numbers: zeros and what memory happens to hold may run faster or slower.
  static void fill(void* data, const ir::TensorType& type) {
    int64_t reach = 1;
    for (size_t d = 0; d < type.sizes.size(); ++d) reach += (type.sizes[d] - 1) * type.strides[d];
    if (type.dtype != ir::DType::f32) {
      std::memset(data, 0, static_cast<size_t>(reach * ir::dtype_bytes(type.dtype)));
      return;
    }
    for (int64_t i = 0; i < reach; ++i)
      static_cast<float*>(data)[i] = static_cast<float>(i % 61) * 0.03125F - 0.9375F;
  }

  const codegen::Program& program_;
  const std::vector<CompiledKernel>& kernels_;
  std::vector<bridge::Handle> handles_;  // by buffer, owned
  std::vector<float> held_;              // what kernels would have kept of a weight
  Scratch scratch_;
  int64_t bytes_ = 0;
};

// The least times of who computes something.
struct Least {
  int64_t first = 0, second = 0;  // ns; 0: not yet
  void take(int64_t ns) {
    if (!first || ns < first)
      second = first, first = ns;
    else if (!second || ns < second)
      second = ns;
  }
  // Seen twice: no other process stood in the way.
  bool sure() const { return second && static_cast<double>(second) < kSame * static_cast<double>(first); }
};

// Whether more turns could change who is the fastest.
bool settled(const std::vector<Least>& sides) {
  int64_t best = sides.front().first;
  for (const Least& side : sides) best = std::min(best, side.first);
  return std::all_of(sides.begin(), sides.end(),
                     [&](const Least& side) { return side.first > kHopeless * best || side.sure(); });
}

// Who computes it, called in turn: the least time of each. Empty: one of them cannot be called.
std::vector<int64_t> least_times(const std::vector<std::function<bool()>>& sides) {
  std::vector<Least> least(sides.size());
  int64_t began = monotonic_ns();
  for (int turn = 0; turn < kMostTurns; ++turn) {
    for (size_t i = 0; i < sides.size(); ++i) {
      const int64_t start = monotonic_ns();
      if (!sides[i]()) {
        bridge::PendingError dropped;
        return {};
      }
      if (turn > 0) least[i].take(std::max<int64_t>(monotonic_ns() - start, 1));
    }
    if (turn == 0) began = monotonic_ns();  // pages, caches and the library's own set-up are paid
    const int64_t spent = monotonic_ns() - began;
    const bool enough = spent > kLongNs || (spent > kBudgetNs && settled(least));
    if ((turn >= kLeastTurns && enough) || (turn > 0 && spent > kFarTooLongNs)) break;
  }
  std::vector<int64_t> times;
  for (const Least& side : least) times.push_back(side.first);
  return times;
}

void choose_least(codegen::ProductChoice& choice) {
  const auto least = std::min_element(choice.times.begin(), choice.times.end(),
                                      [](const auto& a, const auto& b) { return a.ns < b.ns; });
  choice.candidate = least->candidate;
  choice.fused = least->fused;
}

// step: of the library, and kernels that would do the same. No times: it cannot be tried.
codegen::ProductChoice try_product(const codegen::Program& program, const codegen::Step& step,
                                   const std::vector<CompiledKernel>& kernels) {
  codegen::ProductChoice choice;
  choice.threads = bridge::num_threads();
  choice.source = "measured";
  Bench bench(program, kernels);
  auto slot = [&](ir::Ref r) {
    for (const auto& [value, buffer] : program.value_buffer)
      if (value.node == r.node && value.output == r.output) return buffer;
    throw InternalError("a product reads a value that no buffer holds");
  };
  auto library = bridge::LibraryCall::make(step.node, slot);
  if (!library || library->outs() != 1 || !bench.allocate(step.instead.at(0).buffers)) return choice;
  std::vector<std::function<bool()>> sides;
  sides.emplace_back([&] {
    if (library->into_out())
      return library->call(bench.handles(), &bench.handles()[static_cast<size_t>(step.outs.at(0))]);
    std::array<bridge::Handle, 4> made{};
    const bool ok = library->call(bench.handles(), made.data());
    for (bridge::Handle h : made)
      if (h) bridge::release(h);
    return ok;
  });
  for (const codegen::Alternative& a : step.instead)
    sides.emplace_back([&bench, &a] {
      bench.run(a.kernel, a.buffers, a.numbers);
      return true;
    });
  const std::vector<int64_t> times = least_times(sides);
  for (size_t i = 0; i < times.size(); ++i)
    choice.times.push_back({i ? step.instead[i - 1].candidate : 0, times[i]});
  if (!times.empty()) choose_least(choice);
  return choice;
}

// The same of a product that may be large: its like is tried, and the times are what they come to.
codegen::ProductChoice try_any_product(const codegen::Program& program, const codegen::Step& step,
                                       const std::vector<CompiledKernel>& kernels, const Processor& on) {
  codegen::ProductOptions how;
  how.threads = on.threads;
  how.any_size = on.any_size;
  auto small = small_product(program, step, kernels, on.lanes, how);
  if (!small) return try_product(program, step, kernels);
  codegen::ProductChoice choice = try_product(small->program, small->program.steps[0], small->kernels);
  for (codegen::ProductTime& time : choice.times)
    time.ns = static_cast<int64_t>(static_cast<double>(time.ns) / small->part);
  return choice;
}

// step: a kernel that follows a product, and one that computes both. The times are those of the two.
codegen::ProductChoice try_epilogue(const codegen::Program& program, const codegen::Step& step,
                                    const std::vector<CompiledKernel>& kernels) {
  codegen::ProductChoice choice;
  choice.threads = bridge::num_threads();
  choice.source = "measured";
  const codegen::Alternative& both = step.instead.at(0);
  Bench bench(program, kernels);
  if (!bench.allocate(step.buffers) || !bench.allocate(both.buffers)) return choice;
  const std::vector<int64_t> times = least_times({[&] {
                                                    bench.run(step.kernel, step.buffers, step.numbers);
                                                    return true;
                                                  },
                                                  [&] {
                                                    bench.run(both.kernel, both.buffers, both.numbers);
                                                    return true;
                                                  }});
  choice.times = {{0, times[0]}, {both.candidate, times[1], true}};
  choose_least(choice);
  return choice;
}

// Everything that the times of a step depend on, but for the machine.
std::string description(const codegen::Program& program, const codegen::Step& step) {
  auto kernel = [&](int32_t index, const std::vector<ir::Sym>& numbers) {
    std::string out = " " + ObjectCache::key(program.kernels[static_cast<size_t>(index)].text);
    for (int64_t number : numbers) out += " " + std::to_string(number);
    return out;
  };
  std::string out = step.node.op;
  if (step.kind == codegen::Step::Kind::kernel) out += " and" + kernel(step.kernel, step.numbers);
  for (const codegen::Alternative& a : step.instead)
    out += "\n" + std::to_string(a.candidate) + kernel(a.kernel, a.numbers);
  return out;
}

class Chooser {
 public:
  Chooser(const codegen::Program& program, const std::vector<CompiledKernel>& kernels,
          const CompileOptions& options, const Processor& processor, std::vector<std::string>& dropped)
      : program_(program),
        kernels_(kernels),
        options_(options),
        processor_(processor),
        dropped_(dropped),
        store_(options.cache_dir) {}

  codegen::ProductChoices run() {
    tune_all();
    for (const codegen::Step& step : program_.steps) {
      if (on_gpu(step)) continue;
      if (step.instead.empty()) continue;
      codegen::ProductChoice& choice = choices_[step.node.id];
      if (options_.products != "measured") {
        choice.candidate = step.instead[0].candidate;
        choice.fused = step.kind == codegen::Step::Kind::kernel;
        choice.source = "dictated";
      } else if (!chosen_before(step, choice)) {
        if (step.kind == codegen::Step::Kind::library)
          choice = tried(step);
        else if (!choice.times.empty())
          join(choice, tried(step));
      }
    }
    if (options_.sizes)
      for (const codegen::Step& step : program_.steps)
        if (auto made = choices_.find(step.node.id);
            made != choices_.end() && !step.instead.empty() && !on_gpu(step))
          options_.sizes->products.try_emplace(step.node.name, made->second);
    return std::move(choices_);
  }

 private:
  bool on_gpu(const codegen::Step& step) const {
    return !step.outs.empty() && program_.buffers[static_cast<size_t>(step.outs[0])].type.device.is_cuda();
  }
  // Libraries' algorithms first: they differ by more than shapes of a kernel.
  void tune_all() {
    for (const cuda::Ways ways : {cuda::Ways::instead, cuda::Ways::shapes})
      for (const codegen::Step& step : program_.steps)
        if (on_gpu(step)) tune(step, ways);
    if (untried_.empty()) return;
    constexpr size_t kNamed = 4;
    std::string names;
    for (size_t i = 0; i < untried_.size() && i < kNamed; ++i) names += (i ? ", " : "") + untried_[i];
    if (untried_.size() > kNamed) names += " and " + std::to_string(untried_.size() - kNamed) + " more";
    dropped_.push_back(names + (untried_.size() > 1 ? " were" : " was") + " not tuned: the " +
                       std::to_string(options_.tuning_seconds) +
                       " s of vitrine.config.autotune_seconds have been spent");
  }
  bool has_time() const {
    return !options_.tuning_ns || *options_.tuning_ns < options_.tuning_seconds * 1'000'000'000;
  }
  // From this program, from the store, or measured now; a kernel's is found by the node that it is named by.
  // A product comes before the kernel that follows it.
  void tune(const codegen::Step& step, cuda::Ways ways) {
    const bool shaped = ways == cuda::Ways::shapes;
    if ((shaped ? step.shapes : step.instead).empty()) return;
    if (options_.products != "measured") return shaped ? void() : dictate(step);
    if (!machine_) {
      auto machine =
          cuda::tuning_machine(program_.buffers[static_cast<size_t>(step.outs[0])].type.device.index);
      machine_ = machine ? machine.value() : "";
    }
    if (machine_->empty()) return;
    const std::string key = ChoiceStore::gpu_key(cuda::tuning_work(program_, step, ways), *machine_);
    auto [at, fresh] = known_.try_emplace(key);
    if (fresh) {
      if (auto kept = store_.find(key))
        at->second = std::move(*kept);
      else if (has_time())
        at->second = measured(step, ways, key);
      else
        untried_.push_back(step.label);
    }
    if (at->second.times.empty()) return;
    if (!shaped && step.kind == codegen::Step::Kind::kernel)
      cuda::join_fused(choices_[step.node.id], at->second);
    else
      choices_[shaped && step.shaped >= 0 ? step.shaped : step.node.id] = at->second;
  }
  // A kernel of ours where there is one.
  void dictate(const codegen::Step& step) {
    const auto own = std::find_if(step.instead.begin(), step.instead.end(),
                                  [](const codegen::Alternative& a) { return a.kernel >= 0; });
    if (own == step.instead.end()) return;
    const bool fused = step.kind == codegen::Step::Kind::kernel;
    codegen::ProductChoice& choice = choices_[step.node.id];
    choice.candidate = own->candidate, choice.fused = fused, choice.source = "dictated";
  }
  codegen::ProductChoice measured(const codegen::Step& step, cuda::Ways ways, const std::string& key) {
    const int64_t began = monotonic_ns();
    codegen::ProductChoice choice = cuda::tune(program_, step, ways, kernels_, dropped_);
    if (options_.tuning_ns) *options_.tuning_ns += monotonic_ns() - began;
    if (!choice.times.empty()) store_.insert(key, choice);
    return choice;
  }
  // For other sizes of one program the choice is that of the first.
  bool chosen_before(const codegen::Step& step, codegen::ProductChoice& choice) {
    if (!options_.sizes) return false;
    auto before = options_.sizes->products.find(step.node.name);
    if (before == options_.sizes->products.end() || before->second.times.empty()) return false;
    choice = before->second;
    return true;
  }
  // From this program, from the store, or measured now.
  codegen::ProductChoice tried(const codegen::Step& step) {
    const std::string key = ChoiceStore::key(description(program_, step), bridge::num_threads());
    auto [at, fresh] = known_.try_emplace(key);
    if (!fresh) return at->second;
    if (auto kept = store_.find(key)) return at->second = std::move(*kept);
    at->second = step.kind == codegen::Step::Kind::library
                     ? try_any_product(program_, step, kernels_, processor_)
                     : try_epilogue(program_, step, kernels_);
    if (!at->second.times.empty()) store_.insert(key, at->second);
    return at->second;
  }
  // Each way to compute the product takes its own time and the epilogue's; one kernel takes its own.
  static void join(codegen::ProductChoice& choice, const codegen::ProductChoice& epilogue) {
    if (epilogue.times.empty()) return;
    for (codegen::ProductTime& time : choice.times) time.ns += epilogue.times[0].ns;
    choice.times.push_back(epilogue.times[1]);
    choose_least(choice);
  }

  const codegen::Program& program_;
  const std::vector<CompiledKernel>& kernels_;
  const CompileOptions& options_;
  const Processor processor_;
  std::vector<std::string>& dropped_;
  const ChoiceStore store_;
  std::optional<std::string> machine_;  // of the GPU; "": it does not tell
  codegen::ProductChoices choices_;
  std::vector<std::string> untried_;                     // for want of time
  std::map<std::string, codegen::ProductChoice> known_;  // equal products are measured once
};

}  // namespace

codegen::ProductChoices choose_products(const codegen::Program& program,
                                        const std::vector<CompiledKernel>& kernels,
                                        const CompileOptions& options, const Processor& processor,
                                        std::vector<std::string>& dropped) {
  return Chooser(program, kernels, options, processor, dropped).run();
}

std::optional<std::vector<CompiledKernel>> kernels_of(const std::vector<codegen::Kernel>& wanted,
                                                      const std::vector<codegen::Kernel>& offered,
                                                      const std::vector<CompiledKernel>& compiled) {
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < offered.size(); ++i) place.try_emplace(offered[i].text, i);
  std::vector<CompiledKernel> out;
  for (const codegen::Kernel& kernel : wanted) {
    auto found = place.find(kernel.text);
    if (found == place.end()) return {};
    out.push_back(compiled.at(found->second));
    if (out.back().loaded.scalar) out.back().loaded.scalar = kernel.scalar;
  }
  return out;
}

}  // namespace vitrine::runtime
