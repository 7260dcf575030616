#include "core/base/state_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace vitrine {

namespace {

// Nobody but this user and root may change what stands under that name.
bool only_mine(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  if (st.st_uid != geteuid() && st.st_uid != 0) return false;
  return (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0;
}

}  // namespace

std::string state_path() {
  if (const char* set = std::getenv("XDG_STATE_HOME"); set && *set == '/')
    return std::string(set) + "/vitrine";
  const char* home = std::getenv("HOME");
  if (!home || *home != '/') {
    const passwd* user = getpwuid(geteuid());
    home = user ? user->pw_dir : nullptr;
  }
  return home && *home == '/' ? std::string(home) + "/.local/state/vitrine" : "";
}

Descriptor state_folder(const char* name, Absent absent) {
  const std::string place = state_path();
  if (place.empty()) return {};
  const std::string path = place + "/" + name;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (absent == Absent::IsMade) mkdir(part.c_str(), 0700);
    if (!only_mine(part)) return {};
    if (end == std::string::npos) break;
  }
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  const bool mine =
      folder && fstat(folder.get(), &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
  return mine ? std::move(folder) : Descriptor();
}

}  // namespace vitrine
