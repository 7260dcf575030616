/* Makes one call of the system fail once. Preloaded into a process that names, by fault_arm() or in FAULT
   ("kind:word:nth:error", for that process alone), which kind of call, the how-manieth of them that is about a file
   with a word in its path, and how it fails. Descriptors are told apart
   by the path that they were opened with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char armed[32], word[256];
static int left = -1, number, fired, counted;

void fault_arm(const char* kind, const char* path, int nth, int error) {
  snprintf(armed, sizeof armed, "%s", kind);
  snprintf(word, sizeof word, "%s", path);
  left = nth;
  number = error;
  fired = counted = 0;
}
__attribute__((constructor)) static void arm_from_environment(void) {
  char kind[32] = "", path[256] = "";
  int nth = -1, error = 0;
  const char* text = getenv("FAULT");
  if (text && sscanf(text, "%31[^:]:%255[^:]:%d:%d", kind, path, &nth, &error) == 4) fault_arm(kind, path, nth, error);
  unsetenv("FAULT"); /* it is not meant for what this process starts */
}
int fault_fired(void) { return fired; }
int fault_counted(void) { return counted; }

/* Whether this call is the one. A "kill" happens here, in place of the call. */
static int hit(const char* kind, const char* path) {
  if (left < 0 || !path || !strstr(path, word)) return 0;
  if (strcmp(armed, kind) != 0 && strncmp(armed, "kill-", 5) != 0) return 0;
  if (strncmp(armed, "kill-", 5) == 0 && strcmp(armed + 5, kind) != 0) return 0;
  ++counted;
  if (left-- != 0) return 0;
  fired = 1;
  if (armed[0] == 'k') kill(getpid(), SIGKILL);
  errno = number;
  return 1;
}

static int hit_fd(const char* kind, int fd) {
  char link[64], path[4096];
  if (left < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return hit(kind, path);
}

static int hit_at(const char* kind, int dir, const char* name) {
  char link[64], path[8192];
  if (left < 0 || !name) return 0;
  if (dir == AT_FDCWD || name[0] == '/') return hit(kind, name);
  snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
  const ssize_t n = readlink(link, path, 4095);
  if (n < 0) return 0;
  snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
  return hit(kind, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(list, int) : 0;
}
#define OPEN(name)                                        \
  int name(const char* path, int flags, ...) {            \
    va_list list;                                         \
    va_start(list, flags);                                \
    const mode_t mode = mode_of(flags, list);             \
    va_end(list);                                         \
    if (hit("open", path)) return -1;                     \
    static int (*real)(const char*, int, ...);            \
    if (!real) real = dlsym(RTLD_NEXT, #name);            \
    return real(path, flags, mode);                       \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                      \
  int name(int dir, const char* path, int flags, ...) {   \
    va_list list;                                         \
    va_start(list, flags);                                \
    const mode_t mode = mode_of(flags, list);             \
    va_end(list);                                         \
    if (hit_at("open", dir, path)) return -1;             \
    static int (*real)(int, const char*, int, ...);       \
    if (!real) real = dlsym(RTLD_NEXT, #name);            \
    return real(dir, path, flags, mode);                  \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void* data, size_t bytes) {
  if (hit_fd("write", fd)) return -1;
  return REAL(write)(fd, data, bytes);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  if (hit_fd("write", fd)) return -1;
  return REAL(pwrite)(fd, data, bytes, at);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  if (hit_fd("write", fd)) return -1;
  return REAL(pwrite64)(fd, data, bytes, at);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  if (hit_fd("write", fd)) return -1;
  return REAL(writev)(fd, parts, count);
}
int fsync(int fd) {
  if (hit_fd("sync", fd)) return -1;
  return REAL(fsync)(fd);
}
int fdatasync(int fd) {
  if (hit_fd("sync", fd)) return -1;
  return REAL(fdatasync)(fd);
}
int ftruncate(int fd, off_t size) {
  if (hit_fd("truncate", fd)) return -1;
  return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
  if (hit_fd("truncate", fd)) return -1;
  return REAL(ftruncate64)(fd, size);
}
int rename(const char* from, const char* to) {
  if (hit("rename", from)) return -1;
  return REAL(rename)(from, to);
}
int renameat(int from_dir, const char* from, int to_dir, const char* to) {
  if (hit_at("rename", from_dir, from)) return -1;
  return REAL(renameat)(from_dir, from, to_dir, to);
}
int mkdir(const char* path, mode_t mode) {
  if (hit("mkdir", path)) return -1;
  return REAL(mkdir)(path, mode);
}
int mkdirat(int dir, const char* path, mode_t mode) {
  if (hit_at("mkdir", dir, path)) return -1;
  return REAL(mkdirat)(dir, path, mode);
}
pid_t fork(void) {
  if (hit("fork", "process")) return -1;
  return REAL(fork)();
}
int pipe(int ends[2]) {
  if (hit("pipe", "process")) return -1;
  return REAL(pipe)(ends);
}
int fchmod(int fd, mode_t mode) {
  if (hit_fd("chmod", fd)) return -1;
  return REAL(fchmod)(fd, mode);
}
#include <spawn.h>
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const arguments[], char* const environment[]) {
  if (hit("spawn", path)) return number;
  return REAL(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}
