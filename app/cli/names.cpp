#include <algorithm>

#include "app/cli/show_parts.h"

namespace vitrine::cli {

using namespace session;

Names::Names(const Reader& session) : session_(session), compilations_(session.all<CompilationRow>()) {}

std::string Names::compilation(Id id) const {
  auto it =
      std::find_if(compilations_.begin(), compilations_.end(), [&](const auto& c) { return c.id == id; });
  if (it == compilations_.end()) return "–";
  auto frame = session_.row<FrameRow>(session_.row<SegmentRow>(it->segment).frame);
  return session_.row<CodeRow>(frame.code).qualname + " " + it->label;
}

std::string Names::place(Id span) const {
  auto row = session_.row<SpanRow>(span);
  if (!row.id) return "–";
  std::string path = session_.row<FileRow>(row.file).path;
  if (auto slash = path.rfind('/'); slash != std::string::npos) path = path.substr(slash + 1);
  return path + ":" + std::to_string(row.line) + ":" + std::to_string(row.col);
}

std::string Names::place_of_instruction(Id instruction) const {
  return place(session_.row<InstructionRow>(instruction).span);
}

bool Names::shown(Id compilation, const ShowOptions& options) const {
  if (options.compilation.empty()) return true;
  return std::any_of(compilations_.begin(), compilations_.end(),
                     [&](const auto& c) { return c.id == compilation && c.label == options.compilation; });
}

std::string nothing(std::string_view what, std::string_view why) {
  return "No " + std::string(what) + (why.empty() ? "" : ": " + std::string(why)) + ".\n";
}

}  // namespace vitrine::cli
