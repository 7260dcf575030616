#include "core/kernel_compiler/linker.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

LLD_HAS_DRIVER(elf)

namespace vitrine::kernel_compiler {

namespace {
// The object as a file that never touches a disk.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(memfd_create("kernel.o", MFD_CLOEXEC)) {
    const char* p = content.data();
    size_t left = fd_ < 0 ? 0 : content.size();
    while (left > 0) {
      ssize_t n = ::write(fd_, p, left);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      p += n;
      left -= static_cast<size_t>(n);
    }
    ok_ = fd_ >= 0 && left == 0;
    problem_ = errno;
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  bool ok() const { return ok_; }
  int problem() const { return problem_; }  // errno, where it is not ok
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
  bool ok_ = false;
  int problem_ = 0;
};

// Takes in what is written to a pipe. lld puts a temporary file beside its output unless that is a pipe.
class PipeReader {
 public:
  PipeReader() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    thread_ = std::thread([this] {
      std::array<char, 1 << 16> chunk;
      for (ssize_t n; (n = read(ends_[0], chunk.data(), chunk.size())) != 0;) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0) content_.append(chunk.data(), static_cast<size_t>(n));
      }
    });
  }
  ~PipeReader() { take(); }
  bool ok() const { return ends_[1] >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
  std::string take() {
    if (ends_[1] >= 0) close(ends_[1]);
    if (thread_.joinable()) thread_.join();
    if (ends_[0] >= 0) close(ends_[0]);
    ends_ = {-1, -1};
    return std::move(content_);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::string content_;
  std::thread thread_;
};
}  // namespace

LinkOutcome link_shared(const std::string& object) {
  MemoryFile file(object);
  PipeReader output;
  if (!file.ok() || !output.ok())
    return {Error{std::string("the object could not be kept in memory for the linker: ") +
                  std::strerror(file.ok() ? errno : file.problem())},
            "", true, true};
  std::string path = file.path(), to = output.path();
  // One thread: a kernel is a few kilobytes, and every core has a helper of its own.
  std::array<const char*, 10> arguments = {"ld.lld",          "-shared",   "--threads=1", "--strip-debug",
                                           "--build-id=none", "-z",        "noexecstack", "-o",
                                           to.c_str(),        path.c_str()};
  std::string out, errors;
  llvm::raw_string_ostream out_stream(out), error_stream(errors);
  lld::Result result = lld::lldMain(arguments, out_stream, error_stream, {{lld::Gnu, &lld::elf::link}});
  LinkOutcome outcome;
  outcome.can_run_again = result.canRunAgain;
  outcome.shared = output.take();
  if (result.retCode != 0 || outcome.shared.empty())
    outcome.failed = Error{"the kernel could not be linked: " + errors};
  return outcome;
}

}  // namespace vitrine::kernel_compiler
