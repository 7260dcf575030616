#include "core/runtime/call_state.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/large_memory.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime {

namespace bridge = torch_api;

namespace {

// Less comes back from malloc without the system's help.
constexpr int64_t kWorthKeeping = 64 << 10;
constexpr int64_t kKeepAtMost = 256 << 20;  // bytes a state

int64_t bytes_of(const ir::TensorType& type) {
  int64_t n = ir::dtype_bytes(type.dtype);
  for (int64_t size : type.sizes) n *= size;
  return n;
}

// nullptr for none; throws std::bad_alloc.
char* host_memory(int64_t bytes) {
  return bytes > 0 ? allocate_large(static_cast<size_t>(bytes)) : nullptr;
}

}  // namespace

using BufferKind = codegen::Buffer::Kind;

CallState::CallState(const BufferTable& table) : table_(table), entries_(table.rows.size()) {
  arguments.resize(table.max_arguments);
  handles.resize(table.rows.size());
  objects.resize(table.rows.size());
  touched_.reserve(table.rows.size());
  if (has_lent_arena()) table.arenas->join(lent_ = static_cast<size_t>(table.arena_bytes));
  host_ = host_memory(table.host_bytes);  // of a GPU's plan, beside its arena
  if (!host_ || has_lent_arena()) return;
  for (size_t b = 0; b < entries_.size(); ++b) {
    if (!table.rows[b].in_arena() || !table.rows[b].type.device.is_cpu()) continue;
    entries_[b].pointer = host_ + table.rows[b].arena_offset;
    entries_[b].lasting = true;
  }
}

bool CallState::has_lent_arena() const {
  return table_.arena_bytes > 0 && table_.arena_device.is_cpu();
}

// Mostly it is where it was.
void CallState::take_arena() {
  arena_ = table_.arenas->take(static_cast<size_t>(table_.arena_bytes));
  if (arena_ == lasting_at_) return;
  lasting_at_ = arena_;
  for (size_t b = 0; b < entries_.size(); ++b) {
    if (!table_.rows[b].in_arena()) continue;
    Entry& e = entries_[b];
    if (e.handle && e.owns_handle) bridge::release(e.handle);
    e = Entry{};
    e.pointer = arena_ + table_.rows[b].arena_offset;
    e.lasting = true;
  }
}

CallState::~CallState() {
  clear();
  for (Kept& kept : kept_) bridge::release(kept.tensor);
  for (Entry& e : entries_)
    if (e.handle && e.owns_handle) bridge::release(e.handle);
  if (lent_) table_.arenas->leave(lent_);
  std::free(host_);
}

bool CallState::resize(const std::vector<int32_t>& buffers) {
  if (host_ || has_lent_arena() != (lent_ > 0)) return false;
  for (Kept& kept : kept_) bridge::release(kept.tensor);
  kept_.clear(), kept_bytes_ = 0;
  for (int32_t b : buffers) {
    Entry& e = entries_[static_cast<size_t>(b)];
    if (e.handle && e.owns_handle) bridge::release(e.handle);
    const bool lasting = e.lasting;
    e = Entry{};
    if (!lasting) continue;
    e.pointer = lasting_at_ + table_.rows[static_cast<size_t>(b)].arena_offset;
    e.lasting = true;
  }
  if (!lent_) return true;
  table_.arenas->join(static_cast<size_t>(table_.arena_bytes));
  table_.arenas->leave(std::exchange(lent_, static_cast<size_t>(table_.arena_bytes)));
  return true;
}

void CallState::begin(_object* const* inputs, bool on_gpu) {
  inputs_ = inputs;
  if (has_lent_arena()) return take_arena();
  if (!on_gpu || table_.arena_bytes <= 0) return;
  ir::TensorType type = ir::TensorType::contiguous(ir::DType::u8, {table_.arena_bytes});
  type.device = table_.arena_device;
  gpu_arena_ = bridge::empty_strided(type);
  arena_ = static_cast<char*>(bridge::data(gpu_arena_));
  for (size_t b = 0; b < entries_.size(); ++b) {
    if (!table_.rows[b].in_arena() || !table_.rows[b].type.device.is_cuda()) continue;
    entries_[b].pointer = arena_ + table_.rows[b].arena_offset;
    touched_.push_back(static_cast<int32_t>(b));
  }
}

void* CallState::stream(int gpu) {
  for (const auto& [device, stream] : streams_)
    if (device == gpu) return stream;
  return streams_.emplace_back(gpu, bridge::current_stream(gpu)).second;
}

void CallState::clear() {
  for (int32_t b : touched_) release(b);
  touched_.clear();
  for (const Saved& each : saved) {
    bridge::drop(each.tensor);
    bridge::release(each.copy);
  }
  saved.clear();
  draws.clear();
  bridge::drop(random_state);
  random_state = nullptr;
  inputs_ = nullptr;
  recording = nullptr;
  given_up = nullptr;
  streams_.clear();
  if (arena_ && has_lent_arena()) {
    table_.arenas->give(arena_);
    arena_ = nullptr;
  }
  if (!gpu_arena_) return;
  bridge::release(gpu_arena_);
  gpu_arena_ = nullptr;
  arena_ = nullptr;
}

