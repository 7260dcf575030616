// A compiled piece of a frame: the guards under which it may run, the graph, what it leaves behind, and how
// it ends. Running it is a transaction: until its last step that can fail is done, the frame and every object
// are as before.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/capture/cpython/frame.h"
#include "core/capture/guards/guard_tree.h"
#include "core/capture/guards/lifeline.h"
#include "core/capture/segment/check.h"
#include "core/capture/segment/fx_graph.h"
#include "core/capture/segment/instance.h"
#include "core/capture/segment/owner.h"
#include "core/capture/segment/recipe.h"
#include "core/capture/segment_store.h"
#include "core/capture/trace/trace.h"
#include "core/runtime/compile.h"

namespace vitrine::capture {

struct Place;

class Segment {
 public:
  ~Segment();
  // Takes a trace whose frame still stands where capture began. Errors: see GuardTree::build; a graph input
  // without a source.
  static Result<std::unique_ptr<Segment>> make(std::unique_ptr<Trace> trace, const Frame& frame,
                                               const torch_api::GlobalState& state);

  // From now on it keeps nothing alive that it was compiled for, nor what only its making needed.
  void let_go();
  // Whether something that it was compiled for has ended.
  bool is_over() const { return lifeline_.is_over(); }

  // Its graph runs by `plan`, by what a backend of the user's own made of it, or else node by node through
  // PyTorch.
  // Of the instance for the sizes of the last check.
  void set_plan(std::shared_ptr<runtime::Plan> plan) { now_->plan = std::move(plan); }
  // A backend's code serves all instances.
  void set_backend(BackendCode code, const BackendSizes& sizes);
  // The same of a trace with sizes that depend on data.
  void set_pieces(PyRef pieces, const BackendSizes& sizes);
  // The graph's inputs as the frame holds them now, constants left out. Empty: they cannot be read.
  std::vector<PyRef> read_inputs(const Frame& frame, const torch_api::GlobalState& state);

  // Whether it may run here. New: its guards hold, but it has no instance for these sizes yet. Rare: they are
  // not worth one, and run as eager runs them.
  enum class Fit : uint8_t { No, Yes, New, Rare };
  Fit fits(const Frame& frame, const torch_api::GlobalState& state);
  // Yes, No or New, of what is planned. What New has read of the frame stays for is_ready().
  Fit fits_as_planned(const Frame& frame, const torch_api::GlobalState& state);
  // Right after New of the above: whether an instance is made by putting numbers into what is compiled.
  bool is_ready();
  // What was read for a call that it does not serve is let go: it may be large.
  void forget_call() { guards_.drop_temporaries(); }
  bool check(const Frame& frame, const torch_api::GlobalState& state) {
    return fits(frame, state) == Fit::Yes;
  }
  // Right after is_ready(): the instance for these sizes. After Fit::New: the same without a plan; null: the
  // segment does not fit them.
  std::shared_ptr<Instance> make_instance();
  void add_instance(std::shared_ptr<Instance> instance);
  // capture::sized_instance() for the sizes of the check.
  std::shared_ptr<Instance> sized_instance(const std::vector<PyObject*>& inputs, std::string& why) {
    return capture::sized_instance(*trace_, call_, inputs, symbolic_, why);
  }
  Instance& instance() { return *now_; }
  const std::vector<std::shared_ptr<Instance>>& instances() const { return instances_; }
  // How an instance was made, and why no numbers were put into a program of expressions.
  std::pair<const char*, std::string> how_made(const Instance& instance) const;
  const SymbolicGraphs& symbolic() const { return symbolic_; }  // empty: no sizes have asked for one yet
  // What the kernels of its instances share; null where sizes are fixed.
  const std::shared_ptr<codegen::SizeMemory>& sizes() const { return sizes_; }
  // Why it does not fit.
  GuardFailure explain(const Frame& frame, const torch_api::GlobalState& state);
  // Right after a check that passed. Outcome::None: the graph failed with nothing written; eager raises what
  // there is to raise. `times` (may be null) receives one entry a launch. `check` (may be null): the graph is
  // compared with eager, whose results are used where they differ.
  SegmentOutcome run(Frame& frame, std::vector<runtime::LaunchTime>* times, Check* check = nullptr);

  const Trace& trace() const { return *trace_; }
  GuardTree& guards() { return guards_; }
  const GuardTree& guards() const { return guards_; }
  const runtime::Plan* plan() const { return now_->plan.get(); }
  PyObject* training() const { return now_->training.get(); }  // borrowed; null: no region
  bool has_graph() const { return now_->has_graph(); }

