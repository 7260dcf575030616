#include "core/session/state_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace vitrine::session {

namespace {

std::string state_home() {
  if (const char* set = std::getenv("XDG_STATE_HOME"); set && *set == '/') return set;
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.local/state";
  const passwd* user = getpwuid(geteuid());
  return user && user->pw_dir && *user->pw_dir == '/' ? std::string(user->pw_dir) + "/.local/state" : "";
}

// Nobody but this user and root may change what stands under that name.
bool only_mine(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  if (st.st_uid != geteuid() && st.st_uid != 0) return false;
  return (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0;
}

}  // namespace

Descriptor state_folder(const char* name, Absent absent) {
  const std::string home = state_home();
  if (home.empty()) return Descriptor(-1);
  const std::string path = home + "/vitrine/" + name;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (absent == Absent::IsMade) mkdir(part.c_str(), 0700);
    if (!only_mine(part)) return Descriptor(-1);
    if (end == std::string::npos) break;
  }
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st{};
  if (folder < 0) return Descriptor(-1);
  if (fstat(folder, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0) return Descriptor(folder);
  close(folder);
  return Descriptor(-1);
}

}  // namespace vitrine::session
