#include "core/package/package_runner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "core/base/large_memory.h"
#include "core/package/strided_copy.h"
#include "core/runtime/cuda/driver.h"

namespace vitrine::package {

namespace {

using BufferKind = codegen::Buffer::Kind;
using StepKind = codegen::Step::Kind;

bool is_input(const codegen::Buffer& buffer) {
  return buffer.kind == BufferKind::input || buffer.kind == BufferKind::constant;
}

struct ChunkCall {
  runtime::KernelFunction function;
  void* const* arguments;
};

void run_chunk(int64_t begin, int64_t end, void* context) {
  auto* call = static_cast<ChunkCall*>(context);
  call->function(call->arguments, begin, end);
}

char* at_bytes(void* base, int64_t bytes) {
  return static_cast<char*>(base) + bytes;
}

}  // namespace

Result<std::vector<HostTensor>> PackageRunner::run(std::span<const HostTensor> given) {
  std::vector<const HostTensor*> by_place;
  std::string takes;
  for (const PackageArgument& argument : package_.arguments()) {
    by_place.push_back(nullptr);
    if (argument.weight) continue;
    takes += (takes.empty() ? "" : ", ") + argument.name;
    const auto found = std::ranges::find(given, argument.name, &HostTensor::name);
    if (found != given.end()) by_place.back() = &*found;
  }
  for (size_t i = 0; i < by_place.size(); ++i)
    if (!by_place[i] && !package_.arguments()[i].weight)
      return Error{"the model is not given " + package_.arguments()[i].name, "It takes " + takes + ".", ""};
  for (const HostTensor& value : given)
    if (std::ranges::find(by_place, &value) == by_place.end())
      return Error{"the model is given " + value.name + ", which it does not take", "It takes " + takes + ".",
                   ""};
  try {
    if (Status wrong = set_sizes(by_place)) return *wrong;
    if (Status failed = run_steps(by_place)) return *failed;
    return collect(by_place);
  } catch (const std::bad_alloc&) {
    return Error{"there is not enough memory for tensors of these sizes", "", ""};
  } catch (const std::exception& error) {
    return Error{"the package cannot run: " + std::string(error.what()), "", ""};
  }
}

Status PackageRunner::run_steps(std::span<const HostTensor* const> given) {
  places_.clear();
  places_.resize(program_->buffers.size());
  if (Status failed = place_given(given)) return failed;
  if (Status failed = place_arena()) return failed;
  for (size_t s = 0; s < program_->steps.size(); ++s) {
    if (Status failed = run_step(s)) return failed;
    for (const int32_t b : program_->steps[s].free_after) places_[static_cast<size_t>(b)] = {};
  }
  for (const auto& [index, gpu] : gpus_)
    if (Status failed = gpu->wait()) return failed;
  return {};
}

Status PackageRunner::place_given(std::span<const HostTensor* const> given) {
  for (size_t i = 0; i < given.size(); ++i) {
    const int32_t b = program_->input_buffer[i];
    Place& place = places_[static_cast<size_t>(b)];
    if (!given[i]) {
      place.data = weights_[i].data;
      continue;
    }
    if (type(b).device.is_cpu() && is_row_by_row(type(b))) {
      place.data = const_cast<void*>(given[i]->data);
      continue;
    }
    auto memory = laid_out(type(b), given[i]->data);
    if (!memory) return memory.error();
    place.memory = memory.take();
    place.data = place.memory.get();
  }
  // Several buffers may lie in one input.
  for (codegen::Buffer const& buffer : program_->buffers) {
    Place& place = places_[static_cast<size_t>(&buffer - program_->buffers.data())];
    if (is_input(buffer) && !place.data && buffer.input >= 0)
      place.data = pointer(program_->input_buffer[static_cast<size_t>(buffer.input)]);
  }
  return {};
}

// The memory of the last call serves this one if it is large enough.
Status PackageRunner::place_arena() {
  ir::Device device;
  for (const codegen::Buffer& buffer : program_->buffers)
    if (buffer.arena_offset >= 0 && buffer.view_of < 0 && buffer.type.device.is_cuda())
      device = buffer.type.device;
  const auto want = [this](std::shared_ptr<void>& memory, size_t& has, ir::Device where, int64_t bytes) {
    const auto needed = static_cast<size_t>(bytes);
    if (needed <= has && memory) return Status();
    memory.reset(), has = 0;
    auto made = allocate(where, needed);
    if (!made) return Status(made.error());
    memory = made.take(), has = needed;
    return Status();
  };
  if (program_->arena_bytes > 0)
    if (Status failed = want(arena_, arena_bytes_, device, program_->arena_bytes)) return failed;
  if (program_->host_bytes > 0)
    if (Status failed = want(host_arena_, host_arena_bytes_, {}, program_->host_bytes)) return failed;
  for (size_t b = 0; b < places_.size(); ++b) {
    const codegen::Buffer& buffer = program_->buffers[b];
    if (buffer.arena_offset < 0 || buffer.view_of >= 0 || is_input(buffer)) continue;
    const bool beside = device.is_cuda() && buffer.type.device.is_cpu();
    places_[b].data = at_bytes((beside ? host_arena_ : arena_).get(), buffer.arena_offset);
  }
  int64_t values = 0;
  for (const codegen::Kernel& kernel : program_->kernels) values = std::max<int64_t>(values, kernel.scratch);
  const auto bytes = static_cast<size_t>(values) * sizeof(float);
  if (bytes <= scratch_bytes_) return {};
  auto made = allocate({}, bytes);
  if (!made) return made.error();
  scratch_ = made.take(), scratch_bytes_ = bytes;
  return {};
}

int32_t PackageRunner::root(int32_t buffer) const {
  while (program_->buffers[static_cast<size_t>(buffer)].view_of >= 0)
    buffer = program_->buffers[static_cast<size_t>(buffer)].view_of;
  return buffer;
}

void* PackageRunner::pointer(int32_t b) {
  Place& place = places_[static_cast<size_t>(b)];
  if (place.data) return place.data;
  const codegen::Buffer& buffer = program_->buffers[static_cast<size_t>(b)];
  if (buffer.view_of < 0 || is_input(buffer)) return nullptr;
  void* base = pointer(buffer.view_of);
  if (!base) return nullptr;
  const int64_t shift = buffer.type.offset - type(buffer.view_of).offset;
  return place.data = at_bytes(base, shift * ir::dtype_bytes(buffer.type.dtype));
}

// Of what a step writes, where the program has no place for it.
Status PackageRunner::own_memory(int32_t b) {
  if (pointer(b)) return {};
  const auto bytes = static_cast<size_t>(extent(type(b)).value_or(0));
  auto memory = allocate(type(b).device, bytes);
  if (!memory) return memory.error();
  Place& place = places_[static_cast<size_t>(b)];
  place.memory = memory.take();
  place.data = place.memory.get();
  return {};
}

Status PackageRunner::run_step(size_t number) {
  const codegen::Step& step = program_->steps[number];
  switch (step.kind) {
    case StepKind::kernel:
      if (step.of_weights && give_kept(number)) return {};
      for (const int32_t b : step.outs)
        if (Status failed = own_memory(b)) return failed;
      if (Status failed = run_kernel(number)) return failed;
      if (step.of_weights) keep(number);
      return {};
    case StepKind::library:
    case StepKind::opaque:
      return run_torch(step, *calls_.at(number));
    case StepKind::view:
      break;
  }
  for (const int32_t b : step.outs) {  // what it is a view of may go before it does
    if (!pointer(b)) continue;
    places_[static_cast<size_t>(b)].memory = places_[static_cast<size_t>(root(b))].memory;
  }
  return {};
}

bool PackageRunner::give_kept(size_t number) {
  const auto kept = kept_.find(number);
  if (kept == kept_.end()) return false;
  const std::vector<int32_t>& outs = program_->steps[number].outs;
  for (size_t i = 0; i < outs.size(); ++i)
    places_[static_cast<size_t>(outs[i])] = {kept->second[i].get(), kept->second[i]};
  return true;
}

// A package's weights stay as they are, and so does what is kept of others of its kind. What else the step
// reads is another in each call.
void PackageRunner::keep(size_t number) {
  const codegen::Step& step = program_->steps[number];
  const auto is_kept = [this](int32_t b) {
    return std::any_of(kept_.begin(), kept_.end(), [&](const auto& made) {
      const std::vector<int32_t>& outs = program_->steps[made.first].outs;
      return std::find(outs.begin(), outs.end(), b) != outs.end();
    });
  };
  for (const int32_t b : step.buffers) {
    if (std::find(step.outs.begin(), step.outs.end(), b) != step.outs.end()) continue;
    const int32_t input = program_->buffers[static_cast<size_t>(b)].input;
    if (input < 0 ? !is_kept(b) : !package_.arguments()[static_cast<size_t>(input)].weight) return;
  }
  std::vector<std::shared_ptr<void>> made;
  for (const int32_t b : step.outs) made.push_back(places_[static_cast<size_t>(b)].memory);
  kept_[number] = std::move(made);
}

Status PackageRunner::run_kernel(size_t number) {
  const codegen::Step& step = program_->steps[number];
  const codegen::Kernel& kernel = program_->kernels[static_cast<size_t>(step.kernel)];
  const runtime::LoadedKernel& loaded = kernels_[static_cast<size_t>(step.kernel)];
  const size_t count = step.buffers.size();
  for (size_t i = 0; i < count; ++i) arguments_[i] = pointer(step.buffers[i]);
  if (loaded.cuda) return launch(step, kernel);
  std::vector<int64_t> numbers(step.numbers.begin(), step.numbers.end());
  if (!numbers.empty()) arguments_[count] = numbers.data();
  int64_t bad = 0, ready = 0;
  if (kernel.checks) arguments_[count + 1] = &bad;
  if (kernel.scratch > 0) arguments_[count + 1] = scratch_.get();
  if (kernel.held > 0) {
    Held& held = held_[number];
    if (!held.values)
      held.values = {
          reinterpret_cast<float*>(allocate_large(static_cast<size_t>(kernel.held) * sizeof(float))),
          std::free};
    const auto owner = static_cast<size_t>(root(step.buffers.at(1)));
    const codegen::Buffer& weight = program_->buffers[owner];
    const bool lasts = weight.input >= 0 && package_.arguments()[static_cast<size_t>(weight.input)].weight;
    ready = held.ready;
    held.ready = lasts;
    arguments_[count + 1] = held.values.get();
    arguments_[count + 2] = &ready;
  }
  ChunkCall call{loaded.function, arguments_.data()};
  threads_.run(kernel.work, std::max<int64_t>(1, kernel.grain), run_chunk, &call);
  if (bad) return Error{"index out of range in self", "", ""};
  return {};
}

// A GPU's kernel takes the addresses of its pointers and numbers, or that of a struct of all of them.
Status PackageRunner::launch(const codegen::Step& step, const codegen::Kernel& kernel) {
  size_t words = step.buffers.size();
  for (size_t i = 0; i < kernel.by_value.size(); ++i) {
    if (!kernel.by_value[i]) continue;
    int64_t word = 0;
    std::memcpy(&word, arguments_[i], std::min<size_t>(sizeof word, static_cast<size_t>(kernel.by_value[i])));
    arguments_[i] = std::bit_cast<void*>(word);
  }
  for (const int64_t number : step.numbers) arguments_[words++] = std::bit_cast<void*>(number);
  std::vector<void*> addresses;
  for (size_t i = 0; i < (kernel.packed ? 1 : words); ++i) addresses.push_back(&arguments_[i]);
  const std::string failed = kernels_[static_cast<size_t>(step.kernel)].cuda->launch(
      kernel.grid.blocks, kernel.grid.threads, nullptr, addresses.data());
  if (failed.empty()) return {};
  return Error{"a kernel could not be launched: " + failed, "", ""};
}

Result<AtenTensor> PackageRunner::tensor(int32_t b) {
  return AtenTensor::over(*torch_, pointer(b), type(b));
}

Status PackageRunner::run_torch(const codegen::Step& step, const TorchCall& call) {
  std::vector<AtenTensor> given, outs;
  std::vector<AtenHandle> values;
  for (const int32_t b : call.reads()) {
    auto made = tensor(b);
    if (!made) return made.error();
    values.push_back(given.emplace_back(made.take()).get());
  }
  if (call.into_out()) {
    if (Status failed = own_memory(step.outs.at(0))) return failed;
    auto out = tensor(step.outs[0]);
    if (!out) return out.error();
    outs.push_back(out.take());
    return call.call(values, outs);
  }
  if (Status failed = call.call(values, outs)) return failed;
  if (outs.size() < step.outs.size())
    return Error{step.node.op + " returned fewer tensors than the program takes", "", ""};
  for (size_t i = 0; i < step.outs.size(); ++i)
    if (outs[i])
      if (Status failed = take_made(step.outs[i], std::move(outs[i]))) return failed;
  return {};
}

// What PyTorch made stays where it is, if it lies as the program expects, and not in memory of the program's.
Status PackageRunner::take_made(int32_t b, AtenTensor made) {
  const codegen::Buffer& buffer = program_->buffers[static_cast<size_t>(b)];
  int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
  int32_t dtype = 0;
  void* data = nullptr;
  for (const AtenStatus status : {torch_->dims(made.get(), &dims), torch_->sizes(made.get(), &sizes),
                                  torch_->strides(made.get(), &strides), torch_->dtype(made.get(), &dtype),
                                  torch_->data(made.get(), &data)})
    if (status != 0) return torch_->failed(status);
  const ir::Dims &wanted = buffer.type.sizes, &lie = buffer.type.strides;
  bool as_planned = dtype == ir::dtype_to_scalar_type(buffer.type.dtype), empty = false;
  bool same = dims == static_cast<int64_t>(wanted.size());
  for (size_t d = 0; same && d < wanted.size(); ++d) {
    same = sizes[d] == wanted[d];
    empty = empty || sizes[d] == 0;
    as_planned = as_planned && (sizes[d] == 1 || strides[d] == lie[d]);
  }
  if (!same) return Error{"PyTorch made a tensor of other sizes than the program expects", "", ""};
  const auto* const from = static_cast<char*>(arena_.get());
  const auto* const at = static_cast<char*>(data);
  const bool in_arena = from && at >= from && at < from + arena_bytes_;
  Place& place = places_[static_cast<size_t>(b)];
  if (buffer.kind == BufferKind::foreign && (as_planned || empty) && !in_arena) {
    place.data = data;
    place.memory = std::make_shared<AtenTensor>(std::move(made));
    return {};
  }
  if (Status failed = own_memory(b)) return failed;
  auto own = tensor(b);
  if (!own) return own.error();
  const AtenStatus status = torch_->copy(own.value().get(), made.get(), 0);
  return status == 0 ? Status() : Status(torch_->failed(status));
}

Result<std::vector<HostTensor>> PackageRunner::collect(std::span<const HostTensor* const> given) {
  std::vector<HostTensor> out;
  for (const Returned& returned : package_.returned()) {
    if (returned.given) {
      out.push_back(*given[returned.number]);
      out.back().name = returned.name;
      continue;
    }
    const int32_t b = buffer_of(program_->results[returned.number].as<ir::Ref>());
    const ir::TensorType& made = type(b);
    HostTensor& value =
        out.emplace_back(HostTensor{returned.name, made.dtype, ir::integers(made.sizes), nullptr, {}});
    void* data = pointer(b);
    const Place& place = places_[static_cast<size_t>(b)];
    if (made.device.is_cpu() && place.memory && is_row_by_row(made)) {
      value.memory = place.memory;
      value.data = data;
      continue;
    }
    std::shared_ptr<void> host;
    if (made.device.is_cuda()) {
      const auto bytes = static_cast<size_t>(extent(made).value_or(0));
      auto memory = allocate({}, bytes);
      if (!memory) return memory.error();
      host = memory.take();
      if (Status failed = gpus_.at(made.device.index)->download(host.get(), data, bytes)) return *failed;
      data = host.get();
    }
    auto rows = allocate({}, value.bytes());
    if (!rows) return rows.error();
    gather_rows(made, data, rows.value().get());
    value.memory = rows.take();
    value.data = value.memory.get();
  }
  places_.clear();
  forget_unused_blocks();
  return out;
}

}  // namespace vitrine::package
