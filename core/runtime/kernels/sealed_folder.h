// Files that this user's Vitrine wrote and nobody has changed, exchanged or renamed since. Each ends with a
// seal over its name and content, made with a secret of the user's; a file whose seal does not fit counts as
// missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/private_folder.h"
#include "core/base/result.h"

namespace vitrine::runtime {

// A folder in that of VITRINE_CACHE_DIR, which is made private if it holds nothing but what Vitrine keeps
// there.
Result<PrivateFolder> cache_folder(const std::string& path);

class SealedFolder {
 public:
  // Errors: as PrivateFolder::open.
  static Result<SealedFolder> open(const std::string& path);
  // One that no other process reads.
  static Result<SealedFolder> open_own(const std::string& path);

  // The content without its seal, and the file that holds both. refused (may be null): why a file that was
  // there, and is removed, does not count; "" where there was none.
  std::optional<PrivateFolder::File> find(const std::string& key, const char* suffix,
                                          std::string* refused = nullptr) const;
  // Errors: it cannot be written.
  Result<PrivateFolder::File> insert(const std::string& key, const char* suffix, std::string content) const;
  void remove(const std::string& key, const char* suffix) const { folder_.remove(name(key, suffix)); }
  // A file's name tells nobody what it is of, and two users' secrets give two names.
  std::string name(const std::string& key, const char* suffix) const;
  // Removes the files that were used longest ago until less than the limit is left.
  void trim(int64_t most_bytes) const;
  const std::string& path() const { return folder_.path(); }

 private:
  PrivateFolder folder_;
  std::string secret_;
};

}  // namespace vitrine::runtime
