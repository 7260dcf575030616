#include "core/runtime/kernels/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/clock.h"
#include "core/kernel_compiler/protocol/protocol.h"

extern char** environ;

namespace vitrine::runtime {

namespace {

constexpr std::chrono::milliseconds kLook{20};  // how often a waiting thread looks at `cancelled`

constexpr int kNotLoaded = 127;  // how a process ends whose libraries the loader does not find

std::string describe(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return "ended with status " + std::to_string(info.si_status);
  if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
    return std::string("was ended by a signal (") + strsignal(info.si_status) + ")";
  return "ended";
}

}  // namespace

Status HelperProcess::start(const std::string& program, bool warm) {
  stop();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{std::string("no socket for the kernel compiler: ") + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A group of its own: Ctrl-C is meant for the user's program, which decides.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string name = program, serve = "--serve", warm_flag = "--warm";
  char* argv[] = {name.data(), serve.data(), warm ? warm_flag.data() : nullptr, nullptr};
  int error = posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    pid_ = -1;
    return Error{std::string("the kernel compiler cannot be started: ") + std::strerror(error),
                 "Build it, or name its place.", program};
  }
  socket_ = ends[0];
  // Signals go through this: the number may belong to another process once someone else has waited for ours.
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  return {};
}

void HelperProcess::stop() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (pidfd_ >= 0) {
    syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0);
    siginfo_t info{};
    while (waitid(P_PIDFD, static_cast<id_t>(pidfd_), &info, WEXITED) < 0 && errno == EINTR) {
    }
    close(pidfd_);
  } else if (pid_ > 0) {  // a kernel without pidfd_open
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pidfd_ = -1;
  pid_ = -1;
}

// The other end is closed, so it is ending by itself: why?
std::string HelperProcess::reason() {
  siginfo_t info{};
  for (int i = 0; i < 100; ++i) {
    int failed =
        pidfd_ < 0 ? -1 : waitid(P_PIDFD, static_cast<id_t>(pidfd_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (failed != 0 || info.si_pid != 0) break;
    usleep(1000);
  }
  lacks_library_ = info.si_pid != 0 && info.si_code == CLD_EXITED && info.si_status == kNotLoaded;
  return info.si_pid != 0 ? describe(info) : "stopped answering";
}

HelperProcess::Outcome HelperProcess::wait_for(size_t bytes, Clock::time_point deadline,
                                               const std::atomic<bool>& cancelled, std::string& buffer) {
  std::array<char, 1 << 16> chunk;
  while (buffer.size() < bytes) {
    if (cancelled.load()) return Outcome::cancelled;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Outcome::timed_out;
    pollfd p{socket_, POLLIN, 0};
    int ready = poll(&p, 1, static_cast<int>(std::min(left, kLook).count()) + 1);
    if (ready < 0 && errno != EINTR) return Outcome::died;
    if (ready <= 0) continue;
    ssize_t n = recv(socket_, chunk.data(), std::min(chunk.size(), bytes - buffer.size()), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Outcome::died;
    buffer.append(chunk.data(), static_cast<size_t>(n));
  }
  return Outcome::answered;
}

HelperProcess::Outcome HelperProcess::ask(const std::string& frame, std::chrono::milliseconds timeout,
                                          const std::atomic<bool>& cancelled, std::string& answer) {
  auto deadline = Clock::now() + timeout;
  Outcome outcome = Outcome::died;
  if (running() && kernel_compiler::write_frame(socket_, frame)) {
    std::string head;
    outcome = wait_for(4, deadline, cancelled, head);
    if (outcome == Outcome::answered) {
      uint32_t size = 0;
      std::memcpy(&size, head.data(), 4);
      answer.clear();
      outcome = wait_for(size, deadline, cancelled, answer);
    }
  }
  if (outcome == Outcome::answered) return outcome;
  how_it_ended_ = outcome == Outcome::timed_out   ? "took too long"
                  : outcome == Outcome::cancelled ? "was cancelled"
                                                  : reason();
  stop();
  return outcome;
}

}  // namespace vitrine::runtime
