#include "core/base/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>

namespace vitrine {

namespace {

constexpr int kMostLinks = 40;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::deque<std::string> parts_of(const std::string& path) {
  std::deque<std::string> out;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at && path.compare(at, end - at, ".") != 0) out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool holds_only(int fd, const std::vector<std::string>& known) {
  DIR* dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return false;
  bool only = true;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    only =
        only && (name == "." || name == ".." || std::find(known.begin(), known.end(), name) != known.end());
  }
  closedir(dir);
  return only;
}

// Goes down a path, one folder at a time, each opened below the one that was checked before.
class PathWalk {
 public:
  PathWalk(const std::string& path, const std::vector<std::string>& known)
      : known_(known), rest_(parts_of(path)), at_(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

  Status run() {
    if (Status bad = check("/", false)) return bad;
    while (!rest_.empty()) {
      const std::string name = rest_.front();
      rest_.pop_front();
      if (Status bad = enter(name)) return bad;
    }
    return std::nullopt;
  }
  Descriptor take() { return Descriptor(openat(at_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

 private:
  Error failed(const std::string& path, int number) const {
    return Error{std::string("the folder cannot be used: ") + std::strerror(number), "", path};
  }

  Status enter(const std::string& name) {
    const std::string path = said_ + "/" + name;
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    Descriptor next(openat(at_.get(), name.c_str(), flags));
    if (!next && errno == ENOENT) {
      if (mkdirat(at_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) return failed(path, errno);
      next = Descriptor(openat(at_.get(), name.c_str(), flags));
    }
    struct stat s{};
    if (!next || fstat(next.get(), &s) != 0) return failed(path, errno);
    if (S_ISLNK(s.st_mode)) return follow(next.get(), s, path);
    if (!S_ISDIR(s.st_mode)) return failed(path, ENOTDIR);
    parent_ = std::move(at_);
    at_ = std::move(next);
    said_ = path;
    name_ = name;
    return check(path, rest_.empty());
  }

  // A link of another user's may be changed by that user at any time.
  Status follow(int link, const struct stat& s, const std::string& path) {
    if (s.st_uid != 0 && s.st_uid != geteuid())
      return Error{"a link on the way to it belongs to another user", "", path};
    std::string target(PATH_MAX, '\0');
    const ssize_t n = readlinkat(link, "", target.data(), target.size());
    if (n <= 0 || ++links_ > kMostLinks) return failed(path, n <= 0 ? errno : ELOOP);
    target.resize(static_cast<size_t>(n));
    const auto more = parts_of(target);
    rest_.insert(rest_.begin(), more.begin(), more.end());
    if (target[0] != '/') return std::nullopt;
    at_ = Descriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    said_.clear();
    return std::nullopt;
  }

  Status check(const std::string& path, bool last) {
    struct stat s{};
    if (!at_ || fstat(at_.get(), &s) != 0) return failed(path, errno);
    const bool mine = s.st_uid == geteuid();
    if (!mine && (s.st_uid != 0 || last))
      return Error{"it belongs to another user", "Name a folder of your own.", path};
    if (last && (s.st_mode & 077) == 0) return std::nullopt;
    if (!last && (!(s.st_mode & kOthersWrite) || (s.st_mode & S_ISVTX))) return std::nullopt;
    const mode_t mode = last ? 0700 : (s.st_mode & 07777 & ~kOthersWrite);
    const bool ours = last || (mine && holds_only(at_.get(), known_));
    if (ours && fchmodat(parent_.get(), name_.c_str(), mode, 0) == 0) return std::nullopt;
    return Error{"other users may write to it",
                 "Forbid that (chmod go-w " + path + "), or name a folder of your own.", path};
  }

  const std::vector<std::string>& known_;
  std::deque<std::string> rest_;
  Descriptor at_, parent_;
  std::string said_, name_;
  int links_ = 0;
};

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor memory_file(std::string_view content) {
  Descriptor fd(memfd_create("vitrine", MFD_CLOEXEC));
  return fd && write_all(fd.get(), content) ? std::move(fd) : Descriptor();
}

Result<PrivateFolder> PrivateFolder::open(const std::string& path, const std::vector<std::string>& known) {
  std::error_code error;
  PrivateFolder out;
  out.path_ = std::filesystem::absolute(path, error).string();
  PathWalk walk(out.path_, known);
  if (Status bad = walk.run()) return *bad;
  out.fd_ = walk.take();
  if (!out.fd_ || faccessat(out.fd_.get(), ".", W_OK, AT_EACCESS) != 0)
    return Error{std::string("it cannot be written: ") + std::strerror(errno), "", out.path_};
  return out;
}

std::optional<PrivateFolder::File> PrivateFolder::read(const std::string& name, int64_t most) const {
  File out;
  // Without waiting: it may be a pipe that nobody writes to.
  out.fd = Descriptor(openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat s{};
  if (!out.fd || fstat(out.fd.get(), &s) != 0 || !S_ISREG(s.st_mode)) return {};
  if (s.st_uid != geteuid() || (s.st_mode & kOthersWrite) || s.st_size > most) return {};
  out.content.resize(static_cast<size_t>(s.st_size));
  for (size_t done = 0; done < out.content.size();) {
    const ssize_t n = ::read(out.fd.get(), out.content.data() + done, out.content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<size_t>(n);
  }
  return out;
}

namespace {
struct Fresh {
  std::string name;
  Descriptor fd;
};

// A whole new file under a name of its own. Errors: why; then nothing is left.
Result<Fresh> make_fresh(const PrivateFolder& folder, const std::string& name, std::string_view content) {
  static std::atomic<int> count = 0;
  Fresh out{"." + name + "." + std::to_string(getpid()) + "." + std::to_string(++count) + ".tmp",
            Descriptor()};
  unlinkat(folder.fd(), out.name.c_str(), 0);  // of a process that was killed and had this number
  out.fd = Descriptor(
      openat(folder.fd(), out.name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  // Whatever the umask is.
  if (out.fd && fchmod(out.fd.get(), 0600) == 0 && write_all(out.fd.get(), content)) return out;
  const int number = errno;
  if (out.fd) unlinkat(folder.fd(), out.name.c_str(), 0);
  return Error{std::strerror(number), "", folder.path()};
}
}  // namespace

Result<PrivateFolder::File> PrivateFolder::write(const std::string& name, std::string content) const {
  auto fresh = make_fresh(*this, name, content);
  if (!fresh) return fresh.error();
  if (renameat(fd_.get(), fresh.value().name.c_str(), fd_.get(), name.c_str()) != 0) {
    const int number = errno;
    unlinkat(fd_.get(), fresh.value().name.c_str(), 0);
    return Error{std::strerror(number), "", path_};
  }
  return File{std::move(fresh.value().fd), std::move(content)};
}

Status PrivateFolder::write_if_missing(const std::string& name, std::string_view content) const {
  auto fresh = make_fresh(*this, name, content);
  if (!fresh) return fresh.error();
  const bool made = linkat(fd_.get(), fresh.value().name.c_str(), fd_.get(), name.c_str(), 0) == 0;
  const int number = errno;
  unlinkat(fd_.get(), fresh.value().name.c_str(), 0);
  return made || number == EEXIST ? Status() : Error{std::strerror(number), "", path_};
}

void PrivateFolder::remove(const std::string& name) const {
  if (unlinkat(fd_.get(), name.c_str(), 0) != 0 && errno == EISDIR)
    unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace vitrine
