#include "app/cli/show_parts.h"
#include "core/base/words.h"

namespace vitrine::cli {

using namespace session;

EntityNames::EntityNames(const Reader& session)
    : session_(session), compilations_(session.all<CompilationRow>()) {
  for (const CompilationRow& row : compilations_) by_id_.emplace(row.id, &row);
}

std::string EntityNames::compilation(Id id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return "–";
  auto [it, fresh] = named_.try_emplace(id);
  if (fresh) {
    auto frame = session_.row<FrameRow>(session_.row<SegmentRow>(found->second->segment).frame);
    it->second = session_.row<CodeRow>(frame.code).qualname + " " + found->second->label;
  }
  return it->second;
}

std::string EntityNames::place(Id span) const {
  auto row = session_.row<SpanRow>(span);
  if (!row.id) return "–";
  return file_name(session_.row<FileRow>(row.file).path) + ":" + std::to_string(row.line) + ":" +
         std::to_string(row.col);
}

std::string EntityNames::place_of_instruction(Id instruction) const {
  return place(session_.row<InstructionRow>(instruction).span);
}

bool EntityNames::shown(Id compilation, const ShowOptions& options) const {
  if (options.compilation.empty()) return true;
  const auto found = by_id_.find(compilation);
  return found != by_id_.end() && found->second->label == options.compilation;
}

std::string why_nothing(const Reader& s, std::string_view stage, std::string_view otherwise) {
  if (s.all<CompilationRow>().empty()) {
    const auto runs = s.all<RunRow>();
    const std::string status = runs.empty() ? "no run was recorded" : runs.front().status;
    return status == "finished" ? "nothing was compiled"
           : runs.empty()       ? status
                                : "nothing was compiled, and the run is " + status;
  }
  for (const StageRow& row : s.all<StageRow>())
    if (row.name == stage && row.state != "ok" && !row.note.empty()) return row.note;
  return std::string(otherwise);
}

std::string why_no_halves(const Reader& s) {
  for (const CompilationRow& row : s.all<CompilationRow>())
    if (row.autograd) return "PyTorch's autograd differentiates what was compiled";
  return why_nothing(s, "joint", "no graph of this session needs gradients");
}

std::string nothing(std::string_view what, std::string_view why) {
  return "No " + std::string(what) + (why.empty() ? "" : ": " + std::string(why)) + ".\n";
}

}  // namespace vitrine::cli
