#include "app/cli/overheard.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>

namespace vitrine::cli {

struct Overheard::Kept {
  std::atomic<uint64_t> written;  // all that ever was
  std::array<char, 64 << 10> ring;

  void add(const char* text, size_t size) {
    uint64_t at = written.load(std::memory_order_relaxed);
    for (size_t i = 0; i < size; ++i) ring[at++ % ring.size()] = text[i];
    written.store(at, std::memory_order_release);
  }
  std::string text() const {
    const uint64_t end = written.load(std::memory_order_acquire);
    std::string out;
    for (uint64_t i = end - std::min<uint64_t>(end, ring.size()); i < end; ++i) out += ring[i % ring.size()];
    return out;
  }
};

namespace {

volatile sig_atomic_t resized = 0;

extern "C" void note_size(int) {
  resized = 1;
}

void copy_size(int from, int to) {
  winsize size{};
  if (ioctl(from, TIOCGWINSZ, &size) == 0) ioctl(to, TIOCSWINSZ, &size);
}

bool same_file(int a, int b) {
  struct stat x{}, y{};
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool write_all(int to, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(to, text, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd ready{to, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (n <= 0) return false;
    text += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool Overheard::make_way(Way& way) {
  if (!isatty(way.out)) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    way.from = ends[0], way.to = ends[1];
  } else {
    if (openpty(&way.from, &way.to, nullptr, nullptr, nullptr) != 0) return false;
    termios plain{};  // what is written comes out as it is: the real terminal does the rest
    if (tcgetattr(way.to, &plain) == 0) {
      plain.c_oflag &= static_cast<tcflag_t>(~OPOST);
      plain.c_lflag &= static_cast<tcflag_t>(~ECHO);
      tcsetattr(way.to, TCSANOW, &plain);
    }
    copy_size(way.out, way.to);
  }
  fcntl(way.from, F_SETFD, FD_CLOEXEC);
  fcntl(way.to, F_SETFD, FD_CLOEXEC);
  return true;
}

Overheard::Overheard() {
  void* shared = mmap(nullptr, sizeof(Kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  kept_ = new (shared) Kept{};
  ways_[0].out = STDOUT_FILENO, ways_[1].out = STDERR_FILENO;
  const int wanted = same_file(STDOUT_FILENO, STDERR_FILENO) ? 1 : 2;
  for (; count_ < wanted && make_way(ways_[static_cast<size_t>(count_)]); ++count_) {
  }
  passing_ = count_ == wanted ? fork() : -1;
  if (passing_ == 0) {
    close_writing_ends();
    pass_on();
    _exit(0);
  }
  for (Way& way : ways_) {
    if (way.from >= 0) close(way.from);
    way.from = -1;
  }
  if (passing_ < 0) close_writing_ends();
}

Overheard::~Overheard() {
  close_writing_ends();
  if (kept_) munmap(kept_, sizeof(Kept));
}

void Overheard::close_writing_ends() {
  for (Way& way : ways_) {
    if (way.to >= 0) close(way.to);
    way.to = -1;
  }
}

void Overheard::pass_on() {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) signal(number, SIG_IGN);
  struct sigaction act{};
  act.sa_handler = note_size;
  sigaction(SIGWINCH, &act, nullptr);
  std::array<char, 16 << 10> text;
  std::array<pollfd, 2> open{};
  for (size_t i = 0; i < open.size(); ++i) open[i] = {ways_[i].from, POLLIN, 0};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (resized) {
      resized = 0;
      for (const Way& way : ways_)
        if (way.from >= 0 && isatty(way.out)) copy_size(way.out, way.from);
    }
    if (poll(open.data(), open.size(), -1) < 0) continue;
    for (size_t i = 0; i < open.size(); ++i) {
      if (!open[i].revents) continue;
      const ssize_t n = ::read(open[i].fd, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || !write_all(ways_[i].out, text.data(), static_cast<size_t>(n)))
        close(open[i].fd), open[i].fd = -1;  // whoever goes on writing there is told
      else
        kept_->add(text.data(), static_cast<size_t>(n));
    }
  }
}

void Overheard::take_outputs() const {
  if (passing_ < 0) return;
  dup2(ways_[0].to, STDOUT_FILENO);
  dup2(ways_[static_cast<size_t>(count_ - 1)].to, STDERR_FILENO);
}

void Overheard::child_started() {
  close_writing_ends();
}

std::string Overheard::last() {
  if (passing_ < 0) return "";
  // Until all is passed on; what the child has started may hold its outputs for longer.
  constexpr int kQuiet = 10, kMost = 400;  // of 5 ms
  uint64_t before = kept_->written;
  for (int i = 0, quiet = 0; i < kMost && quiet < kQuiet; ++i) {
    if (waitpid(passing_, nullptr, WNOHANG) == passing_) break;
    usleep(5000);
    quiet = kept_->written == before ? quiet + 1 : 0;
    before = kept_->written;
  }
  return kept_->text();
}

}  // namespace vitrine::cli
