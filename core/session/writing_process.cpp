#include "core/session/writing_process.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <vector>

namespace vitrine::session {

namespace {

// The 22nd field of /proc/PID/stat, in ticks since the boot; "": there is no such process, or it is a zombie.
// The second field, the program's name in parentheses, may hold anything.
std::string start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name = text.rfind(')');
  if (name == std::string::npos) return "";
  std::istringstream rest(text.substr(name + 1));
  std::string field, state;
  for (int i = 3; i <= 22; ++i) {
    if (!(rest >> field)) return "";
    if (i == 3) state = field;
  }
  return state == "Z" ? "" : field;
}

std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string out;
  std::getline(file, out);
  return out;
}

std::string process_ids() {
  std::array<char, 64> name{};
  const ssize_t n = readlink("/proc/self/ns/pid", name.data(), name.size());
  return n > 0 ? std::string(name.data(), static_cast<size_t>(n)) : "";
}

}  // namespace

std::string writing_process() {
  const std::string pid = std::to_string(getpid()), start = start_of(pid);
  return start.empty() ? "" : boot() + " " + process_ids() + " " + pid + " " + start;
}

bool has_ended(const std::string& process) {
  std::istringstream text(process);
  std::string its_boot, its_ids, pid, start;
  if (!(text >> its_boot >> its_ids >> pid >> start)) return false;
  if (its_boot != boot()) return true;  // before this boot, or on another machine, of which this is a copy
  if (its_ids != process_ids()) return false;  // in a container that cannot be looked into
  return start_of(pid) != start;
}

}  // namespace vitrine::session
