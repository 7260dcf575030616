#include "core/runtime/product_choice.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "core/codegen/size_memory.h"
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

  // Nothing: it cannot be tried; no error is left set.
  codegen::ProductChoice run(KernelFunction function) {
    codegen::ProductChoice choice;
    choice.threads = bridge::num_threads();
    if (!prepare()) return choice;
    const codegen::Kernel& kernel = program_.kernels[static_cast<size_t>(step_.instead)];
    Invocation ours{function, pointers_.data()};
    bridge::Handle out = handles_[static_cast<size_t>(step_.outs.at(0))];
    int64_t began = now_ns();
    for (int turn = 0; turn < kMostTurns; ++turn) {
      const int64_t start = now_ns();
      bridge::parallel_for(kernel.work, 1, run_chunk, &ours);
      const int64_t middle = now_ns();
      if (!library_->call(handles_.data(), &out)) {
        bridge::PendingError dropped;
        return {};
      }
      if (turn == 0) {  // pages, caches and the library's own set-up
        began = now_ns();
        continue;
      }
      keep_least(choice.generated_ns, middle - start);
      keep_least(choice.library_ns, now_ns() - middle);
      if (turn >= kLeastTurns && now_ns() - began > kBudgetNs) break;
    }
    choice.generated = choice.generated_ns < choice.library_ns;
    return choice;
  }

 private:
  static void keep_least(int64_t& best, int64_t value) { best = best ? std::min(best, value) : value; }

  bool prepare() {
    int64_t bytes = 0;
    for (int32_t b : step_.instead_buffers) bytes += program_.buffers[static_cast<size_t>(b)].type.bytes();
    if (bytes > kMostBytes) return false;
    handles_.assign(program_.buffers.size(), nullptr);
    for (int32_t b : step_.instead_buffers) {
      auto i = static_cast<size_t>(b);
      ir::TensorType type = program_.buffers[i].type;
      type.offset = 0;
      if (!handles_[i] && !(handles_[i] = bridge::empty_strided(type))) {
        bridge::PendingError dropped;
        return false;
      }
      fill(static_cast<float*>(bridge::data(handles_[i])), type);
      pointers_.push_back(bridge::data(handles_[i]));
    }
    pointers_.push_back(const_cast<int64_t*>(step_.numbers.data()));
    library_ = bridge::LibraryCall::make(step_.node, [this](ir::Ref r) { return slot(r); });
    return library_ && library_->into_out();
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
  std::vector<void*> pointers_;
  std::unique_ptr<bridge::LibraryCall> library_;
};

}  // namespace

codegen::ProductChoices choose_products(const codegen::Program& program,
                                        const std::vector<CompiledKernel>& kernels,
                                        const CompileOptions& options) {
  codegen::ProductChoices choices;
  std::map<std::string, codegen::ProductChoice> known;
  for (const codegen::Step& step : program.steps) {
    if (step.instead < 0) continue;
    if (options.products == "generated") {
      choices[step.node.id].generated = true;
      continue;
    }
    const auto kernel = static_cast<size_t>(step.instead);
    std::string product = program.kernels[kernel].name;
    for (int64_t number : step.numbers) product += " " + std::to_string(number);
    // For other sizes of one program the choice is that of the first.
    codegen::ProductChoice* before =
        options.sizes ? &options.sizes->products.try_emplace(step.node.name).first->second : nullptr;
    if (before && before->generated_ns + before->library_ns > 0) {
      choices[step.node.id] = *before;
      continue;
    }
    auto [at, fresh] = known.try_emplace(product);
    if (fresh) at->second = Trial(program, step).run(kernels.at(kernel).loaded.function);
    choices[step.node.id] = at->second;
    if (before) *before = at->second;
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
