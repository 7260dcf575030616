#include "core/runtime/cuda/disassembler.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/clock.h"

extern char** environ;

namespace vitrine::runtime::cuda {

namespace {

constexpr std::chrono::seconds kLongest{30};

// A file without a name that a child process can open.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(memfd_create("cubin", 0)) {
    for (size_t at = 0; fd_ >= 0 && at < content.size();) {
      const ssize_t n = write(fd_, content.data() + at, content.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  bool made() const { return fd_ >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// All that comes out of `fd` until its end; false: it takes too long.
bool read_all(int fd, std::string& out) {
  const auto deadline = Clock::now() + kLongest;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd p{fd, POLLIN, 0};
    if (left.count() <= 0 || poll(&p, 1, static_cast<int>(left.count())) == 0) return false;
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out.append(chunk.data(), static_cast<size_t>(n));
  }
}

int start(const std::string& program, std::string file, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::string name = program, lines = "-gi", code = "-c";
  char* argv[] = {name.data(), lines.data(), code.data(), file.data(), nullptr};
  const int failed = posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

Result<std::string> disassemble(const std::string& program, const std::string& cubin) {
  if (program.empty())
    return Error{"nvdisasm, which prints SASS, was not found",
                 "Install CUDA's toolkit, or the Python package nvidia-cuda-nvdisasm."};
  const MemoryFile file(cubin);
  int ends[2];
  if (!file.made() || pipe2(ends, O_CLOEXEC) != 0)
    return Error{std::string("no pipe for nvdisasm: ") + std::strerror(errno), ""};
  pid_t pid = -1;
  const int failed = start(program, file.path(), ends[1], pid);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    return Error{program + " cannot be started: " + std::strerror(failed), ""};
  }
  std::string text;
  const bool ended = read_all(ends[0], text);
  close(ends[0]);
  if (!ended) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return Error{"nvdisasm took too long", ""};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{"nvdisasm failed: " + text.substr(0, text.find('\n')), ""};
  return text;
}

}  // namespace vitrine::runtime::cuda
