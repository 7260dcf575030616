#include "core/runtime/problem.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/sha256.h"
#include "core/ir/print.h"

namespace vitrine::runtime {

namespace fs = std::filesystem;

namespace {

std::string commented(const std::string& notes, const char* mark) {
  std::string out;
  std::istringstream in(notes);
  for (std::string line; std::getline(in, line);) out += std::string(mark) + " " + line + "\n";
  return out;
}

// Named by its content: the same problem again writes the same file.
std::string write(const std::string& dir, const std::string& name, const std::string& content) {
  std::error_code error;
  fs::path folder = dir.empty() ? fs::temp_directory_path(error) / "vitrine" : fs::path(dir);
  folder /= "reproducers";
  fs::create_directories(folder, error);
  size_t dot = name.rfind('.');
  fs::path file = folder / (name.substr(0, dot) + "-" + sha256_hex(content).substr(0, 12) + name.substr(dot));
  std::ofstream out(file, std::ios::binary);
  out << content;
  out.close();
  return out.good() ? file.string() : "";
}

}  // namespace

std::string write_kernel_reproducer(const std::string& dir, const std::string& name,
                                    const std::string& source, const std::string& notes) {
  std::string head = notes + "\nTo compile it again: vitrine-cc THIS_FILE.cpp -o /tmp/kernel.so --texts";
  return write(dir, name + ".cpp", source + "\n" + commented(head, "//"));
}

std::string write_graph_reproducer(const std::string& dir, const ir::Graph& graph, const std::string& notes) {
  return write(dir, "graph.txt", commented(notes, "#") + ir::print(graph));
}

void record_problem(ir::Recorder& recorder, const Problem& problem, Id entity) {
  session::MessageRow row;
  row.id = recorder.writer.next(Kind::Message);
  row.time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count() -
                recorder.start_ns;
  row.severity = "warning";
  row.origin = "vitrine";
  row.text = problem.text;
  row.hint = problem.hint;
  row.detail = problem.reproducer;
  row.entity = entity ? entity : recorder.compilation;
  recorder.writer.put(row);
}

}  // namespace vitrine::runtime
