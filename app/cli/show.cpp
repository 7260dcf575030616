#include "app/cli/show.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "app/cli/show_parts.h"
#include "core/base/closest.h"
#include "core/session/query/query.h"

namespace vitrine::cli {

const std::vector<ShowRow>& show_table() {
  static const std::vector<ShowRow> rows = {
      {"source", "the user's Python files", show_source},
      {"bytecode", "instructions of each captured function", show_bytecode},
      {"steps", "what capture did at each instruction", show_steps},
      {"captured", "torch-level graph", show_graph},
      {"aten", "ATen graph", show_graph},
      {"joint", "forward and backward in one graph", show_graph},
      {"partition", "what backward reads of forward: saved, or computed again, and why", show_partition},
      {"forward", "forward half", show_graph},
      {"backward", "backward half", show_graph},
      {"decomposed", "composite operators written out", show_graph},
      {"optimised", "after the graph passes", show_graph},
      {"loops", "loop nests before fusion", show_graph},
      {"fused", "loop nests grouped into kernels", show_graph},
      {"decisions", "every considered fusion with its verdict", show_decisions},
      {"why", "why A and B are not one kernel: why A B; alone: every pair that stays apart", show_why},
      {"memory", "buffers, lifetimes and reuse", show_memory},
      {"kernels", "generated C++ or CUDA C++; registers, spills and occupancy of a GPU's kernels",
       show_kernel_text},
      {"ir", "LLVM IR or PTX of each kernel", show_kernel_text},
      {"assembly", "machine code of each kernel; SASS of a GPU's", show_kernel_text},
      {"remarks", "what the kernel compiler said about its lines", show_remarks},
      {"choices", "who could compute each matrix product, and how long each took", show_choices},
      {"launch", "the launch plan", show_launch},
      {"roofline", "each kernel's bytes and operations a second against the machine's", show_roofline},
      {"counters", "what the GPU's own counters told of each kernel, beside its counted bytes",
       show_counters},
      {"samples", "at which lines of each kernel the GPU's warps wait, and for what", show_samples},
      {"timeline", "eager above compiled, slice by slice", show_timeline},
      {"breaks", "graph breaks with reason and hint", show_breaks},
      {"guards", "what is checked at each call", show_guards},
      {"symbols", "sizes and ints that may change, and what is asked of them", show_symbols},
      {"recompilations", "which guard failed, with both values", show_recompilations},
      {"cache", "what was found of earlier processes' compilations, and why the rest was not", show_cache},
      {"calls", "each entry into a segment", show_calls},
      {"accuracy", "compiled outputs against eager", show_accuracy},
      {"numerics", "each value of the compiled graphs against eager and against float64", show_numerics},
      {"messages", "errors, warnings and notes", show_messages},
      {"stages", "time and size of each stage", show_stages},
      {"runs", "the runs of the session", show_runs},
  };
  return rows;
}

bool is_code(const std::string& stage, const ShowOptions& options) {
  const auto row = std::ranges::find(show_table(), stage, &ShowRow::name);
  if (row == show_table().end()) return !options.kernel.empty();
  return row->print == show_graph || row->print == show_kernel_text || row->print == show_source ||
         row->print == show_bytecode || row->print == show_steps || row->print == show_remarks;
}

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::optional<Error> unknown(const std::string& what, const std::string& word,
                             const std::vector<std::string>& known, const std::string& none,
                             const std::string& where) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return std::nullopt;
  return Error{"There is no " + what + " " + word + " in this session." + did_you_mean(word, known),
               known.empty() ? none : "It has: " + joined(known) + ".", where};
}

std::optional<Error> unknown_part(const session::Reader& s, const ShowOptions& options) {
  std::vector<std::string> compilations, kernels;
  std::map<Id, std::string> labels;
  for (const auto& c : s.all<session::CompilationRow>()) {
    labels[c.id] = c.label;
    if (std::find(compilations.begin(), compilations.end(), c.label) == compilations.end())
      compilations.push_back(c.label);
  }
  if (!options.compilation.empty())
    if (auto error =
            unknown("compilation", options.compilation, compilations, "Nothing was compiled.", s.path()))
      return error;
  if (options.kernel.empty()) return std::nullopt;
  for (const auto& k : s.all<session::KernelRow>())
    if ((options.compilation.empty() || labels[k.compilation] == options.compilation) &&
        std::find(kernels.begin(), kernels.end(), k.label) == kernels.end())
      kernels.push_back(k.label);
  return unknown("kernel", options.kernel, kernels, "What was compiled launches none.", s.path());
}

// Rows as CSV: the keys of all rows are its columns; what is no plain value stands as JSON.
std::string csv_of_json(const std::string& text) {
  const auto rows = nlohmann::ordered_json::parse(text, nullptr, false);
  session::QueryResult out;
  if (!rows.is_array()) return "";
  for (const auto& row : rows)
    for (const auto& [key, value] : row.items())
      if (std::find(out.columns.begin(), out.columns.end(), key) == out.columns.end())
        out.columns.push_back(key);
  for (const auto& row : rows) {
    auto& cells = out.rows.emplace_back();
    for (const std::string& key : out.columns) {
      session::QueryValue& cell = cells.emplace_back();
      const auto found = row.find(key);
      if (found == row.end() || found->is_null()) continue;
      cell.type = session::QueryValue::Type::Text;
      cell.text = found->is_string()
                      ? found->get<std::string>()
                      : found->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    }
  }
  return session::csv_text(out);
}

// What the window calls by another name.
struct WindowName {
  std::string_view window, stage;
};
constexpr WindowName kWindowNames[] = {
    {"launches", "launch"},
    {"missed", "why"},
    {"log", "messages"},
};
std::string by_window_name(const std::string& stage) {
  const auto* row = std::ranges::find(kWindowNames, stage, &WindowName::window);
  return row == std::end(kWindowNames) ? stage : std::string(row->stage);
}

}  // namespace

Result<std::string> show(const session::Reader& s, const std::string& stage, const ShowOptions& options) {
  if (auto error = unknown_part(s, options)) return *error;
  if (stage.empty() && options.csv)
    return Error{"The summary is no table.", "vitrine show SESSION kernels --csv, for one.", ""};
  if (stage.empty() && options.kernel.empty()) return show_summary(s, options);
  const std::string asked = stage.empty() ? "kernels" : by_window_name(stage);
  if (options.csv && (options.json || !options.kernel.empty()))
    return Error{"--csv is of a table's rows.", "Leave out --json and --kernel.", ""};
  if (!options.kernel.empty() && asked != "kernels" && asked != "ir" && asked != "assembly")
    return Error{"The stage " + asked + " has no text of one kernel.", "kernels, ir and assembly have.", ""};
  if (!options.pair.empty() && asked != "why")
    return Error{"Two names are for the stage why.", "vitrine show SESSION why A B", ""};
  if (auto error = unknown_pair(s, options)) return *error;
  std::vector<std::string> known;
  for (const ShowRow& row : show_table()) {
    if (row.name == asked && options.csv) {
      ShowOptions rows = options;
      rows.json = true;
      return csv_of_json(row.print(s, rows, row.name));
    }
    if (row.name == asked) return row.print(s, options, row.name);
    known.emplace_back(row.name);
  }
  return Error{"There is no stage \"" + stage + "\"." + did_you_mean(stage, known),
               "Stages: " + joined(known) + ".", ""};
}

}  // namespace vitrine::cli
