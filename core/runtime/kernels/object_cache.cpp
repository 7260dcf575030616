#include "core/runtime/kernels/object_cache.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "core/base/sha256.h"
#include "core/runtime/kernels/host_cpu.h"

namespace vitrine::runtime {

namespace fs = std::filesystem;
namespace kc = kernel_compiler;

namespace {

// glibc takes a file for one that it has loaded by the name that was given then, and a descriptor's number is
// used again. So each time the folder is spelled anew.
std::string name_of(const Descriptor& file) {
  static std::atomic<uint64_t> loaded = 0;
  std::string out = "/proc/self/fd";
  for (uint64_t rest = ++loaded; rest; rest >>= 1) out += rest & 1 ? "/." : "//";
  return out + "/" + std::to_string(file.get());
}

}  // namespace

Result<std::shared_ptr<ObjectCache>> ObjectCache::open(const std::string& dir, int64_t max_bytes) {
  std::shared_ptr<ObjectCache> cache(new ObjectCache);
  cache->max_bytes_ = max_bytes;
  std::string path = dir + "/kernels";
  if (dir.empty()) {
    std::error_code error;
    path = (fs::temp_directory_path(error) / "vitrine-kernels-XXXXXX").string();
    if (error || !mkdtemp(path.data()))
      return Error{"no temporary folder for compiled kernels can be made",
                   "Set TMPDIR to a writable folder."};
    cache->own_dir_ = true;
  }
  auto folder = dir.empty() ? SealedFolder::open_own(path) : SealedFolder::open(path);
  if (!folder) {
    Error error = folder.error();
    error.what = "the kernel cache is not used: " + error.what;
    error.hint = "Kernels are compiled anew in each process. " +
                 (error.hint.empty() ? "Set VITRINE_CACHE_DIR to a writable folder of your own."
                                     : error.hint + " VITRINE_CACHE_DIR names it.");
    if (dir.empty()) rmdir(path.c_str());
    return error;
  }
  cache->folder_ = folder.take();
  return cache;
}

ObjectCache::~ObjectCache() {
  std::error_code ignored;
  if (own_dir_) fs::remove_all(dir(), ignored);
}

std::string ObjectCache::key(const std::string& source) {
  std::string what = "format 1\nprotocol " + std::to_string(kc::kProtocolVersion) + "\nLLVM " +
                     std::string(kc::llvm_version_built_for()) + "\n" + host_cpu_identity() + "\n";
  for (std::string_view argument : kc::kClangArguments) what += std::string(argument) + " ";
  return sha256_hex(what + "\n" + source).substr(0, 40);
}

Result<ObjectCache::Entry> ObjectCache::insert(const std::string& key, const std::string& object) {
  auto entry = folder_.insert(key, ".so", object);
  if (entry) return entry;
  return Error{"compiled kernels cannot be kept: " + entry.error().what,
               "They are compiled anew in each process. Make room there, or set VITRINE_CACHE_DIR.", dir()};
}

void ObjectCache::remove(const std::string& key) {
  folder_.remove(key, ".so");
  folder_.remove(key, ".json");
}

std::optional<kc::Texts> ObjectCache::texts(const std::string& key) {
  auto file = folder_.find(key, ".json");
  if (!file) return {};
  auto texts = kc::decode_texts(file->content);
  if (!texts) return {};
  return texts.take();
}

void ObjectCache::insert_texts(const std::string& key, const kc::Texts& texts) {
  (void)folder_.insert(key, ".json", kc::encode(texts));  // without them it is compiled again
}

Result<LoadedKernel> load_kernel(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return Error{std::string("a compiled kernel cannot be loaded: ") + (why ? why : "?"), "", path};
  }
  LoadedKernel kernel;
  kernel.library = std::shared_ptr<void>(library, [](void* l) { dlclose(l); });
  kernel.function = reinterpret_cast<KernelFunction>(dlsym(library, "vitrine_kernel"));
  if (!kernel.function) return Error{"a compiled kernel has no function vitrine_kernel", "", path};
  return kernel;
}

Result<LoadedKernel> load_kernel(const Descriptor& file) {
  return load_kernel(name_of(file));
}

}  // namespace vitrine::runtime
