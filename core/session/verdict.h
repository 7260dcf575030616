// What is said of a run, computed from what was recorded of it and from nothing else, in the same words on
// the command line and in every view: what was compared with eager, how many frames are one graph, what was
// not compiled and what was not measured.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/session/break_causes.h"
#include "core/session/rows.h"

namespace vitrine::session {

class Reader;

// Values of `row` are outside the tolerance, and as near to a float64 result as eager's are.
inline bool as_exact(const AccuracyRow& row) {
  return row.verdict == "close" && row.mismatched > 0;
}

// From best to worst: "equal eager", "close to eager", "as exact as eager", "differ from eager"; of several
// rows the worst is said. "" of none.
template <class Rows>
std::string verdict_words(const Rows& rows) {
  int worst = 0;
  for (const AccuracyRow& row : rows)
    worst = std::max(worst, row.verdict == "differs" ? 4
                            : as_exact(row)          ? 3
                            : row.verdict == "close" ? 2
                                                     : 1);
  return worst == 4   ? "differ from eager"
         : worst == 3 ? "as exact as eager"
         : worst == 2 ? "close to eager"
         : worst == 1 ? "equal eager"
                      : "";
}

// What was recorded of one run; borrowed.
struct RunRecord {
  const RunRow* run = nullptr;
  std::vector<const FrameRow*> frames;
  std::vector<const SegmentRow*> segments;
  std::vector<const CompilationRow*> compilations;  // backward ones, too
  std::vector<Id> with_graph;  // compilations that have a captured graph, or an imported one
  std::vector<Id> backwards;   // compilations of backward graphs
  std::vector<const BreakRow*> breaks;
  std::vector<const RecompilationRow*> recompilations;
  std::vector<const AccuracyRow*> accuracies;
  bool steps = false;  // of a script, measured on both sides
  BreakContext context;
};

struct Verdict {
  // Outputs, and with --check the results of graphs.
  bool compared = false, differs = false;
  int64_t output_calls = 0;  // whose outputs were compared
  int64_t checked_graphs = 0,
          checked_calls = 0;  // graphs that were compared one by one, and in how many calls
  int64_t graphs = 0;
  std::string words;       // "equal eager"; "" where nothing was compared
  std::string why_not;     // why nothing was compared
  bool gradients = false;  // graphs of gradients were compiled, which nothing compares

  // Frames that were looked at, each counted once.
  int64_t whole = 0;          // one graph from the first instruction to the last
  int64_t broken = 0;         // several graphs, or one that ends before the function does
  int64_t without_graph = 0;  // no tensor operation was captured
  int64_t eager = 0;          // runs as eager, or a compilation of it failed
  int64_t skipped = 0;        // not captured
  int64_t breaks = 0, recompilations = 0;

  bool measured = false, steps = false;  // calls; steps of a script
  std::string why_not_measured;
  bool finished = false;

  // "outputs of 2 calls equal eager", "outputs were not compared: ...".
  std::string outputs() const;
  // "2 frames are one graph each, 1 has 3 graph breaks"; "no frame was captured".
  std::string frames() const;
  // All of it as sentences: frames, outputs, what was not measured.
  std::string text() const;
  // Nothing is wrong, and nothing that a run can compare was left out.
  bool good() const { return finished && compared && !differs && whole > 0 && !broken && !eager && !skipped; }
};

Verdict verdict_of(const RunRecord& record);
Verdict verdict_of(const Reader& session, const RunRow& run);

// The causes of a run's breaks, 0 = of all. The rows must outlive what is returned.
std::vector<BreakCause> break_causes(const Reader& session, const std::vector<BreakRow>& breaks);

}  // namespace vitrine::session
