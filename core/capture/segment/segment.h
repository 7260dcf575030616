// A compiled piece of a frame: the guards under which it may run, the graph, what it leaves behind, and how
// it ends. Running it is a transaction: until its last step that can fail is done, the frame and every object
// are as before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/frame.h"
#include "core/capture/segment/check.h"
#include "core/capture/segment/guard_tree.h"
#include "core/capture/segment/recipe.h"
#include "core/capture/segment_store.h"
#include "core/capture/trace.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

class Segment {
 public:
  // Takes a trace whose frame still stands where capture began. Errors: see GuardTree::build; a graph input
  // without a source.
  static Result<std::unique_ptr<Segment>> make(std::unique_ptr<Trace> trace, const Frame& frame,
                                               const torch_bridge::GlobalState& state);

  // Its graph runs by `plan`, by what a backend of the user's own made of it, or else node by node through
  // PyTorch.
  void set_plan(std::shared_ptr<runtime::Plan> plan) { plan_ = std::move(plan); }
  // By a region of vitrine._training, which takes the inputs and gives the results.
  void set_training(Owned region) { training_ = std::move(region); }
  void set_backend(Owned compiled) { backend_ = std::move(compiled); }
  // The graph's inputs as the frame holds them now, constants left out. Empty: they cannot be read.
  std::vector<Owned> read_inputs(const Frame& frame, const torch_bridge::GlobalState& state);

  bool check(const Frame& frame, const torch_bridge::GlobalState& state) {
    return guards_.check(frame, state);
  }
  // Right after a check that passed. Outcome::None: the graph failed with nothing written; eager raises what
  // there is to raise. `times` (may be null) receives one entry a launch. `check` (may be null): the graph is
  // compared with eager, whose results are used where they differ.
  Outcome run(Frame& frame, std::vector<runtime::LaunchTime>* times, Check* check = nullptr);

  const Trace& trace() const { return *trace_; }
  GuardTree& guards() { return guards_; }
  const runtime::Plan* plan() const { return plan_.get(); }
  bool has_graph() const { return replayer_ != nullptr; }

  // Of the store and the recording that made it.
  int32_t settings = 0;  // number of the settings it was made under
  Id compilation = 0;
  int64_t ordinal = 0, calls = 0, failures = 0;
  // How long the instruction behind the segment took: the newest kBreaksKept times, in ns.
  void add_break_ns(int64_t ns);
  double median_break_ns() const;  // 0: never measured

 private:
  static constexpr size_t kBreaksKept = 64;
  Segment() = default;
  Outcome run_graph(std::span<const Owned> sources, std::vector<PyObject*>& results,
                    std::vector<runtime::LaunchTime>* times, Check* check);
  Outcome replay(const std::vector<PyObject*>& inputs, std::vector<PyObject*>& results);
  Outcome run_training(const std::vector<PyObject*>& inputs, std::vector<PyObject*>& results);
  Outcome run_backend(std::span<const Owned> sources, std::vector<PyObject*>& results);
  Outcome commit(Frame& frame, Ingredients& from);

  std::unique_ptr<Trace> trace_;
  GuardTree guards_;
  std::shared_ptr<runtime::Plan> plan_;
  Owned training_;
  Owned backend_;  // callable(*inputs) -> results
  std::unique_ptr<torch_bridge::Replayer> replayer_;
  std::vector<int32_t> nodes_;  // guard tree node of each source, by ordinal
  std::vector<int64_t> break_ns_;
  size_t next_break_ = 0;
  std::vector<int32_t> inputs_;  // ordinal of each graph input's source
};

}  // namespace vitrine::capture
