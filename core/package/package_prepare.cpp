// What is done once for a package, and once for new sizes.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "core/base/large_memory.h"
#include "core/base/private_folder.h"
#include "core/codegen/cuda/gpu.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/packed_program.h"
#include "core/package/package_runner.h"
#include "core/package/strided_copy.h"
#include "core/runtime/cuda/driver.h"

namespace vitrine::package {

namespace {

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

bool processor_runs(const std::string& cpu) {
  if (cpu.empty()) return true;
#if defined(__x86_64__)
  if (cpu == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3");
  if (cpu == "x86-64-v4") return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

std::string features_of(const std::string& cpu) {
  if (cpu == "x86-64-v3") return " (AVX2)";
  return cpu == "x86-64-v4" ? " (AVX-512)" : "";
}

codegen::Program without_texts(codegen::Program program) {
  for (codegen::Kernel& kernel : program.kernels) kernel.text.clear();
  return program;
}

std::shared_ptr<void> host_memory(size_t bytes) {
  return {allocate_large(std::max<size_t>(bytes, 1)), [](void* memory) { std::free(memory); }};
}

// What may be said of a size: "64", "2*s0, which is 16".
std::string wanted(const ir::Sym& size, int64_t value) {
  return size.symbolic() ? ir::text(size) + ", which is " + std::to_string(value) : std::to_string(value);
}

std::string text(const ir::TensorType& type) {
  return std::string(ir::dtype_name(type.dtype)) + "[" + ir::dims_text(type.sizes) + "]";
}

}  // namespace

std::string text(ir::DType dtype, const std::vector<int64_t>& shape) {
  return std::string(ir::dtype_name(dtype)) + "[" + ir::dims_text(ir::dims_of(shape)) + "]";
}

PackageRunner::PackageRunner(const Package& package, const RunOptions& options)
    : package_(package),
      sized_(without_texts(package.program())),
      program_(&sized_.symbolic()),
      threads_(options.threads > 0 ? options.threads : cores()) {}

PackageRunner::~PackageRunner() = default;

Result<std::unique_ptr<PackageRunner>> PackageRunner::make(const Package& package,
                                                           const RunOptions& options) {
  std::unique_ptr<PackageRunner> out(new PackageRunner(package, options));
  try {
    if (Status failed = out->prepare(options)) return *failed;
  } catch (const std::bad_alloc&) {
    return Error{"there is not enough memory for the package's weights", "", ""};
  } catch (const std::exception& error) {
    return Error{"the package cannot run: " + std::string(error.what()), "", ""};
  }
  return out;
}

Status PackageRunner::prepare(const RunOptions& options) {
  if (!processor_runs(package_.cpu()))
    return Error{"the package's kernels are for processors of " + package_.cpu() +
                     features_of(package_.cpu()) + ", and this one is none",
                 "Export the model again where it is to run, or with processor=\"x86-64-v3\", which all with "
                 "AVX2 run.",
                 ""};
  for (const codegen::Buffer& buffer : package_.program().buffers) {
    const ir::Device device = buffer.type.device;
    if (!device.is_cuda() || gpus_.contains(device.index)) continue;
    auto gpu = GpuMemory::of(device.index);
    if (!gpu) return gpu.error();
    gpus_[device.index] = gpu.take();
    auto own = runtime::cuda::architecture(device.index);
    if (!own) return own.error();
    if (own.value() != package_.gpu())
      return Error{
          "the package's kernels are for a GPU " + package_.gpu() + ", and this one is " + own.value(),
          "Export the model again where it is to run.", ""};
  }
  for (const auto& [value, buffer] : package_.program().value_buffer) value_buffer_.emplace(value, buffer);
  if (Status failed = load_kernels()) return failed;
  if (Status failed = load_weights()) return failed;
  return prepare_torch(options);
}

Status PackageRunner::load_kernels() {
  const std::vector<codegen::Kernel>& kernels = package_.program().kernels;
  size_t most = 0;
  for (const codegen::Step& step : package_.program().steps)
    most = std::max(most, step.buffers.size() + step.numbers.size());
  arguments_.resize(most + 4);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string_view code = package_.kernel(k);
    const codegen::Grid& grid = kernels[k].grid;
    if (grid.blocks.hint() > 0) {
      const bool follows =
          codegen::cuda::follows(kernels[k].text) && codegen::cuda::gpu_of(package_.gpu()).follows;
      auto loaded = runtime::cuda::load_kernel(std::string(code), "vitrine_kernel", grid.device,
                                               grid.shared.hint(), follows, kernels[k].maps);
      if (!loaded) return loaded.error();
      kernels_.push_back({nullptr, nullptr, loaded.take(), nullptr});
      continue;
    }
    auto loaded = runtime::load_kernel(memory_file(code));
    if (!loaded) return loaded.error();
    kernels_.push_back(loaded.take());
  }
  return {};
}

Status PackageRunner::load_weights() {
  const codegen::Program& program = package_.program();
  for (size_t i = 0; i < package_.arguments().size(); ++i) {
    const PackageArgument& argument = package_.arguments()[i];
    Place& place = weights_.emplace_back();
    if (!argument.weight) continue;
    const ir::TensorType& type = program.buffers[static_cast<size_t>(program.input_buffer[i])].type;
    const void* stored = package_.weight(argument.name).bytes.data();
    if (type.device.is_cpu() && is_row_by_row(type)) {  // where the file is mapped
      place.data = const_cast<void*>(stored);
      continue;
    }
    auto memory = laid_out(type, stored);
    if (!memory) return memory.error();
    place.memory = memory.take();
    place.data = place.memory.get();
  }
  return {};
}

Status PackageRunner::prepare_torch(const RunOptions& options) {
  const auto calls = [](const codegen::Step& step) {
    return step.kind == codegen::Step::Kind::library || step.kind == codegen::Step::Kind::opaque;
  };
  if (std::ranges::none_of(package_.program().steps, calls)) return {};
  auto torch = torch_functions(options.torch, !gpus_.empty());
  if (!torch) return torch.error();
  torch_ = torch.value();
  if (torch_->set_threads) torch_->set_threads(threads_.count());
  return plan_calls();
}

Status PackageRunner::plan_calls() {
  calls_.clear();
  const auto slot_of = [this](ir::Ref value) { return buffer_of(value); };
  for (size_t s = 0; s < program_->steps.size(); ++s) {
    const codegen::Step& step = program_->steps[s];
    if (step.kind != codegen::Step::Kind::library && step.kind != codegen::Step::Kind::opaque) continue;
    auto call = TorchCall::make(*torch_, step.node, slot_of, package_.schemas());
    if (!call) return call.error();
    calls_[s] = call.take();
  }
  return {};
}

int32_t PackageRunner::buffer_of(ir::Ref value) const {
  const auto at = value_buffer_.find(value);
  if (at == value_buffer_.end()) throw InternalError("no buffer holds a value that is read");
  return at->second;
}

Result<std::shared_ptr<void>> PackageRunner::allocate(ir::Device device, size_t bytes) {
  if (!device.is_cpu()) return gpus_.at(device.index)->allocate(bytes);
  for (Block& block : blocks_)
    if (block.bytes == bytes && block.memory.use_count() == 1) {
      block.used = true;
      return block.memory;
    }
  return blocks_.emplace_back(Block{bytes, host_memory(bytes)}).memory;
}

void PackageRunner::forget_unused_blocks() {
  std::erase_if(blocks_, [](Block& block) { return !std::exchange(block.used, false); });
}

// Rows of a file, or of a caller, as the program expects them.
Result<std::shared_ptr<void>> PackageRunner::laid_out(const ir::TensorType& type, const void* rows) {
  const auto bytes = static_cast<size_t>(extent(type).value_or(0));
  std::shared_ptr<void> host;
  const void* from = rows;
  if (!is_row_by_row(type)) {
    host = host_memory(bytes);
    scatter_rows(type, rows, host.get());
    from = host.get();
  }
  if (type.device.is_cpu() && host) return host;
  auto memory = allocate(type.device, bytes);
  if (!memory || type.device.is_cpu()) return memory;
  if (Status failed = gpus_.at(type.device.index)->upload(memory.value().get(), from, bytes)) return *failed;
  return memory;
}

Status PackageRunner::set_sizes(std::span<const HostTensor* const> given) {
  const ir::SymbolTable& table = package_.symbols();
  if (table.symbols().empty()) return check_types(given);
  const codegen::Program& stated = package_.program();
  std::vector<int64_t> values(table.symbols().size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) continue;
    const ir::Dims& sizes = stated.buffers[static_cast<size_t>(stated.input_buffer[i])].type.sizes;
    for (size_t d = 0; d < std::min(sizes.size(), given[i]->shape.size()); ++d)
      if (const auto symbol = symbol_of(table, sizes[d])) values[*symbol] = given[i]->shape[d];
  }
  if (!table.holds(values)) {
    for (size_t s = 0; s < values.size(); ++s) {
      const ir::Symbol& symbol = table.symbols()[s];
      if (values[s] < symbol.range.lo || values[s] > symbol.range.hi)
        return Error{symbol.source + " is " + std::to_string(values[s]) + ", and the package serves " +
                         ir::range_text(symbol.range),
                     "", ""};
    }
    const ir::SymGuard* guard = table.first_failing(values, std::vector<bool>(values.size(), true));
    return Error{"the package does not serve these sizes" +
                     (guard ? ": it takes for granted that " + table.text(*guard) + " (" + guard->place + ")"
                            : std::string()),
                 "Export it with examples of such sizes.", ""};
  }
  if (values == values_) return check_types(given);
  values_ = {};
  program_ = &sized_.at(values);
  if (Status wrong = check_types(given)) return wrong;
  for (const std::string& unsound : {codegen::unsound_memory(*program_), unsound_views(*program_)})
    if (!unsound.empty()) return Error{"the package cannot run at these sizes: " + unsound, "", ""};
  if (torch_)
    if (Status failed = plan_calls()) return failed;
  values_ = std::move(values);
  return {};
}

Status PackageRunner::check_types(std::span<const HostTensor* const> given) const {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) continue;
    const auto at = static_cast<size_t>(program_->input_buffer[i]);
    const ir::TensorType &stated = package_.program().buffers[at].type, &now = program_->buffers[at].type;
    const HostTensor& value = *given[i];
    const std::string is =
        value.name + " is " + text(value.dtype, value.shape) + ", and the model takes " + text(stated);
    if (value.dtype != stated.dtype) return Error{is + ": its elements are of another type", "", ""};
    if (value.shape.size() != stated.sizes.size())
      return Error{is + ": it has " + std::to_string(value.shape.size()) + " dimensions", "", ""};
    for (size_t d = 0; d < value.shape.size(); ++d)
      if (value.shape[d] != now.sizes[d].hint())
        return Error{is + ": dimension " + std::to_string(d) + " is " + std::to_string(value.shape[d]) +
                         " and must be " + wanted(stated.sizes[d], now.sizes[d].hint()),
                     "", ""};
  }
  return {};
}

}  // namespace vitrine::package
