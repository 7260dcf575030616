#include "core/session/recording_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/session/abandoned.h"
#include "core/session/reader.h"
#include "core/session/recorded.h"
#include "core/session/writing_process.h"

namespace vitrine::session {

namespace fs = std::filesystem;

namespace {

constexpr const char* kElsewhere = "Name another place with -o.";
constexpr int kMostFailures = 1000;
constexpr int64_t kHeaderBytes = 16 << 10;  // of a file into which nothing was folded yet

// The file that a link names: a link stays, what it names is replaced.
fs::path resolved(const std::string& target) {
  std::error_code error;
  const fs::path real = fs::canonical(target, error);
  return error ? fs::absolute(target, error) : real;
}

std::string beside(const fs::path& target) {
  return (target.parent_path() / ("." + target.filename().string() + "-recording")).string();
}

bool is_there(const std::string& path) {
  struct stat s{};
  return lstat(path.c_str(), &s) == 0;
}

bool is_free(const std::string& path) {
  struct stat s{};
  return stat(path.c_str(), &s) != 0 || (S_ISREG(s.st_mode) && s.st_size == 0);
}

int64_t size_of(const std::string& path) {
  struct stat s{};
  return stat(path.c_str(), &s) == 0 ? s.st_size : 0;
}

// Two recorders that begin or end at once take turns. Best effort: a folder that cannot be locked is used all
// the same. The lock is short, so one that stays is somebody's mistake and is not waited for for ever.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int i = 0; fd_ >= 0 && i < 500 && flock(fd_, LOCK_EX | LOCK_NB) != 0; ++i) {
      if (errno != EWOULDBLOCK && errno != EINTR) break;
      usleep(10'000);
    }
  }
  ~FolderLock() {
    if (fd_ < 0) return;
    fsync(fd_);  // what was renamed stays so when the power goes
    close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

struct PlaceState {
  bool readable = false, written_now = false;
  std::string status;
  // 2: it ended by itself and something was compiled; 1: something was compiled, or nobody can tell; 0:
  // nothing.
  int worth = 1;
};

PlaceState look(const std::string& path, Whose whose) {
  PlaceState out;
  auto opened = Reader::open(path, whose);
  if (!opened) return out;
  Reader& reader = *opened.value();
  out.readable = true;
  out.status = reader.meta("status");
  out.written_now = out.status == "running" && !has_ended(reader.meta("writer"));
  const bool compiled = !reader.all<CompilationRow>("LIMIT 1").empty();
  out.worth = !compiled ? 0 : out.status == "finished" ? 2 : 1;
  return out;
}

// The same for one whose process has ended, which is closed first.
Result<PlaceState> look_and_close(const std::string& path, Whose whose) {
  PlaceState state = look(path, whose);
  if (!state.readable || state.written_now || state.status != "running") return state;
  auto closed = close_abandoned(path, whose);
  if (!closed) return closed.error();
  return look(path, whose);
}

// A word of the file is no part of a path unless it is one of ours.
std::string known_end(const std::string& status) {
  for (const char* known : {"finished", "cancelled", "died"})
    if (status == known) return known;
  return "failed";
}

// m.vitrine that failed -> m.failed.vitrine, or m.failed-2.vitrine where that is not ours to replace.
std::string named_by_its_end(const fs::path& target, const std::string& status) {
  for (int n = 1; n < kMostFailures; ++n) {
    std::string name = target.stem().string() + "." + status;
    if (n > 1) name += "-" + std::to_string(n);
    std::string path = (target.parent_path() / (name + target.extension().string())).string();
    if (!is_there(path)) return path;
    if (check_replaceable(path)) continue;
    const PlaceState there = look(path, Whose::Found);
    if (there.readable && !there.written_now && there.worth < 2) return path;
  }
  return "";
}

// The log is a part of the session: it must be folded in before the file moves alone.
void fold(const std::string& path) {
  if (!is_unfinished(path, Whose::Mine)) return;
  bool whole = false;
  if (auto opened = open_unfinished(path)) whole = leave_log(opened.value().db.get());
  if (whole) mark_recorded(path);
}

Status move_session(const std::string& from, const std::string& to) {
  if (is_there(from + "-wal")) fold(from);
  if (size_of(from + "-wal") > 0)
    return Error{"The recording cannot be moved while another program reads it.", "Close that program.",
                 from};
  if (is_there(to + "-wal")) fold(to);
  for (const char* suffix : {"-wal", "-shm"}) unlink((to + suffix).c_str());
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return Error{"The recording cannot be moved to " + to + ": " + std::strerror(errno) + ".", "", from};
  remove_session(from);  // what SQLite may have left beside it
  return std::nullopt;
}

// With the folder's lock held.
Result<Settled> settle(const fs::path& target) {
  Settled out;
  const std::string recorded = beside(target), place = target.string();
  if (!is_free(place) && !check_replaceable(place)) {
    auto there = look_and_close(place, Whose::Found);
    if (!there) return there.error();
    if (there.value().written_now) {
      out.what = Settled::What::recording;
      out.path = place;
      return out;
    }
  }
  if (!is_there(recorded)) return out;
  auto found = look_and_close(recorded, Whose::Mine);
  if (!found) return found.error();
  const PlaceState& state = found.value();
  out.status = state.status;
  out.path = recorded;
  if (state.written_now) {
    out.what = Settled::What::recording;
    return out;
  }
  const bool empty = state.readable ? state.worth == 0 : size_of(recorded) <= kHeaderBytes;
  const bool better =
      state.readable &&
      (is_free(place) || (!check_replaceable(place) && state.worth >= look(place, Whose::Found).worth));
  if (!better && empty) {
    remove_session(recorded);
    out.path.clear();
    out.what = Settled::What::dropped;
    return out;
  }
  const std::string to =
      better ? place : named_by_its_end(target, state.readable ? known_end(state.status) : "damaged");
  if (to.empty()) return Error{"There is no free name for the recording.", "", recorded};
  if (Status bad = move_session(recorded, to)) return *bad;
  out.what = better ? Settled::What::replaced : Settled::What::kept;
  out.path = to;
  return out;
}

}  // namespace

Result<std::unique_ptr<Writer>> begin_recording(const std::string& target) {
  if (Status bad = check_replaceable(target)) return *bad;
  const fs::path place = resolved(target);
  FolderLock lock(place.parent_path());
  auto settled = settle(place);
  if (!settled) return settled.error();
  if (settled.value().what == Settled::What::recording)
    return Error{"Another run is being recorded into " + target + "; it is left alone.",
                 std::string("Wait until it has ended. ") + kElsewhere, ""};
  return Writer::create(is_free(place.string()) ? place.string() : beside(place));
}

std::string unsettled_recording(const std::string& target) {
  std::string path = beside(resolved(target));
  return is_there(path) ? path : "";
}

Result<Settled> settle_recording(const std::string& target) {
  const fs::path place = resolved(target);
  if (!is_there(place.string()) && !is_there(beside(place))) return Settled{};
  FolderLock lock(place.parent_path());
  return settle(place);
}

}  // namespace vitrine::session
