#include <algorithm>

#include "app/cli/json_rows.h"
#include "app/cli/show_parts.h"
#include "app/cli/text_table.h"

namespace vitrine::cli {

using namespace session;

namespace {

constexpr size_t kDeepestShown = 40;  // calls that a step is moved to the right for

// What disassembly calls it; the bare number where it has no name, as the count of a CALL.
std::string argument(const InstructionRow& i) {
  return i.argrepr.empty() && i.arg ? std::to_string(i.arg) : i.argrepr;
}

}  // namespace

std::string show_source(const Reader& s, const ShowOptions& options, std::string_view) {
  auto files = s.rows<FileRow>("user = 1");
  if (options.json) return json_table(s, files);
  std::string out;
  for (const FileRow& file : files) out += "# " + file.path + "\n" + s.text(file.text) + "\n";
  return out.empty() ? nothing("source", "no user file was recorded") : out;
}

std::string show_bytecode(const Reader& s, const ShowOptions& options, std::string_view) {
  if (options.json) return json_table(s, s.all<InstructionRow>("ORDER BY code, pc"));
  std::string out;
  EntityNames names(s);
  for (const CodeRow& code : s.all<CodeRow>()) {
    auto instructions = s.rows<InstructionRow>("code = ?1", {code.id}, "ORDER BY pc");
    if (instructions.empty()) continue;
    TextTable table({">line", ">pc", "instruction", "argument"});
    int64_t line = 0;
    for (const InstructionRow& i : instructions) {
      int64_t at = s.row<SpanRow>(i.span).line;
      table.row({at != line && at ? std::to_string(at) : "", std::to_string(i.pc), i.op, argument(i)});
      if (at) line = at;
    }
    out += "# " + code.qualname + "\n" + table.text(options.width) + "\n";
  }
  return out.empty() ? nothing("bytecode", "no function was captured") : out;
}

std::string show_steps(const Reader& s, const ShowOptions& options, std::string_view) {
  EntityNames names(s);
  std::string out, json = "[";
  for (const CompilationRow& c : s.all<CompilationRow>()) {
    if (!names.shown(c.id, options)) continue;
    auto steps = s.rows<StepRow>("compilation = ?1", {c.id}, "ORDER BY ordinal");
    if (options.json) {
      for (const StepRow& step : steps) append_element(json, json_row(s, step));
      continue;
    }
    TextTable table({">step", ">pc", "instruction", "argument", "caused"});
    for (const StepRow& step : steps) {
      auto i = s.row<InstructionRow>(step.instruction);
      table.row(
          {std::to_string(step.ordinal), std::to_string(i.pc),
           std::string(2 * std::min<size_t>(static_cast<size_t>(step.depth), kDeepestShown), ' ') + i.op,
           argument(i), step.event.empty() ? "" : step.event + " " + step.text});
    }
    if (!table.empty()) out += "# " + names.compilation(c.id) + "\n" + table.text(options.width) + "\n";
  }
  if (options.json) return array_text(json);
  return out.empty() ? nothing("capture steps", "nothing was captured") : out;
}

}  // namespace vitrine::cli
