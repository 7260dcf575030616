// Compiled kernels on disk, by what they were compiled from. An entry is one shared object with a seal behind
// it: a damaged one, or one of another kernel, counts as missing and is removed. Entries appear by an atomic
// rename, so several processes share a folder. Code is loaded from the descriptor that was checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/kernel_compiler/protocol/protocol.h"
#include "core/runtime/kernels/sealed_folder.h"

namespace vitrine::codegen {
struct ScalarCode;  // core/codegen/schedule/scalar_code.h
}

namespace vitrine::runtime {

namespace cuda {
class GpuFunction;  // core/runtime/cuda/driver.h
}

// extern "C" void vitrine_kernel(void* const* args, int64_t begin, int64_t end)
using KernelFunction = void (*)(void* const* args, int64_t begin, int64_t end);

// A kernel's machine code, and what keeps it mapped.
struct LoadedKernel {
  KernelFunction function = nullptr;
  std::shared_ptr<void> library;
  std::shared_ptr<cuda::GpuFunction> cuda;            // instead: a kernel of a GPU
  std::shared_ptr<const codegen::ScalarCode> scalar;  // instead: taken step by step
};

class ObjectCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;

  using Entry = PrivateFolder::File;

  // dir "": a folder of this process, removed with the cache. Errors: the folder cannot be made, or others
  // may write into it or into one on the way (code from it is run).
  static Result<std::shared_ptr<ObjectCache>> open(const std::string& dir, int64_t max_bytes = kMaxBytes);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // Everything that the machine code depends on: source, flags, LLVM's version, this CPU.
  static std::string key(const std::string& source);

  // A sound entry, or nothing.
  std::optional<Entry> find(const std::string& key) { return folder_.find(key, ".so"); }
  // Keeps an object. Errors: the folder cannot be written; the object can still be loaded from memory.
  Result<Entry> insert(const std::string& key, const std::string& object);
  void remove(const std::string& key);

  // IR, assembly and remarks of a kernel, kept beside its object for runs that are recorded.
  std::optional<kernel_compiler::Texts> texts(const std::string& key);
  void insert_texts(const std::string& key, const kernel_compiler::Texts& texts);

  // Removes the entries that were used longest ago until less than the limit is left.
  void trim() { folder_.trim(max_bytes_); }
  const std::string& dir() const { return folder_.path(); }
  std::string path(const std::string& key) const { return dir() + "/" + folder_.name(key, ".so"); }

 private:
  ObjectCache() = default;

  SealedFolder folder_;
  bool own_dir_ = false;
  int64_t max_bytes_ = kMaxBytes;
};

// Opens a shared object and finds its kernel. Errors: the loader's own words.
Result<LoadedKernel> load_kernel(const std::string& path);
// The same of an open file, whatever has become of its name.
Result<LoadedKernel> load_kernel(const Descriptor& file);

}  // namespace vitrine::runtime
