// Debug folders of torch.compile: torch_compile_debug, one of its runs, or torchinductor in one.
#include <algorithm>
#include <filesystem>
#include <map>

#include "app/importing/input.h"
#include "app/importing/session_builder.h"

namespace vitrine::importing {

namespace fs = std::filesystem;
using namespace session;

namespace {

constexpr size_t kMostFolders = 5000;
constexpr size_t kMostFile = size_t{256} << 20;

// The folders of graphs, "model__4_forward_5.4", of the newest run.
std::vector<fs::path> graph_folders(const std::string& path) {
  std::error_code ignored;
  std::vector<fs::path> runs, out;
  fs::path at = path;
  if (!fs::is_directory(at, ignored)) return out;
  for (fs::directory_iterator it(at, ignored), end; it != end && runs.size() < kMostFolders;
       it.increment(ignored))
    if (it->path().filename().string().starts_with("run_")) runs.push_back(it->path());
  std::sort(runs.begin(), runs.end());
  if (!runs.empty()) at = runs.back();
  if (fs::is_directory(at / "torchinductor", ignored)) at /= "torchinductor";
  for (fs::directory_iterator it(at, ignored), end; it != end && out.size() < kMostFolders;
       it.increment(ignored))
    if (fs::exists(it->path() / "output_code.py", ignored) ||
        fs::exists(it->path() / "fx_graph_readable.py", ignored))
      out.push_back(it->path());
  // By the number behind the dot: as they were compiled.
  auto number = [](const fs::path& folder) {
    return std::atol(folder.extension().string().substr(folder.has_extension() ? 1 : 0).c_str());
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const fs::path& a, const fs::path& b) { return number(a) < number(b); });
  return out;
}

std::string text_in(const fs::path& folder, const char* name) {
  auto text = read_input((folder / name).string(), kMostFile);
  return text ? text.take() : std::string();
}

}  // namespace

bool is_compile_debug(const std::string& path) {
  return !graph_folders(path).empty();
}

Status import_compile_debug(const std::string& path, SessionBuilder& out) {
  struct Model {
    Id segment = 0;
    CompilationRow* forward = nullptr;
  };
  std::map<std::string, Model> models;
  for (const fs::path& folder : graph_folders(path)) {
    const std::string name = folder.filename().string();
    const bool backward = name.find("_backward_") != std::string::npos;
    std::string model = name;
    for (const char* half : {"_forward_", "_backward_", "_inference_"})
      if (const size_t at = model.find(half); at != std::string::npos) model.resize(at);
    const FxGraph readable = read_fx(text_in(folder, "fx_graph_readable.py"), backward ? "backward" : "aten");
    Model& known = models[model];
    if (!known.segment) {
      std::string file;
      int64_t line = 0;
      for (const FxNode& node : readable.nodes)
        if (file.empty() && node.line > 0) file = node.file, line = node.line;
      known.segment = out.segment(model, file, line);
    }
    const std::string number = model.substr(model.find_last_not_of("0123456789") + 1);
    CompilationRow& row = out.compilation(
        known.segment, (number.empty() ? model : number + "/0") + (backward ? " backward" : ""));
    if (!backward) known.forward = &row;
    if (backward && known.forward) out.out().put(BackwardRow{known.forward->id, row.id, "all"});
    // As ours: both halves are graphs of one compilation.
    const Id of = backward && known.forward ? known.forward->id : row.id;
    if (!readable.nodes.empty()) out.graph(of, backward ? "backward" : "aten", "", readable, row.id);
    if (const FxGraph last = read_fx(text_in(folder, "fx_graph_transformed.py"), "optimised");
        !last.nodes.empty())
      out.graph(row.id, "optimised", "", last);
    const std::string code = text_in(folder, "output_code.py");
    if (!code.empty()) out.code(row.id, read_output_code(code), code);
  }
  return std::nullopt;
}

}  // namespace vitrine::importing