  // Of the store and the recording that made it.
  int32_t settings = 0;  // number of the settings it was made under
  Owner owner;           // whose call it was compiled for
  Id compilation = 0;
  int64_t ordinal = 0, calls = 0, failures = 0, checked = 0;
  Place* place = nullptr;  // where it is looked up
  std::string name;        // of the function
  bool refuted = false;    // a call took a way that it was taken not to take
  // How long the instruction behind the segment took: the newest kBreaksKept times, in ns.
  void add_break_ns(int64_t ns);
  double median_break_ns() const;  // 0: never measured
  int64_t breaks_measured() const { return static_cast<int64_t>(break_ns_.size()); }

 private:
  static constexpr size_t kBreaksKept = 64;
  Segment() = default;
  void bury();
  Fit judge(const Frame& frame, const torch_api::GlobalState& state);
  Fit judge_new_sizes();
  bool knows_sizes();
  bool may_serve() const;
  bool holds() const;
  PyRef input_at_rest(int32_t ordinal);
  GuardFailure find_failure(const Frame& frame, const torch_api::GlobalState& state);
  bool choose_instance();  // for the sizes of the check; false: there is none yet
  bool is_rare();          // whether sizes without an instance come less often than those that have one
  SegmentOutcome run_graph(Instance& instance, std::span<const PyRef> sources,
                           std::vector<PyObject*>& results, std::vector<runtime::LaunchTime>* times,
                           Check* check);
  SegmentOutcome replay(Instance& instance, const std::vector<PyObject*>& inputs,
                        std::vector<PyObject*>& results);
  SegmentOutcome failed();  // an error is set
  bool is_refuted() const;
  SegmentOutcome run_training(Instance& instance, const std::vector<PyObject*>& inputs,
                              std::vector<PyObject*>& results);
  // The graph's inputs of a call, constants left out. `numbers` keeps alive what is made of a float. false: a
  // Python error is set.
  bool add_inputs(std::span<const PyRef> sources, std::vector<PyObject*>& inputs,
                  std::vector<PyRef>& numbers) const;
  // The same behind the symbols that a backend's code takes.
  bool add_backend_inputs(std::span<const PyRef> sources, const std::vector<int64_t>& values,
                          std::vector<PyObject*>& inputs, std::vector<PyRef>& numbers) const;
  SegmentOutcome run_backend(std::span<const PyRef> sources, const std::vector<int64_t>& values,
                             std::vector<PyObject*>& results);
  SegmentOutcome run_stand_ins(Frame& frame, std::span<PyRef> sources, std::vector<PyObject*>& results);
  SegmentOutcome run_pieces(std::span<const PyRef> sources, std::vector<int64_t>& values,
                            std::vector<PyObject*>& results);
  // Whether inputs of these sizes lie in memory as the backend was told.
  bool has_backend_strides(const std::vector<int64_t>& values) const;
  SegmentOutcome commit(Frame& frame, Ingredients& from);
  struct Made;
  bool waits(const Recipe& recipe) const;  // for the containers that effects change
  bool waits(const Effect& effect) const;
  bool compute_floats(std::span<PyRef> sources, std::span<const PyRef> integers) const;
  bool make_values(Ingredients& from, Made& made, bool waiting) const;
  bool apply_effects(const Frame& frame, Ingredients& from, const Made& made, bool waiting) const;
  void find_freed(const std::vector<const Source*>& sources);
  void free_gradients(std::span<const PyRef> sources);

  Lifeline lifeline_{[this] { bury(); }};
  std::unique_ptr<Trace> trace_;
  GuardTree guards_;
  static constexpr size_t kInstancesKept = 64;
  static constexpr size_t kMeetingsCounted = 4096;
  std::vector<std::shared_ptr<Instance>> instances_;  // most recently used first
  std::map<std::vector<int64_t>, int64_t> met_;  // how often keys without an instance came, once it is full
  std::shared_ptr<Instance> now_;                // of the last check that passed
  std::shared_ptr<codegen::SizeMemory> sizes_;
  SymbolicGraphs symbolic_;                    // empty: nothing asked for one yet
  std::shared_ptr<Instance> ready_;            // for new sizes of the last check
  CallSizes call_;                             // of the last check
  std::vector<std::vector<int64_t>> refused_;  // keys of sizes that it does not fit, newest last
  PyRef backend_;                              // callable(*symbols, *inputs) -> results
  std::vector<int32_t> backend_symbols_;       // numbers of those that it takes
  // By input of Symbolic: strides that it was made for; empty: it takes any.
  std::vector<std::vector<ir::Sym>> backend_strides_;
  std::vector<int32_t> nodes_;  // guard tree node of each source, by ordinal
  std::vector<int64_t> break_ns_;
  size_t next_break_ = 0;
  bool changes_containers_ = false;                    // that others can see
  std::vector<int32_t> inputs_;                        // ordinal of each graph input's source
  std::vector<int32_t> drawn_;                         // ordinals of those that are random numbers
  std::vector<std::pair<int32_t, int32_t>> computed_;  // ordinal, and which of Trace::computed
  std::vector<int32_t> freed_;  // ordinals of tensors whose gradients go before the graph runs
};

}  // namespace vitrine::capture
