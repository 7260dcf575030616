// A pass that the user has registered, behind a row of the table; and the graph that it gives back, checked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace vitrine::pipeline {

struct UserPass {
  // What it makes of a graph: the text form (core/ir/print.h), and which nodes of the old graph a new one
  // stands for, by names. An empty text: it changed nothing.
  struct Made {
    std::string text;
    std::map<std::string, std::vector<std::string>> from;
  };
  using Run = std::function<Result<Made>(const ir::Graph& graph)>;

  std::string name;   // "double_adds"
  std::string place;  // where it was defined: "model.py:12"
  std::string after;  // a row's name, or a stage's: behind the last row of it
  std::string key;    // what it does, for programs that are kept on disk; "": nobody says
  Run run;            // errors are the user's
};
using UserPasses = std::vector<UserPass>;

// Of a name that a pass is to run after: why there is none; "": there is.
std::string cannot_run_after(std::string_view name);

// The graph after the pass; the same pointer if it changed nothing. Nodes that are as they were keep their
// ids. Errors, which are the user's: what the pass raised, a graph that breaks a law, other inputs or results
// than before.
Result<ir::GraphPtr> run_user_pass(const UserPass& pass, const ir::GraphPtr& before,
                                   const std::shared_ptr<ir::NodeIds>& ids);

}  // namespace vitrine::pipeline
