// `vitrine show SESSION STAGE`: prints what the window shows, as text or as JSON rows of the session's
// tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/session/reader.h"

namespace vitrine::cli {

struct ShowOptions {
  bool json = false;
  bool csv = false;               // what would be JSON's rows, as CSV
  bool passes = false;            // every snapshot of a graph stage, not only its last
  std::string compilation;        // label "0/1", or "" for all
  std::string kernel;             // label "K3": its text alone; "" for all
  std::string text;               // of the kernel: kernels | ir | assembly; "" = the stage says
  std::vector<std::string> pair;  // of why: two nodes or kernels; none: every pair that stays apart
  size_t width = 0;               // columns of the terminal; 0: as wide as need be
  bool wide = false;              // nothing is elided, folded or left out
};

struct ShowRow {
  std::string_view name;
  std::string_view about;
  std::string (*print)(const session::Reader& session, const ShowOptions& options, std::string_view name);
};

// Whether what is shown is code or a graph, whose lines stay as they are.
bool is_code(const std::string& stage, const ShowOptions& options);

// Every stage and table that can be shown, in the order of the pipeline.
const std::vector<ShowRow>& show_table();

// Stage "": the summary. Errors: an unknown stage (the hint lists the known ones), compilation or kernel.
Result<std::string> show(const session::Reader& session, const std::string& stage,
                         const ShowOptions& options);

// One line a stage: what it held and how long it took, over all compilations of the session.
std::string stage_summary(const session::Reader& session, size_t width = 0);
// What ran, what is wrong with it, and totals.
std::string show_summary(const session::Reader& session, const ShowOptions& options);
// Runs with eager and compiled medians and the check of the outputs. printed_by: what prints the columns for
// which `width` has no room.
std::string run_summary(const session::Reader& session, size_t width = 0,
                        const std::string& printed_by = "--wide");
// What was compared with eager, how many frames are one graph, what was not measured; a paragraph a run.
std::string verdict_summary(const session::Reader& session);
// Errors and warnings of the session, one paragraph each; "" when there are none.
std::string problem_summary(const session::Reader& session);
// Graphs, breaks with reasons and hints, guards and recompilations as prose.
std::string explain(const session::Reader& session);

}  // namespace vitrine::cli
