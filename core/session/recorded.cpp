#include "core/session/recorded.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/sha256.h"
#include "core/base/state_folder.h"

namespace vitrine::session {

namespace {

constexpr size_t kMostKept = 6000;  // of what is older a third is forgotten

// The folder of the notes; no folder, no notes.
Descriptor notes_folder(Absent absent = Absent::Stays) {
  return state_folder("recorded", absent);
}

bool there(int folder, const std::string& name) {
  return faccessat(folder, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string read_note(int folder, const std::string& name) {
  const Descriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 256> text{};
  const ssize_t n = file ? read(file.get(), text.data(), text.size()) : 0;
  return n > 0 ? std::string(text.data(), static_cast<size_t>(n)) : "";
}

void write_note(int folder, const std::string& name, const std::string& text) {
  const Descriptor file(
      openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  // One that is not written whole matches nothing.
  if (file && write(file.get(), text.data(), text.size()) < 0) unlinkat(folder, name.c_str(), 0);
}

// The names that begin so; all of them for "".
std::vector<std::string> names_in(int folder, const std::string& begin) {
  std::vector<std::string> out;
  DIR* list = fdopendir(dup(folder));
  if (!list) return out;
  rewinddir(list);
  while (const dirent* entry = readdir(list))
    if (entry->d_name[0] != '.' && std::string_view(entry->d_name).starts_with(begin))
      out.emplace_back(entry->d_name);
  closedir(list);
  return out;
}

void forget_oldest(int folder) {
  std::vector<std::string> names = names_in(folder, "");
  if (names.size() < kMostKept) return;
  std::vector<std::pair<int64_t, std::string>> by_age;
  for (std::string& name : names) {
    struct stat st{};
    if (fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
      by_age.emplace_back(st.st_mtime, std::move(name));
  }
  std::sort(by_age.begin(), by_age.end());
  by_age.resize(by_age.size() / 3);
  for (const auto& [age, name] : by_age) unlinkat(folder, name.c_str(), 0);
}

// ---- a file

struct FileState {
  std::string identity;  // the same as long as the file is there, of no other file ever
  std::string times;     // differ once it was written, moved or copied
  int64_t size = 0;
};

std::string nanoseconds(const statx_timestamp& t) {
  return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
}

// Nothing of what is no plain file of this user's.
std::optional<FileState> state_of(int folder, const char* path, int flags) {
  struct statx st{};
  if (statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &st) != 0) return std::nullopt;
  if (!S_ISREG(st.stx_mode) || st.stx_uid != geteuid()) return std::nullopt;
  FileState out;
  out.size = static_cast<int64_t>(st.stx_size);
  // A device's number may change with the next start of the machine; it stands in where no birth is known.
  out.identity =
      std::to_string(st.stx_ino) + "-" +
      ((st.stx_mask & STATX_BTIME) ? nanoseconds(st.stx_btime)
                                   : "on-" + std::to_string(makedev(st.stx_dev_major, st.stx_dev_minor)));
  out.times =
      std::to_string(out.size) + " " + nanoseconds(st.stx_mtime) + " " + nanoseconds(st.stx_ctime) + "\n";
  return out;
}

// "": it cannot be read.
std::string digest_of(int file) {
  Sha256 digest;
  std::vector<char> part(1 << 20);
  if (lseek(file, 0, SEEK_SET) != 0) return "";
  ssize_t n = 0;
  while ((n = read(file, part.data(), part.size())) > 0) digest.add({part.data(), static_cast<size_t>(n)});
  if (n < 0) return "";
  std::string out;
  for (uint8_t byte : digest.digest()) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string content_begin(const FileState& state) {
  return "content-" + std::to_string(state.size) + "-";
}

}  // namespace

void mark_being_recorded(const std::string& path) {
  const Descriptor folder = notes_folder(Absent::IsMade);
  const auto state = state_of(AT_FDCWD, path.c_str(), 0);
  if (!folder || !state) return;
  forget_oldest(folder.get());
  write_note(folder.get(), "open-" + state->identity, path + "\n");
}

bool being_recorded(const std::string& path) {
  const Descriptor folder = notes_folder();
  const auto state = state_of(AT_FDCWD, path.c_str(), 0);
  return folder && state && there(folder.get(), "open-" + state->identity);
}

void forget_being_recorded(const std::string& path) {
  const Descriptor folder = notes_folder();
  const auto state = state_of(AT_FDCWD, path.c_str(), 0);
  if (folder && state) unlinkat(folder.get(), ("open-" + state->identity).c_str(), 0);
}

void mark_recorded(const std::string& path) {
  const Descriptor folder = notes_folder(Absent::IsMade);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const auto state = file ? state_of(file.get(), "", AT_EMPTY_PATH) : std::nullopt;
  if (!folder || !state) return;
  const std::string digest = digest_of(file.get());
  if (digest.empty()) return;
  write_note(folder.get(), content_begin(*state) + digest, path + "\n");
  write_note(folder.get(), "file-" + state->identity, state->times);
  unlinkat(folder.get(), ("open-" + state->identity).c_str(), 0);
}

bool is_recorded(int descriptor) {
  const Descriptor folder = notes_folder();
  const auto state = state_of(descriptor, "", AT_EMPTY_PATH);
  if (!folder || !state) return false;
  if (read_note(folder.get(), "file-" + state->identity) == state->times) return true;
  if (names_in(folder.get(), content_begin(*state)).empty()) return false;
  if (!there(folder.get(), content_begin(*state) + digest_of(descriptor))) return false;
  write_note(folder.get(), "file-" + state->identity, state->times);
  return true;
}

}  // namespace vitrine::session
