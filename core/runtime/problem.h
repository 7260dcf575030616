// What did not go as meant in a compilation without making it fail: the sentence for people, and a file from
// which it can be repeated.
#pragma once

#include <string>

#include "core/ir/graph.h"
#include "core/ir/recorder.h"

namespace vitrine::runtime {

struct Problem {
  std::string text, hint;
  std::string reproducer;  // path; "" if none could be written
  std::string cause;       // of the machine, as "File too large": the user is told of it once
};

// Writes a kernel's source with the diagnostics and the command to compile it again at its head. Path or "".
std::string write_kernel_reproducer(const std::string& dir, const std::string& name,
                                    const std::string& source, const std::string& notes);
// Writes a graph in its text form, which parses back. Path or "".
std::string write_graph_reproducer(const std::string& dir, const ir::Graph& graph, const std::string& notes);

void record_problem(ir::Recorder& recorder, const Problem& problem, Id entity);

}  // namespace vitrine::runtime
