#include "app/cli/python_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/python_module.h"

namespace vitrine::cli {

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

void set_python_path(const Places& places) {
  std::string path = environment("PYTHONPATH");
  setenv("PYTHONPATH", (places.package + (path.empty() ? "" : ":" + path)).c_str(), 1);
}

volatile sig_atomic_t running_child = 0;

extern "C" void pass_to_child(int number) {
  if (running_child > 0) kill(static_cast<pid_t>(running_child), number);
}

}  // namespace

Places places() {
  Places out;
  std::error_code ignored;
  out.bin = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  out.package = (std::filesystem::path(out.bin).parent_path() / "python").string();
  out.python = environment("VITRINE_PYTHON");
  if (out.python.empty()) out.python = VITRINE_BUILD_PYTHON;
  return out;
}

Error exec_program(const std::string& path, const std::vector<std::string>& args) {
  std::vector<std::string> words{path};
  words.insert(words.end(), args.begin(), args.end());
  execvp(path.c_str(), pointers(words).data());
  return Error{path + " cannot be started: " + std::strerror(errno),
               "Run ./vitrine once to build everything.", ""};
}

namespace {
Error exec_python(const Places& places, std::vector<std::string> words,
                  const std::vector<std::string>& args) {
  set_python_path(places);
  words.insert(words.begin(), places.python);
  words.insert(words.end(), args.begin(), args.end());
  execvp(words[0].c_str(), pointers(words).data());
  return Error{places.python + " cannot be started: " + std::strerror(errno),
               "Set VITRINE_PYTHON to a Python 3.11 or 3.12 with PyTorch.", ""};
}
}  // namespace

Error exec_module(const Places& places, const std::string& module, const std::vector<std::string>& args) {
  const auto words = python_module_words(module);
  return exec_python(places, {words.begin(), words.end()}, args);
}

Error exec_doctor(const Places& places, const std::vector<std::string>& args) {
  return exec_python(places, {places.package + "/vitrine/doctor.py"}, args);
}

Result<Ended> run_module(const Places& places, const std::string& module,
                         const std::vector<std::string>& args) {
  pid_t child = fork();
  if (child < 0) return Error{std::string("No process could be started: ") + std::strerror(errno), "", ""};
  if (child == 0) {
    Error error = exec_module(places, module, args);
    std::fprintf(stderr, "vitrine: %s\n  %s\n", error.what.c_str(), error.hint.c_str());
    _exit(1);
  }
  running_child = child;
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, pass_to_child);
  signal(SIGHUP, pass_to_child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  return WIFEXITED(status) ? Ended{WEXITSTATUS(status), 0} : Ended{0, WTERMSIG(status)};
}

bool has_display() {
  return !environment("DISPLAY").empty() || !environment("WAYLAND_DISPLAY").empty();
}

}  // namespace vitrine::cli
