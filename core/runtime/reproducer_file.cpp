#include "core/runtime/reproducer_file.h"

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>

#include "core/base/sha256.h"
#include "core/runtime/kernels/sealed_folder.h"

namespace vitrine::runtime {

namespace fs = std::filesystem;

bool first_time(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard lock(mutex);
  return told.insert(text).second;
}

std::string write_reproducer(const std::string& dir, const std::string& name, const std::string& content) {
  std::error_code error;
  fs::path place = dir;
  if (dir.empty()) place = fs::temp_directory_path(error) / ("vitrine-" + std::to_string(geteuid()));
  auto folder = cache_folder((place / "reproducers").string());
  if (!folder) return "";
  const size_t dot = name.rfind('.');
  const std::string file = name.substr(0, dot) + "-" + sha256_hex(content).substr(0, 12) + name.substr(dot);
  return folder.value().write(file, content) ? folder.value().path() + "/" + file : "";
}

}  // namespace vitrine::runtime
