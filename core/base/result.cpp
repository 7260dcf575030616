#include "core/base/result.h"

namespace vitrine {

void check_failed(const char* file, int line, const char* condition, const std::string& text) {
  std::string_view path(file);
  if (auto at = path.rfind("core/"); at != std::string_view::npos) path.remove_prefix(at);
  throw InternalError(text + " (" + condition + " is false at " + std::string(path) + ":" +
                      std::to_string(line) + ")");
}

}  // namespace vitrine