void CallState::release(int32_t b) {
  Entry& e = entries_[static_cast<size_t>(b)];
  if (e.owns_object) bridge::drop(e.object);
  e.object = nullptr;
  e.owns_object = false;
  if (e.lasting) return;
  if (e.owns_handle) bridge::release(e.handle);
  e = Entry{};
}

void* CallState::find_pointer(int32_t b) {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  Entry& e = entries_[static_cast<size_t>(b)];
  if (row.view_of >= 0 && !e.handle) {
    auto* base = static_cast<char*>(pointer(row.view_of));
    if (!base) return nullptr;  // an empty tensor
    touched_.push_back(b);
    return e.pointer = base + row.shift * ir::dtype_bytes(row.type.dtype);
  }
  bridge::Handle h = handle(b);
  return e.pointer = h ? bridge::data(h) : nullptr;
}

bridge::Handle CallState::view_handle(int32_t b) {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  bridge::Handle base = handle(row.view_of);
  if (!base) return nullptr;
  ir::TensorType type = row.type;
  type.offset = bridge::view(base).storage_offset + row.shift;
  return bridge::as_strided(base, type);
}

bridge::Handle CallState::make_handle(int32_t b) {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  Entry& e = entries_[static_cast<size_t>(b)];
  if (!e.lasting) touched_.push_back(b);
  // A lasting handle outlives the call's object.
  if (e.object && !e.lasting) return e.handle = bridge::handle_of(e.object);
  if (row.input >= 0) return e.handle = bridge::handle_of(inputs_[row.input]);
  if (row.view_of >= 0) {
    e.handle = view_handle(b);
  } else if (row.in_arena()) {
    e.handle = bridge::from_blob(e.pointer, row.type);
  } else {
    bridge::set_python_error("a plan reads a buffer before a step has made it");
    return nullptr;
  }
  e.owns_handle = e.handle != nullptr;
  return e.handle;
}

_object* CallState::make_object(int32_t b) {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  Entry& e = entries_[static_cast<size_t>(b)];
  touched_.push_back(b);
  if (row.input >= 0) return e.object = inputs_[row.input];
  bridge::Handle given = nullptr;  // wrapped below: Python's own
  if (e.lasting) {
    given = bridge::from_blob(e.pointer, row.type);
  } else {
    if (!handle(b)) return nullptr;
    given = e.handle;
    e.owns_handle = false;
  }
  if (!given) return nullptr;
  e.object = bridge::wrap(given);
  e.owns_object = e.object != nullptr;
  if (!e.lasting) e.handle = e.object ? bridge::handle_of(e.object) : nullptr;
  return e.object;
}

bool CallState::allocate(int32_t b) {
  const BufferTable::Row& row = table_.rows[static_cast<size_t>(b)];
  // PyTorch keeps a GPU's memory itself.
  const bool large = table_.keeps_results && row.kind == BufferKind::output && row.type.device.is_cpu() &&
                     bytes_of(row.type) >= kWorthKeeping;
  bridge::Handle fresh = large ? reuse(b) : nullptr;
  if (!fresh) {
    fresh = bridge::empty_strided(row.type);
    if (!fresh) return false;
    if (large) keep(b, fresh);
  }
  take_handle(b, fresh);
  return true;
}

bridge::Handle CallState::reuse(int32_t b) {
  auto kept = std::find_if(kept_.begin(), kept_.end(), [b](const Kept& k) { return k.buffer == b; });
  if (kept == kept_.end()) return nullptr;
  const ir::TensorType& type = table_.rows[static_cast<size_t>(b)].type;
  // Another address: whoever had the tensor gave its storage other memory.
  if (bridge::owns_storage_alone(kept->tensor) && bridge::data(kept->tensor) == kept->data)
    return bridge::as_strided(kept->tensor, type);
  bridge::release(kept->tensor);
  kept_.erase(kept);
  kept_bytes_ -= bytes_of(type);
  return nullptr;
}

void CallState::keep(int32_t b, bridge::Handle fresh) {
  const ir::TensorType& type = table_.rows[static_cast<size_t>(b)].type;
  if (kept_bytes_ + bytes_of(type) > kKeepAtMost) return;
  bridge::Handle own = bridge::as_strided(fresh, type);
  if (!own) return;
  kept_.push_back({b, own, bridge::data(own)});
  kept_bytes_ += bytes_of(type);
}

void CallState::take_object(int32_t b, _object* owned) {
  release(b);
  Entry& e = entries_[static_cast<size_t>(b)];
  e.object = owned;
  e.owns_object = true;
  touched_.push_back(b);
}

void CallState::take_handle(int32_t b, bridge::Handle owned) {
  release(b);
  Entry& e = entries_[static_cast<size_t>(b)];
  e.handle = owned;
  e.owns_handle = true;
  touched_.push_back(b);
}

}  // namespace vitrine::runtime
