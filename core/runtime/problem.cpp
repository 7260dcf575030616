#include "core/runtime/problem.h"

#include <sstream>

#include "core/base/clock.h"
#include "core/ir/print.h"
#include "core/runtime/reproducer_file.h"

namespace vitrine::runtime {

namespace {

std::string commented(const std::string& notes, const char* mark) {
  std::string out;
  std::istringstream in(notes);
  for (std::string line; std::getline(in, line);) out += std::string(mark) + " " + line + "\n";
  return out;
}

}  // namespace

std::string write_kernel_reproducer(const std::string& dir, const std::string& name,
                                    const std::string& source, const std::string& notes) {
  std::string head = notes + "\nTo compile it again: vitrine-cc THIS_FILE.cpp -o /tmp/kernel.so --texts";
  return write_reproducer(dir, name + ".cpp", source + "\n" + commented(head, "//"));
}

std::string write_graph_reproducer(const std::string& dir, const ir::Graph& graph, const std::string& notes) {
  return write_reproducer(dir, "graph.txt", commented(notes, "#") + ir::print(graph));
}

void record_problem(ir::Recorder& recorder, const Problem& problem, Id entity) {
  session::MessageRow row;
  row.id = recorder.writer.next(Kind::Message);
  row.time_ns = monotonic_ns() - recorder.start_ns;
  row.severity = "warning";
  row.origin = "vitrine";
  row.text = problem.text;
  row.hint = problem.hint;
  row.detail = problem.reproducer;
  row.entity = entity ? entity : recorder.compilation;
  recorder.writer.put(row);
}

}  // namespace vitrine::runtime
