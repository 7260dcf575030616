#include "app/cli/python_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/bridge/python_module.h"
#include "app/cli/overheard.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

void set_python_path(const InstalledPlaces& places) {
  if (places.installed) return;
  std::string path = environment("PYTHONPATH");
  setenv("PYTHONPATH", (places.package + (path.empty() ? "" : ":" + path)).c_str(), 1);
}

volatile sig_atomic_t running_child = 0;

extern "C" void pass_to_child(int number) {
  if (running_child > 0) kill(static_cast<pid_t>(running_child), number);
}

// The Python of the environment whose lib/python3.x/site-packages this is.
std::string python_of(const fs::path& site_packages) {
  const fs::path own = site_packages.parent_path().parent_path().parent_path() / "bin" / "python3";
  return access(own.c_str(), X_OK) == 0 ? own.string() : "python3";
}

}  // namespace

InstalledPlaces places() {
  InstalledPlaces out;
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const fs::path above = bin.parent_path();
  out.bin = bin.string();
  out.installed = fs::exists(above / "__init__.py", ignored);
  out.package = out.installed ? above.parent_path().string() : (above / "python").string();
  out.python = environment("VITRINE_PYTHON");
  if (out.python.empty()) out.python = out.installed ? python_of(out.package) : VITRINE_BUILD_PYTHON;
  return out;
}

Error exec_program(const std::string& path, const std::vector<std::string>& args) {
  std::vector<std::string> words{path};
  words.insert(words.end(), args.begin(), args.end());
  execvp(path.c_str(), pointers(words).data());
  return Error{
      path + " cannot be started: " + std::strerror(errno),
      "Run ./vitrine once to build everything; a wheel carries the application where it was built with Qt 6.",
      ""};
}

namespace {
Error exec_python(const InstalledPlaces& places, std::vector<std::string> words,
                  const std::vector<std::string>& args) {
  set_python_path(places);
  words.insert(words.begin(), places.python);
  words.insert(words.end(), args.begin(), args.end());
  execvp(words[0].c_str(), pointers(words).data());
  return Error{places.python + " cannot be started: " + std::strerror(errno),
               "Set VITRINE_PYTHON to a Python 3.11, 3.12 or 3.13 with PyTorch.", ""};
}
}  // namespace

Error exec_module(const InstalledPlaces& places, const std::string& module,
                  const std::vector<std::string>& args) {
  const auto words = python_module_words(module);
  return exec_python(places, {words.begin(), words.end()}, args);
}

Error exec_doctor(const InstalledPlaces& places, const std::vector<std::string>& args) {
  return exec_python(places, {places.package + "/vitrine/_tools/doctor.py"}, args);
}

Result<Ended> run_module(const InstalledPlaces& places, const std::string& module,
                         std::vector<std::string> args) {
  int ends[2];
  if (pipe(ends) != 0)
    return Error{std::string("No process could be started: ") + std::strerror(errno), "", ""};
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // what the user's code started may hold the other end
  args.insert(args.begin(), "--outcome=" + std::to_string(ends[1]));
  // Until the child is ready to answer an interrupt it is held back: a Python that starts prints its insides.
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  Overheard overheard;
  pid_t child = fork();
  if (child == 0) {
    overheard.take_outputs();
    Error error = exec_module(places, module, args);
    std::fprintf(stderr, "vitrine: %s\n  %s\n", error.what.c_str(), error.hint.c_str());
    [[maybe_unused]] const ssize_t n = write(ends[1], "{\"status\":\"\"}\n", 14);
    _exit(1);
  }
  const int problem = errno;
  close(ends[1]);
  overheard.child_started();
  if (child > 0) {
    running_child = child;
    // An interrupt from before there was a child is the child's, too; here it is forgotten.
    sigset_t waiting;
    if (sigpending(&waiting) == 0 && sigismember(&waiting, SIGINT) == 1) kill(child, SIGINT);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, pass_to_child);
    signal(SIGHUP, pass_to_child);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Ended out;
  out.written = overheard.last();
  std::array<char, 8192> text;
  for (ssize_t n = 0; child > 0 && (n = ::read(ends[0], text.data(), text.size())) > 0;)
    out.said.append(text.data(), static_cast<size_t>(n));
  close(ends[0]);
  if (child < 0) return Error{std::string("No process could be started: ") + std::strerror(problem), "", ""};
  for (int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  out.signal = WIFEXITED(status) ? 0 : WTERMSIG(status);
  return out;
}

bool has_display() {
  return !environment("DISPLAY").empty() || !environment("WAYLAND_DISPLAY").empty();
}

}  // namespace vitrine::cli
