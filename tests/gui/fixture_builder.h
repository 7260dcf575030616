// What the parts of the fixture share: a writer, interned spans and nodes by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/session/writer.h"
#include "tests/gui/fixture_programs.h"
#include "tests/gui/fixture_session.h"

namespace vitrine::fixture {

struct Place {
  int line = 0, col = 0, end_line = 0, end_col = 0;
};

// A node of a snapshot. in: names of its inputs; from: names of the nodes it came from in the snapshot
// before.
struct NodeSpec {
  const char *name, *kind, *op, *family, *shape, *module;
  Place place;
  const char *in, *from;
  int stable;
  const char* group = "";
  const char* detail = "";
};

using Names = std::map<std::string, Id>;

class Builder {
 public:
  explicit Builder(std::unique_ptr<session::Writer> writer) : w(*writer), writer_(std::move(writer)) {}
  session::Writer& w;
  Ids ids;

  Id span(Id file, const Place& place);
  Id file(const std::string& path, std::string_view text, bool user = true);
  Id code(Id file, const char* name, const std::vector<Ins>& body, int last_line);
  Id instruction(Id code, int pc) const { return instructions_.at({code, pc}); }
  // Writes a snapshot with its nodes and edges; links them to `before`. Returns the nodes by name.
  Names graph(Id compilation, const char* stage, const char* pass, const char* sentence, bool changed,
              Id file, const std::vector<NodeSpec>& nodes, const Names& before);
  // Steps of the capture with the node each adds; rewritten with `entity` once the node exists.
  std::vector<std::pair<session::StepRow, std::string>> steps;
  void stage(Id compilation, const char* name, int64_t count, double ms, const char* state = "ok",
             const char* note = "");

 private:
  std::unique_ptr<session::Writer> writer_;
  std::map<std::tuple<Id, int, int, int, int>, Id> spans_;
  std::map<std::pair<Id, int>, Id> instructions_;
  std::map<Id, int64_t> snapshots_;
  int64_t clock_ns_ = 0;
};

std::vector<std::string> words(std::string_view text);
int64_t bytesOf(std::string_view shape);  // "8,128,768" of float32

// The parts, in order. Each fills the ids it makes.
void writeCapture(Builder& b);                      // run, file, bytecode, steps, guards
Names writeGraphs(Builder& b, int copies);          // captured to fused; returns the fused nodes
void writeKernels(Builder& b, const Names& fused);  // kernels, ranges, remarks, decisions, launches
void writeTimeline(Builder& b, const Names& aten);  // lanes, accuracy, timings
void writeGatedRun(Builder& b);                     // second run: breaks, recompilation, messages

}  // namespace vitrine::fixture
