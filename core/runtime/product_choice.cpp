#include "core/runtime/product_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>

#include "core/codegen/size_memory.h"
#include "core/runtime/choice_store.h"
#include "core/torch_bridge/bridge.h"
#include "core/torch_bridge/library.h"
#include "core/torch_bridge/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_bridge;

namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;  // larger operands are not allocated to try a product
constexpr int64_t kBudgetNs = 8'000'000;            // of the timed calls of one product
constexpr int kLeastTurns = 3, kMostTurns = 24;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Invocation {
  KernelFunction function;
  void* const* arguments;
};

void run_chunk(int64_t begin, int64_t end, void* context) {
  auto* call = static_cast<Invocation*>(context);
  call->function(call->arguments, begin, end);
}

// One product with operands of its own.
class Trial {
 public:
  Trial(const codegen::Program& program, const codegen::Step& step) : program_(program), step_(step) {}
  ~Trial() {
    for (bridge::Handle h : handles_)
      if (h) bridge::release(h);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // No times: it cannot be tried; no error is left set.
  codegen::ProductChoice run(const std::vector<CompiledKernel>& kernels) {
    codegen::ProductChoice choice;
    choice.threads = bridge::num_threads();
    choice.source = "measured";
    if (!prepare()) return choice;
    std::vector<codegen::ProductTime> times{{0, 0}};
    for (const codegen::Alternative& a : step_.instead) times.push_back({a.candidate, 0});
    int64_t began = now_ns();
    for (int turn = 0; turn < kMostTurns; ++turn) {
      for (size_t i = 0; i < times.size(); ++i) {
        const int64_t start = now_ns();
        if (i > 0) {
          ours(step_.instead[i - 1], kernels);
        } else if (!library()) {
          bridge::PendingError dropped;
          return choice;
        }
        if (turn > 0) keep_least(times[i].ns, now_ns() - start);
      }
      if (turn == 0) began = now_ns();  // pages, caches and the library's own set-up are paid
      if (turn >= kLeastTurns && now_ns() - began > kBudgetNs) break;
    }
    choice.times = std::move(times);
    const auto least = std::min_element(choice.times.begin(), choice.times.end(),
                                        [](const auto& a, const auto& b) { return a.ns < b.ns; });
    choice.candidate = least->candidate;
    return choice;
  }

 private:
  static void keep_least(int64_t& best, int64_t value) {
    value = std::max<int64_t>(value, 1);
    best = best ? std::min(best, value) : value;
  }

  void ours(const codegen::Alternative& a, const std::vector<CompiledKernel>& kernels) {
    std::vector<void*> arguments;
    for (int32_t b : a.buffers) arguments.push_back(bridge::data(handles_[static_cast<size_t>(b)]));
    arguments.push_back(const_cast<int64_t*>(a.numbers.data()));
    const auto kernel = static_cast<size_t>(a.kernel);
    Invocation call{kernels.at(kernel).loaded.function, arguments.data()};
    bridge::parallel_for(program_.kernels[kernel].work, 1, run_chunk, &call);
  }
  bool library() {
    if (library_->into_out())
      return library_->call(handles_.data(), &handles_[static_cast<size_t>(step_.outs.at(0))]);
    std::array<bridge::Handle, 4> made{};
    const bool ok = library_->call(handles_.data(), made.data());
    for (bridge::Handle h : made)
      if (h) bridge::release(h);
    return ok;
  }

  bool prepare() {
    const std::vector<int32_t>& buffers = step_.instead.at(0).buffers;
    int64_t bytes = 0;
    for (int32_t b : buffers) bytes += program_.buffers[static_cast<size_t>(b)].type.bytes();
    if (bytes > kMostBytes) return false;
    handles_.assign(program_.buffers.size(), nullptr);
    for (int32_t b : buffers) {
      auto i = static_cast<size_t>(b);
      ir::TensorType type = program_.buffers[i].type;
      type.offset = 0;
      if (handles_[i]) continue;
      if (!(handles_[i] = bridge::empty_strided(type))) {
        bridge::PendingError dropped;
        return false;
      }
      fill(static_cast<float*>(bridge::data(handles_[i])), type);
    }
    library_ = bridge::LibraryCall::make(step_.node, [this](ir::Ref r) { return slot(r); });
    return library_ && library_->outs() == 1;
  }
  // Ordinary numbers: zeros and what memory happens to hold may run faster or slower.
  static void fill(float* data, const ir::TensorType& type) {
    int64_t reach = 1;
    for (size_t d = 0; d < type.sizes.size(); ++d) reach += (type.sizes[d] - 1) * type.strides[d];
    for (int64_t i = 0; i < reach; ++i) data[i] = static_cast<float>(i % 61) * 0.03125F - 0.9375F;
  }
  int32_t slot(ir::Ref r) const {
    for (const auto& [value, buffer] : program_.value_buffer)
      if (value.node == r.node && value.output == r.output) return buffer;
    throw InternalError("a product reads a value that no buffer holds");
  }

  const codegen::Program& program_;
  const codegen::Step& step_;
  std::vector<bridge::Handle> handles_;  // by buffer, owned
  std::unique_ptr<bridge::LibraryCall> library_;
};

// Everything that the times of a product depend on, but for the machine.
std::string description(const codegen::Program& program, const codegen::Step& step) {
  std::string out = step.node.op;
  for (const codegen::Alternative& a : step.instead) {
    const codegen::Kernel& kernel = program.kernels[static_cast<size_t>(a.kernel)];
    out += "\n" + std::to_string(a.candidate) + " " + ObjectCache::key(kernel.text);
    for (int64_t number : a.numbers) out += " " + std::to_string(number);
  }
  return out;
}

}  // namespace

codegen::ProductChoices choose_products(const codegen::Program& program,
                                        const std::vector<CompiledKernel>& kernels,
                                        const CompileOptions& options) {
  codegen::ProductChoices choices;
  const ChoiceStore store(options.cache_dir);
  std::map<std::string, codegen::ProductChoice> known;  // equal products are measured once
  for (const codegen::Step& step : program.steps) {
    if (step.instead.empty()) continue;
    codegen::ProductChoice& choice = choices[step.node.id];
    if (options.products != "measured") {
      choice.candidate = step.instead[0].candidate;
      choice.source = "dictated";
      continue;
    }
    // For other sizes of one program the choice is that of the first.
    codegen::ProductChoice* before =
        options.sizes ? &options.sizes->products.try_emplace(step.node.name).first->second : nullptr;
    if (before && !before->times.empty()) {
      choice = *before;
      continue;
    }
    const std::string key = ChoiceStore::key(description(program, step), bridge::num_threads());
    auto [at, fresh] = known.try_emplace(key);
    if (auto kept = fresh ? store.find(key) : std::nullopt) {
      at->second = std::move(*kept);
    } else if (fresh) {
      at->second = Trial(program, step).run(kernels);
      if (!at->second.times.empty()) store.insert(key, at->second);
    }
    choice = at->second;
    if (before) *before = choice;
  }
  return choices;
}

std::vector<CompiledKernel> kernels_of(const std::vector<codegen::Kernel>& wanted,
                                       const std::vector<codegen::Kernel>& offered,
                                       const std::vector<CompiledKernel>& compiled) {
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < offered.size(); ++i) place.try_emplace(offered[i].text, i);
  std::vector<CompiledKernel> out;
  for (const codegen::Kernel& kernel : wanted) {
    auto found = place.find(kernel.text);
    VITRINE_CHECK(found != place.end(), "kernel " + kernel.label + " was never offered");
    out.push_back(compiled.at(found->second));
  }
  return out;
}

}  // namespace vitrine::runtime
