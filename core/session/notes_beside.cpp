#include "core/session/notes_beside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/sha256.h"
#include "core/base/state_folder.h"

namespace vitrine::session {

namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kMostNotes = 10'000;

std::string beside(const std::string& path) {
  return path + "-notes";
}

// In the state folder the name is the digest of the session's path.
std::string name_of(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
  return sha256_hex(whole.empty() ? path : whole.string()) + ".json";
}

// "": there is none, or it is no plain file of that size.
std::string content(int folder, const std::string& name) {
  const Descriptor file(
      openat(folder, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat st{};
  if (!file || fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
      st.st_size > static_cast<off_t>(kMostBytes))
    return "";
  std::string out(static_cast<size_t>(st.st_size), '\0');
  const ssize_t n = read(file.get(), out.data(), out.size());
  return n == st.st_size ? out : "";
}

void parse(const std::string& text, const std::string& created, NotesBeside& out) {
  if (text.empty()) return;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("session", nlohmann::json()) != created) return;
  const auto notes = json.find("notes");
  if (notes == json.end() || !notes->is_object() || notes->size() > kMostNotes) return;
  for (const auto& [key, value] : notes->items()) {
    Id id = 0;
    const bool whole =
        std::from_chars(key.data(), key.data() + key.size(), id).ptr == key.data() + key.size();
    if (!whole || id <= 0 || !(value.is_string() || value.is_null())) continue;
    out[id] = value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  }
}

// "" or why not. The earlier file stays until the new one is whole.
std::string write_file(int folder, const std::string& name, const std::string& text) {
  const std::string fresh = name + "." + std::to_string(getpid());
  unlinkat(folder, fresh.c_str(), 0);
  bool whole = false;
  {
    const Descriptor file(
        openat(folder, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return std::strerror(errno);
    whole = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
            fsync(file.get()) == 0;
  }
  if (whole && renameat(folder, fresh.c_str(), folder, name.c_str()) == 0) return "";
  const std::string why = std::strerror(errno);
  unlinkat(folder, fresh.c_str(), 0);
  return why;
}

}  // namespace

bool has_notes_beside(const std::string& path) {
  const Descriptor folder = state_folder("notes", Absent::Stays);
  return access(beside(path).c_str(), F_OK) == 0 ||
         (folder && faccessat(folder.get(), name_of(path).c_str(), F_OK, 0) == 0);
}

NotesBeside read_notes_beside(const std::string& path, const std::string& created) {
  NotesBeside out;
  if (const Descriptor folder = state_folder("notes", Absent::Stays); folder)
    parse(content(folder.get(), name_of(path)), created, out);
  parse(content(AT_FDCWD, beside(path)), created, out);
  return out;
}

Status write_notes_beside(const std::string& path, const std::string& created, const NotesBeside& notes) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [id, text] : notes)
    all[std::to_string(id)] = text ? nlohmann::json(*text) : nlohmann::json();
  const std::string text = nlohmann::json{{"session", created}, {"notes", all}}.dump(
                               1, ' ', false, nlohmann::json::error_handler_t::replace) +
                           "\n";
  if (text.size() > kMostBytes || notes.size() > kMostNotes)
    return Error{"The note cannot be kept: there are too many.", "Remove some.", path};
  std::string why = write_file(AT_FDCWD, beside(path), text);
  if (why.empty()) return std::nullopt;
  if (const Descriptor folder = state_folder("notes", Absent::IsMade);
      folder && write_file(folder.get(), name_of(path), text).empty())
    return std::nullopt;
  return Error{"The note cannot be kept: " + why, "Copy the session to a place that can be written.", path};
}

}  // namespace vitrine::session
