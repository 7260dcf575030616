// Runs a codegen::Program. Built once; each call takes a CallState (arena, tables by buffer) from a short
// free list, so that the steady state allocates little and a plan may be entered again while it runs. The GIL
// must be held in every function.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/codegen/schedule/program.h"
#include "core/runtime/call_state.h"
#include "core/runtime/compile.h"
#include "core/runtime/graph_runs.h"
#include "core/runtime/held_weight.h"
#include "core/runtime/kernels/object_cache.h"
#include "core/runtime/scratch.h"
#include "core/torch_api/cuda/cuda_random.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/op_call.h"

namespace vitrine::runtime {

// What of a plan other sizes change.
struct ChangingParts {
  explicit ChangingParts(const codegen::Program& program);  // with expressions
  bool in_place = true;                                     // false: a plan is made for its sizes alone
  std::vector<int32_t> buffers, steps;                      // of calls: where what is passed changes
  std::map<ir::Ref, int32_t> slots;                         // codegen::Program::value_buffer
};

class ProgramPlan : public Plan {
 public:
  // kernels: by position of program.kernels. Errors: an operator that PyTorch does not have.
  static Result<std::shared_ptr<Plan>> make(codegen::Program program, std::vector<LoadedKernel> kernels,
                                            std::vector<Problem> problems, const CompileOptions& options);

  // All that a plan needs of a program, and not what its kernels were made from.
  static codegen::Program without_texts(codegen::Program program);

  // Puts in the numbers of `program`, which is its own for other sizes. Not while it runs. false: they do not
  // fit it, and it is not to be used any more.
  bool renumber(const codegen::Program& program, const ChangingParts& changing);
  size_t arena_on_host() const;  // bytes; 0: none

  bool run(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
           std::vector<LaunchTime>* times, std::vector<_object*>* given_up) override;
  bool run_watched(std::span<_object* const> inputs, std::vector<_object*>& outputs,
                   const WantedValue& wanted, std::vector<SeenValue>& seen) override;
  int launches() const override { return static_cast<int>(steps_.size()); }
  int generated_kernels() const override { return static_cast<int>(kernels_.size()); }
  int python_calls() const override { return python_calls_; }
  const std::vector<Problem>& problems() const override { return problems_; }
  GraphFacts graph_facts() const override;
  ~ProgramPlan() override;

 private:
  struct Step {
    codegen::Step::Kind kind = codegen::Step::Kind::opaque;
    KernelFunction function = nullptr;
    int64_t work = 1, grain = 1;
    const cuda::GpuFunction* gpu = nullptr;       // instead of `function`
    const codegen::ScalarCode* scalar = nullptr;  // instead of both
    codegen::Grid grid;
    bool on_host = false;               // all it touches is the CPU's
    std::vector<GraphUse> uses;         // in a graph: arguments that follow the call's tensors
    std::vector<int64_t> numbers;       // its next argument, if there are any
    bool checks = false;                // codegen::Kernel::checks
    std::unique_ptr<HeldWeight> held;   // codegen::Kernel::held
    std::unique_ptr<HeldResults> kept;  // codegen::Step::of_weights
    bool works_in_scratch = false;      // codegen::Kernel::scratch
    bool packed = false;                // codegen::Kernel::packed
    std::vector<int32_t> by_value;      // codegen::Kernel::by_value
    std::vector<int32_t> buffers, outs;
    std::vector<int32_t> fresh;      // output buffers that are allocated before it
    std::vector<int32_t> written;    // input buffers whose storage our own code writes
    std::vector<int32_t> counted;    // input buffers whose version is counted up after it, once an entry
    std::vector<int32_t> uncounted;  // input buffers whose version stays, whatever PyTorch counts
    std::vector<int32_t> saved;      // buffers copied before it, because a later step may fail
    std::vector<int32_t> released;   // buffers whose tensor goes after it
    std::vector<int32_t> last_read;  // inputs (positions) that no later step reads
    bool first_random = false;       // the generator's state is kept before it
    int draws = -1;                  // segment of Program::draws whose seed and offset are its last arguments
    int draws_next = -1;             // segment that begins after it
    bool asks_grad_mode = false;     // the operator computes otherwise where nothing is differentiated
    bool makes_new = false;          // ir::Node::makes_new
    std::unique_ptr<torch_api::LibraryCall> library;
    std::unique_ptr<torch_api::PreparedOp> op;
  };
  struct ResultItem {
    int32_t buffer = -1;                          // or:
    _object* constant = nullptr;                  // owned
    int32_t version = -1;                         // set at the end; -1: it is not of this plan's making
    std::unique_ptr<torch_api::PreparedOp> view;  // makes the result from its base, as PyTorch's own view
    bool alone = false;  // an operator's view of what nobody else gets: becomes a tensor like any other
  };

