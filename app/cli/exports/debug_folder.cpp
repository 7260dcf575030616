// A folder with what was made of each compilation, a file each, as TORCH_COMPILE_DEBUG leaves one.
#include <filesystem>
#include <map>

#include "app/cli/exports/exports.h"
#include "app/cli/problem_list.h"
#include "app/cli/show_parts.h"

namespace vitrine::cli {

namespace fs = std::filesystem;
using namespace session;

namespace {

constexpr const char* kReadMe =
    "What Vitrine made of a program, a folder for each compilation:\n\n"
    "  graphs/            the graph after each pass that changed it, in order\n"
    "  guards.txt         what the compilation relies on\n"
    "  graph_break.txt    why the graph ends before its function does\n"
    "  recompilation.txt  which guard failed\n"
    "  symbols.txt        sizes and ints that may be others in the next call\n"
    "  fusion.txt         pairs of units that were considered, and the verdicts\n"
    "  launches.txt       what a call runs, in order\n"
    "  kernels/           generated kernels: source, LLVM IR or PTX, assembly or SASS\n\n"
    "fx/ has the ATen graphs as Python files that run. problems.txt and messages.txt are of the whole run.\n";

// Files of one folder, by name; each path's folder is made.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  void write(const std::string& name, const std::string& text) {
    if (error_ || text.empty()) return;
    const fs::path file = fs::path(path_) / name;
    std::error_code ignored;  // what is not there cannot be written to
    fs::create_directories(file.parent_path(), ignored);
    error_ = write_file(file.string(), text);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string path_;
  std::optional<Error> error_;
};

std::string two_digits(size_t n) {
  return (n < 10 ? "0" : "") + std::to_string(n);
}

void write_graphs(const Reader& s, const CompilationRow& c, const std::string& at, Folder& folder) {
  size_t next = 0;
  for (const GraphRow& g : s.rows<GraphRow>("compilation = ?1", {c.id}, "ORDER BY ordinal")) {
    if (!g.changed && !g.pass.empty()) continue;
    const std::string name =
        two_digits(next++) + "_" + file_word(g.stage) + (g.pass.empty() ? "" : "_" + file_word(g.pass));
    const std::string head = g.sentence.empty() ? "" : "# " + g.sentence + "\n";
    const std::string text = s.text(g.text);
    if (!text.empty()) folder.write(at + "graphs/" + name + ".txt", head + text + "\n");
  }
}

void write_capture(const Reader& s, const CompilationRow& c, const std::string& at, Folder& folder) {
  std::string guards, breaks, again, symbols;
  for (const GuardRow& g : s.rows<GuardRow>("compilation = ?1", {c.id}, "ORDER BY ordinal"))
    guards += g.source.str() + " " + g.expected.str() + "  [" + g.kind.str() + "]\n";
  for (const BreakRow& b : s.rows<BreakRow>("compilation = ?1", {c.id}))
    breaks += b.reason + " [" + b.kind + "]\n" + b.stack + "\n" + (b.hint.empty() ? "" : b.hint + "\n");
  for (const RecompilationRow& r : s.rows<RecompilationRow>("compilation = ?1", {c.id}))
    again +=
        r.failed + "\nwas " + r.old_value + ", is " + r.new_value + "\n" + r.hint + "\n" + r.call_site + "\n";
  for (const SymbolRow& y : s.rows<SymbolRow>("compilation = ?1", {c.id}, "ORDER BY ordinal"))
    symbols += y.name + " = " + y.source + ": " + y.origin +
               (y.fixed_by.empty() ? "" : "; fixed at " + y.fixed_by) + "\n";
  folder.write(at + "guards.txt", guards);
  folder.write(at + "graph_break.txt", breaks);
  folder.write(at + "recompilation.txt", again);
  folder.write(at + "symbols.txt", symbols);
}

void write_code(const Reader& s, const CompilationRow& c, const std::string& at, Folder& folder) {
  std::string fusion, launches;
  for (const DecisionRow& d : s.rows<DecisionRow>("compilation = ?1", {c.id}, "ORDER BY ordinal")) {
    const std::string a = s.row<NodeRow>(d.a).name, b = s.row<NodeRow>(d.b).name;
    fusion += d.verdict.str() + ": " + a + " with " + b + " (" + d.kind.str() + ")" +
              (d.reason.str().empty() ? "" : ": " + d.reason.str()) + "\n";
  }
  for (const LaunchRow& l : s.rows<LaunchRow>("compilation = ?1", {c.id}, "ORDER BY ordinal"))
    launches += l.text + "(" + l.args + ")  [" + l.kind + "]\n";
  folder.write(at + "fusion.txt", fusion);
  folder.write(at + "launches.txt", launches);
  for (const KernelRow& k : s.rows<KernelRow>("compilation = ?1", {c.id}, "ORDER BY ordinal"))
    for (const auto& [name, text] : kernel_files(s, k)) folder.write(at + "kernels/" + name, text);
}

}  // namespace

std::optional<Error> debug_folder(const Reader& s, const std::string& path, const std::string& compilation) {
  Folder folder(path);
  const EntityNames names(s);
  std::map<std::string, int> times;  // a name may come again, in another run
  for (const CompilationRow& c : s.all<CompilationRow>("ORDER BY id")) {
    if (!compilation.empty() && c.label != compilation) continue;
    std::string name = file_word(names.compilation(c.id));
    if (const int before = times[name]++) name += "_" + std::to_string(before);
    write_graphs(s, c, name + "/", folder);
    write_capture(s, c, name + "/", folder);
    write_code(s, c, name + "/", folder);
  }
  if (times.empty()) return Error{"There is no compilation in this session.", "", s.path()};
  for (const auto& [name, text] : fx_files(s, compilation)) folder.write("fx/" + name, text);
  std::string problems, messages;
  for (const SessionProblem& p : problems_of(s))
    problems += std::string(word_of(p.kind)) + ": " + p.text + (p.place.empty() ? "" : "  " + p.place) +
                "\n" + (p.more.empty() ? "" : "  " + p.more + "\n");
  for (const MessageRow& m : s.all<MessageRow>("ORDER BY id"))
    messages += m.severity + ": " + m.text + (m.hint.empty() ? "" : " " + m.hint) + "\n";
  folder.write("problems.txt", problems);
  folder.write("messages.txt", messages);
  folder.write("README.txt", kReadMe);
  return folder.error();
}

}  // namespace vitrine::cli
