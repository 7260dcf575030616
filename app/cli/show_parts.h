// The printers behind show_table(), one a row; each gives text, or JSON rows when the options ask for it.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "app/cli/show.h"

namespace vitrine::cli {

#define VITRINE_SHOW(name) \
  std::string name(const session::Reader& s, const ShowOptions& options, std::string_view stage)

VITRINE_SHOW(show_source);          // show_source.cpp
VITRINE_SHOW(show_bytecode);        // show_source.cpp
VITRINE_SHOW(show_steps);           // show_source.cpp
VITRINE_SHOW(show_graph);           // show_graph.cpp
VITRINE_SHOW(show_decisions);       // show_graph.cpp
VITRINE_SHOW(show_why);             // show_why.cpp
VITRINE_SHOW(show_kernel_text);     // show_kernels.cpp
VITRINE_SHOW(show_remarks);         // show_kernels.cpp
VITRINE_SHOW(show_choices);         // show_kernels.cpp
VITRINE_SHOW(show_memory);          // show_kernels.cpp
VITRINE_SHOW(show_launch);          // show_kernels.cpp
VITRINE_SHOW(show_partition);       // show_kernels.cpp
VITRINE_SHOW(show_roofline);        // show_roofline.cpp
VITRINE_SHOW(show_counters);        // show_counters.cpp
VITRINE_SHOW(show_samples);         // show_counters.cpp
VITRINE_SHOW(show_timeline);        // show_run.cpp
VITRINE_SHOW(show_accuracy);        // show_run.cpp
VITRINE_SHOW(show_numerics);        // show_numerics.cpp
VITRINE_SHOW(show_runs);            // show_run.cpp
VITRINE_SHOW(show_calls);           // show_run.cpp
VITRINE_SHOW(show_stages);          // show_run.cpp
VITRINE_SHOW(show_cache);           // show_run.cpp
VITRINE_SHOW(show_messages);        // show_problems.cpp
VITRINE_SHOW(show_breaks);          // show_problems.cpp
VITRINE_SHOW(show_guards);          // show_problems.cpp
VITRINE_SHOW(show_recompilations);  // show_problems.cpp
VITRINE_SHOW(show_symbols);
#undef VITRINE_SHOW

// Names of things, as every view writes them.
class EntityNames {
 public:
  explicit EntityNames(const session::Reader& session);
  std::string compilation(Id id) const;  // "Block.forward 0/1"
  std::string place(Id span) const;      // "block.py:12:4"
  std::string place_of_instruction(Id instruction) const;
  bool shown(Id compilation, const ShowOptions& options) const;  // passes the --compilation filter

 private:
  const session::Reader& session_;
  std::vector<session::CompilationRow> compilations_;
  std::unordered_map<Id, const session::CompilationRow*> by_id_;
  mutable std::unordered_map<Id, std::string> named_;  // of compilations
};

// The table of decisions, of those that are wanted.
std::string decision_table(const session::Reader& session, const ShowOptions& options,
                           const std::function<bool(const session::DecisionRow&)>& wanted);
// Of why: a name that nothing has, or one name alone.
std::optional<Error> unknown_pair(const session::Reader& session, const ShowOptions& options);

// The message for a table without rows.
std::string nothing(std::string_view what, std::string_view why);
// Why no graph was divided into forward and backward.
std::string why_no_halves(const session::Reader& session);
// Why nothing was timed.
std::string why_no_times(const session::Reader& session);
// Why there are no rows: nothing was compiled, and what became of the run; else what the stage left as its
// note, and `otherwise` where there is none.
std::string why_nothing(const session::Reader& session, std::string_view stage, std::string_view otherwise);

}  // namespace vitrine::cli
