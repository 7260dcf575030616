// What one running call of a plan owns: the arena (lent by a pool on the CPU), and for each buffer its
// address, its tensor and its Python object, each made when it is first asked for. A state is used by one
// call at a time and kept for the next, and so is the memory of large outputs: when nobody has the last
// call's output any more, the next one takes its place, and its pages need not be mapped and cleared again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/codegen/schedule/program.h"
#include "core/runtime/arena_pool.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/cuda/cuda_random.h"

struct _object;

namespace vitrine::runtime {

class GraphLaunches;

// The facts about buffers that all calls share.
struct BufferTable {
  struct Row {
    codegen::Buffer::Kind kind = codegen::Buffer::Kind::temporary;
    ir::TensorType type;
    int32_t input = -1, view_of = -1;
    int64_t arena_offset = -1;
    int64_t shift = 0;      // view: elements from the first of view_of's to the first of its own
    bool read = false;      // by a step or as a result, itself or a view of it
    bool any_size = false;  // an operator's memory for its backward, which nobody else looks at
    bool in_arena() const { return arena_offset >= 0 && view_of < 0; }
  };
  std::vector<Row> rows;
  int64_t arena_bytes = 0, host_bytes = 0;  // host_bytes: codegen::Program
  ir::Device arena_device;
  int gpu = -1;              // whose stream kernels are launched on
  size_t max_arguments = 0;  // of a kernel
  std::shared_ptr<ArenaPool> arenas;
  bool keeps_results = true;  // their memory is kept for the next call
};

class CallState {
 public:
  explicit CallState(const BufferTable& table);
  ~CallState();
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  // Follows the table where it has got other numbers, for these buffers and the arena. Not during a call.
  // false: it cannot, and is to go.
  bool resize(const std::vector<int32_t>& buffers);

  // inputs: borrowed until clear(). on_gpu: steps there too. Throws std::bad_alloc.
  void begin(_object* const* inputs, bool on_gpu = true);
  void clear();  // drops everything of this call but tensors in the arena

  // Address of element 0. The buffer must have its memory by now (input, arena, allocated, or made by a
  // step).
  void* pointer(int32_t b) {
    Entry& e = entries_[static_cast<size_t>(b)];
    return e.pointer ? e.pointer : find_pointer(b);
  }
  // Borrowed; nullptr: a Python error is set.
  torch_api::Handle handle(int32_t b) {
    Entry& e = entries_[static_cast<size_t>(b)];
    return e.handle ? e.handle : make_handle(b);
  }
  _object* object(int32_t b) {
    Entry& e = entries_[static_cast<size_t>(b)];
    return e.object ? e.object : make_object(b);
  }
  bool allocate(int32_t b);  // false: a Python error is set
  void take_object(int32_t b, _object* owned);
  void take_handle(int32_t b, torch_api::Handle owned);
  void release(int32_t b);
  // PyTorch's current stream on a GPU; asked once a call.
  void* stream(int gpu);
  bool in_arena(const void* p) const {
    return (p >= arena_ && p < arena_ + table_.arena_bytes) || (p >= host_ && p < host_ + table_.host_bytes);
  }

  std::vector<void*> arguments;    // scratch: of the kernel that runs
  std::vector<void*> handles;      // scratch: by buffer, for library calls
  std::vector<_object*> objects;   // scratch: by buffer, for opaque calls
  std::vector<_object*> returned;  // scratch: what an opaque call gave
  struct Saved {
    int32_t buffer;
    _object* tensor;                  // about to be written; owned
    torch_api::Handle copy;           // owned
    std::optional<uint32_t> version;  // the caller's tensor's
  };
  std::vector<Saved> saved;
  std::vector<torch_api::CudaGenerator::State> draws;  // of the GPU's generator, by segment of the draws
  _object* random_state = nullptr;                     // owned
  std::vector<_object*>* given_up = nullptr;           // Plan::run()
  GraphLaunches* recording = nullptr;                  // where launches are noted, if at all

 private:
  struct Entry {
    void* pointer = nullptr;
    torch_api::Handle handle = nullptr;
    _object* object = nullptr;
    bool owns_handle = false, owns_object = false;
    bool lasting = false;  // pointer and handle belong to the arena: they outlive the call, until it moves
  };
  struct Kept {  // the memory of an output of an earlier call
    int32_t buffer;
    torch_api::Handle tensor;  // a tensor of our own on it, owned
    void* data;
  };
  torch_api::Handle reuse(int32_t b);  // owned; nullptr: no memory is free for it
  void keep(int32_t b, torch_api::Handle fresh);
  bool has_lent_arena() const;
  void take_arena();
  void* find_pointer(int32_t b);
  torch_api::Handle make_handle(int32_t b);
  torch_api::Handle view_handle(int32_t b);  // owned
  _object* make_object(int32_t b);

  const BufferTable& table_;
  size_t lent_ = 0;  // bytes of the arena that it has joined
  std::vector<Entry> entries_;
  std::vector<int32_t> touched_;  // not lasting, changed in this call
  std::vector<Kept> kept_;
  int64_t kept_bytes_ = 0;
  _object* const* inputs_ = nullptr;
  char *arena_ = nullptr, *host_ = nullptr;
  char* lasting_at_ = nullptr;                  // where the arena was at the last call
  torch_api::Handle gpu_arena_ = nullptr;       // a GPU's is PyTorch's, taken for one call
  std::vector<std::pair<int, void*>> streams_;  // by GPU
};

}  // namespace vitrine::runtime
