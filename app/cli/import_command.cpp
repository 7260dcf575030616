#include "app/cli/import_command.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/run_command.h"
#include "app/importing/importing.h"
#include "core/base/runnable.h"
#include "core/base/sha256.h"

namespace vitrine::cli {

namespace fs = std::filesystem;

namespace {

std::string stem_of(const std::string& path) {
  fs::path name = fs::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  name = name.filename();
  while (name.extension() == ".gz" || name.extension() == ".json" || name.extension() == ".log" ||
         name.extension() == ".sqlite" || name.extension() == ".vpkg")
    name = name.stem();
  return name.empty() || name == "." ? "imported" : name.string();
}

std::string sessions_folder() {
  const char* own = std::getenv("VITRINE_CACHE_DIR");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path folder = own && *own       ? fs::path(own)
                          : cache && *cache ? fs::path(cache) / "vitrine"
                                            : fs::path(home ? home : "/tmp") / ".cache" / "vitrine";
  std::error_code ignored;
  const mode_t before = umask(077);
  fs::create_directories(folder / "sessions", ignored);
  umask(before);
  return (folder / "sessions").string();
}

}  // namespace

int import_command(const std::string& path, const std::string& output) {
  const std::string to = output.empty() ? stem_of(path) + ".vitrine" : output;
  if (Status bad = importing::import_into(path, to)) return fail(*bad);
  print_text("written " + to + "; open it with: vitrine open " + to + "\n");
  return 0;
}

std::string session_for(const std::string& path) {
  std::error_code ignored;
  if (path.ends_with(".vitrine") || is_runnable(path) || !fs::exists(path, ignored) ||
      !importing::can_import(path))
    return path;
  const std::string full = fs::absolute(path, ignored).lexically_normal().string();
  const std::string to =
      sessions_folder() + "/" + stem_of(path) + "-import-" + sha256_hex(full).substr(0, 12) + ".vitrine";
  if (Status bad = importing::import_into(path, to)) return fail(*bad), "";
  return to;
}

}  // namespace vitrine::cli
