// A session, or one compilation of it, as it is compared with another: what was compiled, by names that a
// second recording has too. Ids, labels and line numbers differ from one recording to the next.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/session/compare/same_graph.h"
#include "core/session/reader.h"

namespace vitrine::session {

// One operator of the last graph that was recorded of a compilation. key: module path, operator, and which of
// its equals there it is: "fc aten.add.Tensor #0".
struct ComparedNode {
  std::string key, name, type, group;  // group: "K2"; "" where it is no part of a launch
};

struct ComparedKernel {
  std::string label, name, kind, space, text;
  std::set<std::string> nodes;  // keys
  double ns = 0, lower_ns = 0, upper_ns = 0;
  int64_t calls = 0, launches = 0, spills = 0, bytes = 0;
};

struct ComparedProgram {
  std::string key;    // "Block.forward 0/0": of the code and the place in it
  std::string label;  // "0/0"
  std::string status, end, message;
  std::vector<ComparedCall> calls;  // of the captured graph
  std::vector<ComparedNode> nodes;
  std::vector<ComparedKernel> kernels;
  std::map<std::pair<std::string, std::string>, std::string> rejected;  // by keys of two nodes, sorted: why
  std::multiset<std::string> guards;                                    // "L['x'] tensor f32[8]"
  std::vector<double> hits_ns;                                          // calls that found what was compiled
  int64_t temporary_bytes = 0, saved_bytes = 0, compile_ns = 0;
  bool busy = false;      // the machine did other work while it was timed
  bool imported = false;  // of another compiler: names, guards and kernels are that one's
  Id id = 0;              // of its compilation; nothing is compared by it
};

struct ComparedBreak {
  std::string text, place, reason;
  int64_t calls = 0;
  double ns_per_call = 0;
};

struct ComparedOutput {
  std::string verdict, message;
  double max_abs = 0;
};

struct ComparedSession {
  std::string path;
  std::map<std::string, std::string> settings, environment;
  std::map<std::string, std::string>
      frames;  // by qualified name: captured | skipped | eager, with the reason
  std::vector<ComparedProgram> programs;
  std::map<std::string, ComparedBreak> breaks;        // by what stops and why
  std::map<std::string, std::string> recompilations;  // by what changed: how
  std::map<std::string, ComparedOutput> outputs;      // by name
  std::vector<std::string> failures;                  // errors and warnings
  std::vector<double> eager_ns, compiled_ns;          // of interleaved calls
  bool busy = false;                                  // the machine did other work meanwhile
  std::string status;                                 // of the worst run
  bool imported = false;                              // of what another tool recorded
};

// compilation: its label; "" = all.
ComparedSession compared_session(const Reader& session, const std::string& compilation = "");

}  // namespace vitrine::session
