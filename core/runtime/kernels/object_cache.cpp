#include "core/runtime/kernels/object_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/base/sha256.h"
#include "core/runtime/kernels/host_cpu.h"

namespace vitrine::runtime {

namespace fs = std::filesystem;
namespace kc = kernel_compiler;

namespace {

constexpr char kMagic[8] = {'V', 'T', 'R', 'K', 'O', 'B', 'J', '1'};
struct Seal {  // the last bytes of an entry; the loader does not look beyond the ELF's own tables
  char magic[8];
  uint64_t bytes;
  uint64_t checksum;
};

// Against truncation and flipped bits, not against malice.
uint64_t checksum(std::string_view bytes) {
  uint64_t h = 0x9e3779b97f4a7c15;
  while (!bytes.empty()) {
    uint64_t word = 0;
    size_t n = std::min<size_t>(8, bytes.size());
    std::memcpy(&word, bytes.data(), n);
    h = (h ^ word) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
    bytes.remove_prefix(n);
  }
  return h;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

bool write_file(const std::string& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  return out.good();
}

bool ours(const struct stat& s) {
  return s.st_uid == geteuid() || s.st_uid == 0;
}

bool sound(const std::string& content) {
  if (content.size() <= sizeof(Seal)) return false;
  Seal seal;
  std::memcpy(&seal, content.data() + content.size() - sizeof seal, sizeof seal);
  size_t bytes = content.size() - sizeof seal;
  return std::memcmp(seal.magic, kMagic, sizeof kMagic) == 0 && seal.bytes == bytes &&
         seal.checksum == checksum(std::string_view(content).substr(0, bytes));
}

}  // namespace

Result<std::shared_ptr<ObjectCache>> ObjectCache::open(const std::string& dir, int64_t max_bytes) {
  std::shared_ptr<ObjectCache> cache(new ObjectCache);
  cache->max_bytes_ = max_bytes;
  std::error_code error;
  if (dir.empty()) {
    std::string name = (fs::temp_directory_path(error) / "vitrine-kernels-XXXXXX").string();
    if (error || !mkdtemp(name.data()))
      return Error{"no temporary folder for compiled kernels can be made",
                   "Set TMPDIR to a writable folder."};
    cache->dir_ = name;
    cache->own_dir_ = true;
    return cache;
  }
  cache->dir_ = dir + "/kernels";
  fs::create_directories(cache->dir_, error);
  struct stat s{};
  if (error || stat(cache->dir_.c_str(), &s) != 0 || access(cache->dir_.c_str(), W_OK) != 0)
    return Error{"the kernel cache cannot be written", "Set VITRINE_CACHE_DIR to a writable folder.",
                 cache->dir_};
  if (!ours(s) || (s.st_mode & S_IWOTH))
    return Error{"the kernel cache is a folder that other users may write to, and code in it is run",
                 "Set VITRINE_CACHE_DIR to a folder of your own.", cache->dir_};
  return cache;
}

ObjectCache::~ObjectCache() {
  std::error_code ignored;
  if (own_dir_) fs::remove_all(dir_, ignored);
}

std::string ObjectCache::key(const std::string& source) {
  std::string what = "format 1\nprotocol " + std::to_string(kc::kProtocolVersion) + "\nLLVM " +
                     std::string(kc::llvm_version_built_for()) + "\n" + host_cpu_identity() + "\n";
  for (std::string_view argument : kc::kClangArguments) what += std::string(argument) + " ";
  return sha256_hex(what + "\n" + source).substr(0, 40);
}

std::optional<std::string> ObjectCache::find(const std::string& key) {
  std::string file = path(key, ".so");
  struct stat s{};
  if (stat(file.c_str(), &s) != 0 || !ours(s)) return {};
  auto content = read_file(file);
  if (!content || !sound(*content)) {
    remove(key);
    return {};
  }
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // used now
  return file;
}

std::string ObjectCache::fresh_path(const std::string& key) {
  return path(key, "") + "." + std::to_string(getpid()) + "." + std::to_string(++count_) + ".tmp";
}

Result<std::string> ObjectCache::insert(const std::string& key, const std::string& fresh) {
  auto content = read_file(fresh);
  if (!content || content->empty()) return Error{"the compiled kernel is missing", "", fresh};
  Seal seal;
  std::memcpy(seal.magic, kMagic, sizeof kMagic);
  seal.bytes = content->size();
  seal.checksum = checksum(*content);
  content->append(reinterpret_cast<const char*>(&seal), sizeof seal);
  std::string file = path(key, ".so");
  std::error_code error;
  if (!write_file(fresh, *content)) {
    fs::remove(fresh, error);
    return Error{"the kernel cache cannot be written: is the disk full?", "", fresh};
  }
  fs::rename(fresh, file, error);
  if (error) return Error{"the kernel cache cannot be written: " + error.message(), "", file};
  return file;
}

void ObjectCache::remove(const std::string& key) {
  std::error_code ignored;
  fs::remove(path(key, ".so"), ignored);
  fs::remove(path(key, ".json"), ignored);
}

std::optional<kc::Texts> ObjectCache::texts(const std::string& key) {
  auto content = read_file(path(key, ".json"));
  if (!content) return {};
  auto texts = kc::decode_texts(*content);
  if (!texts) return {};
  return texts.take();
}

void ObjectCache::insert_texts(const std::string& key, const kc::Texts& texts) {
  std::string fresh = fresh_path(key);
  std::error_code ignored;
  if (write_file(fresh, kc::encode(texts)))
    fs::rename(fresh, path(key, ".json"), ignored);
  else
    fs::remove(fresh, ignored);
}

void ObjectCache::trim() {
  struct File {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes;
  };
  std::vector<File> files;
  int64_t total = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir_, error)) {
    std::error_code gone;  // another process may trim too
    auto bytes = static_cast<int64_t>(entry.file_size(gone));
    auto used = entry.last_write_time(gone);
    if (gone) continue;
    total += bytes;
    files.push_back({entry.path(), used, bytes});
  }
  if (total <= max_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= max_bytes_ / 5 * 4) break;
    if (fs::remove(file.path, error)) total -= file.bytes;
  }
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

}  // namespace vitrine::runtime
