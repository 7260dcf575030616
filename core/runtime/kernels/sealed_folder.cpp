#include "core/runtime/kernels/sealed_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include "core/base/sha256.h"
#include "core/base/state_folder.h"

namespace vitrine::runtime {

namespace {

constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr size_t kSecretBytes = 32;
constexpr const char* kSecretName = "cache.key";

constexpr char kMagic[8] = {'V', 'T', 'R', 'K', 'O', 'B', 'J', '2'};
struct Seal {  // the last bytes of a file; a loader does not look beyond the ELF's own tables
  std::array<uint8_t, 32> code;
  uint64_t bytes;
  char magic[8];
};

// What Vitrine keeps in the folder of VITRINE_CACHE_DIR.
const std::vector<std::string>& known_names() {
  static const std::vector<std::string> names = {"kernels",     "choices",  "programs",
                                                 "reproducers", "sessions", "ceilings"};
  return names;
}

// "" where the folder cannot hold one.
std::string secret_in(const PrivateFolder& folder) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto file = folder.read(kSecretName, kSecretBytes);
    if (file && file->content.size() == kSecretBytes) return file->content;
    std::string fresh(kSecretBytes, '\0');
    if (getrandom(fresh.data(), fresh.size(), 0) != static_cast<ssize_t>(kSecretBytes)) return "";
    if (file) folder.remove(kSecretName);  // of another length: damaged
    if (folder.write_if_missing(kSecretName, fresh)) return "";
  }
  return "";
}

// The user's, kept apart from what it seals; beside it only for a user who has no other place.
std::string secret_for(const PrivateFolder& sealed) {
  if (const std::string place = state_path(); !place.empty())
    if (auto folder = PrivateFolder::open(place); folder)
      if (std::string secret = secret_in(folder.value()); !secret.empty()) return secret;
  return secret_in(sealed);
}

std::array<uint8_t, 32> code_of(const std::string& secret, const std::string& name,
                                std::string_view content) {
  return hmac_sha256(secret, {"content of ", name, std::string_view("\0", 1), content});
}

bool same(const std::array<uint8_t, 32>& a, const std::array<uint8_t, 32>& b) {
  unsigned differing = 0;  // in the same time wherever they differ
  for (size_t i = 0; i < a.size(); ++i) differing |= static_cast<unsigned>(a[i] ^ b[i]);
  return differing == 0;
}

}  // namespace

Result<PrivateFolder> cache_folder(const std::string& path) {
  return PrivateFolder::open(path, known_names());
}

Result<SealedFolder> SealedFolder::open(const std::string& path) {
  auto folder = cache_folder(path);
  if (!folder) return folder.error();
  SealedFolder out;
  out.folder_ = folder.take();
  out.secret_ = secret_for(out.folder_);
  if (out.secret_.empty()) return Error{"the key of its seals cannot be read or made", "", path};
  return out;
}

Result<SealedFolder> SealedFolder::open_own(const std::string& path) {
  auto folder = PrivateFolder::open(path);
  if (!folder) return folder.error();
  SealedFolder out;
  out.folder_ = folder.take();
  out.secret_.resize(kSecretBytes);
  if (getrandom(out.secret_.data(), kSecretBytes, 0) != static_cast<ssize_t>(kSecretBytes))
    return Error{"the system gives no random numbers", "", path};
  return out;
}

std::string SealedFolder::name(const std::string& key, const char* suffix) const {
  std::string out;
  for (uint8_t byte : hmac_sha256(secret_, {"name of ", key})) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out.substr(0, 40) + suffix;
}

// "" or why a file is not what was written under this name; its content loses the seal.
static std::string unsealed(const std::string& secret, const std::string& name, std::string& content) {
  Seal seal;
  if (content.size() <= sizeof seal) return "it is too short";
  std::memcpy(&seal, content.data() + content.size() - sizeof seal, sizeof seal);
  content.resize(content.size() - sizeof seal);
  if (std::memcmp(seal.magic, kMagic, sizeof kMagic) != 0) return "no seal stands at its end";
  if (seal.bytes != content.size()) return "its seal is of another length";
  if (!same(seal.code, code_of(secret, name, content))) return "its seal is not of its name and content";
  return "";
}

std::optional<PrivateFolder::File> SealedFolder::find(const std::string& key, const char* suffix,
                                                      std::string* refused) const {
  const std::string file = name(key, suffix);
  struct stat s{};
  if (fstatat(folder_.fd(), file.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return {};
  auto found = folder_.read(file, kMostBytes);
  const std::string why = found ? unsealed(secret_, file, found->content)
                                : "it is no plain file of this user's of at most 256 MB";
  if (why.empty()) {
    futimens(found->fd.get(), nullptr);  // used now
    return found;
  }
  if (refused) *refused = why;
  folder_.remove(file);
  return {};
}

Result<PrivateFolder::File> SealedFolder::insert(const std::string& key, const char* suffix,
                                                 std::string content) const {
  const std::string file = name(key, suffix);
  Seal seal;
  std::memcpy(seal.magic, kMagic, sizeof kMagic);
  seal.bytes = content.size();
  seal.code = code_of(secret_, file, content);
  content.append(reinterpret_cast<const char*>(&seal), sizeof seal);
  auto written = folder_.write(file, std::move(content));
  if (written) written.value().content.resize(written.value().content.size() - sizeof seal);
  return written;
}

void SealedFolder::trim(int64_t most_bytes) const {
  std::vector<std::tuple<int64_t, std::string, int64_t>> files;  // used, name, bytes
  int64_t total = 0;
  DIR* dir = fdopendir(openat(folder_.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return;
  while (const dirent* entry = readdir(dir)) {
    struct stat s{};
    const std::string file = entry->d_name;
    if (file == kSecretName || fstatat(folder_.fd(), file.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(s.st_mode))
      continue;
    total += s.st_size;
    files.emplace_back(s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec, file, s.st_size);
  }
  closedir(dir);
  if (total <= most_bytes) return;
  std::sort(files.begin(), files.end());
  for (const auto& [used, file, bytes] : files) {
    if (total <= most_bytes / 5 * 4) break;
    folder_.remove(file);
    total -= bytes;
  }
}

}  // namespace vitrine::runtime