  ProgramPlan(codegen::Program program, std::vector<LoadedKernel> kernels, std::vector<Problem> problems);
  // plan_build.cpp
  Status prepare();
  void forget_texts();
  void find_watched();
  std::unordered_map<int32_t, int32_t> arguments_handed_back() const;
  Status prepare_step(const codegen::Step& from, Step& step);
  void prepare_kept();
  void prepare_draws();
  void find_last_reads();
  Status prepare_results();
  void find_alone();
  void find_read();
  std::vector<bool> viewing_an_input() const;
  void find_input_views();
  void find_written();
  void count_as_eager();
  std::vector<int32_t> version_owners() const;  // by buffer: the one whose version it has
  std::vector<bool> made_inside() const;        // by buffer: the call allocates its memory
  void plan_rollback();
  int32_t root(int32_t buffer) const;  // the buffer whose storage it is part of
  int32_t slot_of(ir::Ref ref) const;
  std::string why_no_graph() const;  // of what is known before it runs
  std::string why_no_graph_for_memory() const;
  bool is_seed_of_graph(size_t step, int32_t buffer) const;
  bool is_idle_seed(int32_t buffer) const;
  void find_host_steps();
  void prepare_graph(const CompileOptions& options);
  void follow_arguments(const std::unordered_map<int32_t, GraphUse>& source);
  void count_in_graph(GraphRuns::Roles& roles) const;

  Result<std::unique_ptr<torch_api::PreparedOp>> prepare_view(int32_t buffer) const;
  ir::Node view_node(int32_t buffer) const;

  // plan_renumber.cpp
  void renumber_buffers(const codegen::Program& program, const std::vector<int32_t>& changing);
  static bool renumber_call(const codegen::Step& from, Step& step, const ChangingParts& changing);

  // plan_run.cpp
  bool run_given(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
                 std::vector<LaunchTime>* times, std::vector<_object*>* given_up);
  bool run_launches(_object* const* inputs, std::vector<_object*>& outputs, std::vector<LaunchTime>* times,
                    GraphLaunches* seen = nullptr, std::vector<_object*>* given_up = nullptr);
  void give_up(CallState& state, int32_t input) const;
  bool host_numbers(_object* const* inputs, std::vector<void*>& numbers);
  bool run_in(CallState& state, std::vector<_object*>& outputs, std::vector<LaunchTime>* times);
  bool run_steps(CallState& state, std::vector<LaunchTime>* times);
  bool run_profiled(size_t step, CallState& state);
  bool begin_draws(CallState& state, int segment);  // false: a Python error is set
  void roll_back(CallState& state);
  bool run_step(const Step& step, CallState& state);
  bool note_values(size_t step, CallState& state);
  std::optional<uint32_t> seen_version(CallState& state, int32_t b);
  bool run_kernel(const Step& step, CallState& state);
  bool launch(const Step& step, CallState& state);
  bool run_library(const Step& step, CallState& state);
  enum class Made : uint8_t { as_planned, elsewhere, otherwise };  // otherwise: a Python error is set
  Made judge(int32_t out, torch_api::Handle made) const;
  bool take_made(int32_t out, torch_api::Handle made, CallState& state);
  bool run_opaque(const Step& step, CallState& state);
  bool call_operator(const Step& step, CallState& state, std::vector<_object*>& returned);
  bool run_view(const Step& step, CallState& state);
  static bool was_given(const Step& step, const CallState& state, _object* value);
  bool store_returned(const Step& step, CallState& state, std::vector<_object*>& returned, bool reads_arena);
  bool starts_as_compiled(CallState& state);  // false: a Python error is set, nothing ran
  bool collect(CallState& state, std::vector<_object*>& outputs);
  _object* make_view(const ResultItem& item, CallState& state);  // new reference
  std::unique_ptr<CallState> take_state();
  void give_back(std::unique_ptr<CallState> state);

  BufferTable table_;
  std::vector<std::vector<int32_t>> of_input_;  // by input: the buffers that lie in its memory
  std::unordered_map<int64_t, int32_t>
      slots_;  // (node, output) in one number -> buffer; only while it is built
  codegen::Program program_;
  std::vector<LoadedKernel> kernels_;
  std::vector<Step> steps_;
  std::vector<ResultItem> results_;
  std::unique_ptr<torch_api::CudaGenerator> generator_;  // while kernels draw
  std::vector<std::unique_ptr<CallState>> free_;
  std::vector<Problem> problems_;
  // By step: the values that it writes, and where; only of a plan that may be watched.
  std::vector<std::vector<std::pair<ir::Ref, int32_t>>> watched_;
  std::vector<SeenValue>* seen_ = nullptr;  // while a call is watched
  const WantedValue* wanted_ = nullptr;
  int python_calls_ = 0;
  bool returns_input_view_ = false;
  Scratch scratch_;                     // of kernels that work in some, one after the other
  bool only_compiled_ = false;          // for a GPU that is not here
  std::vector<uint64_t> drawn_before_;  // by segment of the draws: from the call's begin, by all that drew
  bool has_host_steps_ = false;
  std::unique_ptr<GraphRuns> graphs_;
  std::vector<std::pair<int32_t, int32_t>> graph_numbers_;  // buffers of the host's numbers, and their bytes
  std::string no_graph_;  // why not, while graphs_ is null; "": the mode has none
};

}  // namespace vitrine::runtime
