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
  bool passes = false;      // every snapshot of a graph stage, not only its last
  std::string compilation;  // label "0/1", or "" for all
};

struct ShowRow {
  std::string_view name;
  std::string_view about;
  std::string (*print)(const session::Reader& session, const ShowOptions& options, std::string_view name);
};

// Every stage and table that can be shown, in the order of the pipeline.
const std::vector<ShowRow>& show_table();

// Errors: an unknown stage (the hint lists the known ones), an unknown compilation.
Result<std::string> show(const session::Reader& session, const std::string& stage,
                         const ShowOptions& options);

// One line a stage: what it held and how long it took, over all compilations of the session.
std::string stage_summary(const session::Reader& session);
// Runs with eager and compiled medians and the check of the outputs.
std::string run_summary(const session::Reader& session);
// What was compared with eager, how many frames are one graph, what was not measured; a paragraph a run.
std::string verdict_summary(const session::Reader& session);
// Errors and warnings of the session, one paragraph each; "" when there are none.
std::string problem_summary(const session::Reader& session);
// Graphs, breaks with reasons and hints, guards and recompilations as prose.
std::string explain(const session::Reader& session);

}  // namespace vitrine::cli
