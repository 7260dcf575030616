// A folder whose files nobody but this user can have written: it is opened once, by descriptor, after the
// owner and mode of every folder on the way were checked, and its files are opened through it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace vitrine {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A file of this process's memory that holds `content`; without one where the system has none.
Descriptor memory_file(std::string_view content);

class PrivateFolder {
 public:
  struct File {
    Descriptor fd;
    std::string content;
  };

  // Makes what is missing, for this user alone. A folder of this user's that others may write to is made
  // private if it is the last one, or holds nothing but what is named in `known`. Errors: another folder on
  // the way can be changed by other users; it cannot be made or written. `where` is that folder.
  static Result<PrivateFolder> open(const std::string& path, const std::vector<std::string>& known = {});

  // A file of at most `most` bytes, if it is a regular one that only this user may write to.
  std::optional<File> read(const std::string& name, int64_t most) const;
  // The file appears whole, or not at all. Errors: why it cannot be written.
  Result<File> write(const std::string& name, std::string content) const;
  // As write(), but a file that is there stays.
  Status write_if_missing(const std::string& name, std::string_view content) const;
  void remove(const std::string& name) const;
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  Descriptor fd_;
  std::string path_;
};

}  // namespace vitrine
