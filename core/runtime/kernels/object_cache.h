// Compiled kernels on disk, by what they were compiled from. An entry is one shared object with a seal behind
// it (length and checksum): a damaged one counts as missing and is removed. Entries appear by an atomic
// rename, so several processes share a folder. Not thread-safe within a process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/kernel_compiler/protocol/protocol.h"

namespace vitrine::codegen {
struct ScalarCode;  // core/codegen/scalar_code.h
}

namespace vitrine::runtime {

namespace cuda {
class Function;  // core/runtime/cuda/driver.h
}

// extern "C" void vitrine_kernel(void* const* args, int64_t begin, int64_t end)
using KernelFunction = void (*)(void* const* args, int64_t begin, int64_t end);

// A kernel's machine code, and what keeps it mapped.
struct LoadedKernel {
  KernelFunction function = nullptr;
  std::shared_ptr<void> library;
  std::shared_ptr<cuda::Function> cuda;               // instead: a kernel of a GPU
  std::shared_ptr<const codegen::ScalarCode> scalar;  // instead: taken step by step
};

class ObjectCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;

  // dir "": a folder of this process, removed with the cache. Errors: the folder cannot be made, or others
  // may write into it (code from it is run).
  static Result<std::shared_ptr<ObjectCache>> open(const std::string& dir, int64_t max_bytes = kMaxBytes);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // Everything that the machine code depends on: source, flags, LLVM's version, this CPU.
  static std::string key(const std::string& source);

  // Path of a sound entry, or nothing.
  std::optional<std::string> find(const std::string& key);
  // Where a new object is to be linked before insert().
  std::string fresh_path(const std::string& key);
  // Seals the object at fresh_path() and gives it its name; its path.
  Result<std::string> insert(const std::string& key, const std::string& fresh);
  void remove(const std::string& key);

  // IR, assembly and remarks of a kernel, kept beside its object for runs that are recorded.
  std::optional<kernel_compiler::Texts> texts(const std::string& key);
  void insert_texts(const std::string& key, const kernel_compiler::Texts& texts);

  // Removes the entries that were used longest ago until less than the limit is left.
  void trim();
  const std::string& dir() const { return dir_; }

 private:
  ObjectCache() = default;
  std::string path(const std::string& key, const char* suffix) const { return dir_ + "/" + key + suffix; }

  std::string dir_;
  bool own_dir_ = false;
  int64_t max_bytes_ = kMaxBytes;
  int64_t count_ = 0;
};

// Opens a shared object and finds its kernel. Errors: the loader's own words.
Result<LoadedKernel> load_kernel(const std::string& path);

}  // namespace vitrine::runtime
