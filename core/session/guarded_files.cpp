#include "core/session/guarded_files.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace vitrine::session {

namespace {

constexpr const char* kName = "vitrine";
constexpr std::string_view kDescriptor = "\x01vitrine-descriptor:";  // no path begins so

sqlite3_vfs* system_of(sqlite3_vfs* layer) {
  return static_cast<sqlite3_vfs*>(layer->pAppData);
}

// A log that somebody else put there, or a link to another file, is none of ours.
bool mine_or_absent(const char* path) {
  struct stat st{};
  if (lstat(path, &st) != 0) return true;
  return S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

// ---- a file that is open already

struct DescriptorFile {
  sqlite3_file base;  // first: SQLite knows no more of it
  int value;
};

int descriptor_of(sqlite3_file* file) {
  return reinterpret_cast<DescriptorFile*>(file)->value;
}

int close_descriptor(sqlite3_file* file) {
  close(descriptor_of(file));
  return SQLITE_OK;
}

int read_descriptor(sqlite3_file* file, void* out, int wanted, sqlite3_int64 at) {
  auto* to = static_cast<char*>(out);
  size_t left = static_cast<size_t>(wanted);
  while (left > 0) {
    const ssize_t n = pread(descriptor_of(file), to, left, at);
    if (n < 0) return SQLITE_IOERR_READ;
    if (n == 0) {
      std::memset(to, 0, left);
      return SQLITE_IOERR_SHORT_READ;
    }
    to += n, at += n, left -= static_cast<size_t>(n);
  }
  return SQLITE_OK;
}

int size_of_descriptor(sqlite3_file* file, sqlite3_int64* size) {
  struct stat st{};
  if (fstat(descriptor_of(file), &st) != 0) return SQLITE_IOERR_FSTAT;
  *size = st.st_size;
  return SQLITE_OK;
}

const sqlite3_io_methods* descriptor_methods() {
  static const sqlite3_io_methods methods = [] {
    sqlite3_io_methods m{};
    m.iVersion = 1;
    m.xClose = close_descriptor;
    m.xRead = read_descriptor;
    m.xWrite = [](sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; };
    m.xTruncate = [](sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; };
    m.xSync = [](sqlite3_file*, int) { return SQLITE_OK; };
    m.xFileSize = size_of_descriptor;
    m.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
    m.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
    m.xCheckReservedLock = [](sqlite3_file*, int* reserved) { return *reserved = 0, SQLITE_OK; };
    m.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
    m.xSectorSize = [](sqlite3_file*) { return 4096; };
    m.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; };
    return m;
  }();
  return &methods;
}

int open_descriptor(std::string_view name, sqlite3_file* file, int flags, int* given) {
  name.remove_prefix(kDescriptor.size());
  int number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  const int own = (flags & SQLITE_OPEN_MAIN_DB) && number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 3) : -1;
  if (own < 0) return SQLITE_CANTOPEN;
  reinterpret_cast<DescriptorFile*>(file)->value = own;
  file->pMethods = descriptor_methods();
  if (given) *given = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  return SQLITE_OK;
}

// ---- the layer

int open_file(sqlite3_vfs* layer, const char* name, sqlite3_file* file, int flags, int* given) {
  file->pMethods = nullptr;
  if (name && std::string_view(name).starts_with(kDescriptor))
    return open_descriptor(name, file, flags, given);
  if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) return SQLITE_CANTOPEN;
  if ((flags & SQLITE_OPEN_WAL) && !mine_or_absent(name)) return SQLITE_CANTOPEN;
  return system_of(layer)->xOpen(system_of(layer), name, file, flags, given);
}

int delete_file(sqlite3_vfs* layer, const char* name, int sync) {
  if (!std::string_view(name).ends_with("-wal")) return SQLITE_IOERR_DELETE;
  return system_of(layer)->xDelete(system_of(layer), name, sync);
}

int file_exists(sqlite3_vfs* layer, const char* name, int flags, int* exists) {
  *exists = 0;
  if (std::string_view(name).ends_with("-journal")) return SQLITE_OK;
  return system_of(layer)->xAccess(system_of(layer), name, flags, exists);
}

int full_name(sqlite3_vfs* layer, const char* name, int size, char* out) {
  const std::string_view text = name;
  if (!text.starts_with(kDescriptor))
    return system_of(layer)->xFullPathname(system_of(layer), name, size, out);
  if (text.size() >= static_cast<size_t>(size)) return SQLITE_CANTOPEN;
  out[text.copy(out, text.size())] = 0;
  return SQLITE_OK;
}

bool add_layer() {
  static sqlite3_vfs layer;  // SQLite keeps it
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  if (!system) return false;
  layer = *system;
  layer.pNext = nullptr;
  layer.zName = kName;
  layer.szOsFile = std::max<int>(layer.szOsFile, sizeof(DescriptorFile));
  layer.pAppData = system;
  layer.xOpen = open_file;
  layer.xDelete = delete_file;
  layer.xAccess = file_exists;
  layer.xFullPathname = full_name;
  return sqlite3_vfs_register(&layer, 0) == SQLITE_OK;
}

}  // namespace

std::string name_of_descriptor(int descriptor) {
  return std::string(kDescriptor) + std::to_string(descriptor);
}

const char* guarded_files() {
  static const bool added = add_layer();
  return added ? kName : nullptr;
}

}  // namespace vitrine::session
