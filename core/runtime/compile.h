// ATen graph in, runnable plan out: passes, fusion, memory plan, kernels. No Python here but through
// core/torch_api.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/opt_bisect.h"
#include "core/base/result.h"
#include "core/codegen/schedule/edited_text.h"
#include "core/codegen/schedule/fault.h"
#include "core/ir/graph.h"
#include "core/ir/recorder.h"
#include "core/pipeline/user_pass.h"
#include "core/runtime/problem.h"
#include "core/session/rows.h"

struct _object;

namespace vitrine::codegen {
struct Program;    // core/codegen/schedule/program.h
class SizeMemory;  // core/codegen/schedule/size_memory.h
}  // namespace vitrine::codegen

namespace vitrine::runtime {

// What became of programs that were looked for among those that earlier processes kept.
struct KeptPrograms {
  int64_t found = 0, missed = 0, refused = 0;
  int64_t left_out = 0;  // that are not kept at all
  std::string why;       // of the last that was not found
};

class ArenaPool;  // core/runtime/arena_pool.h
std::shared_ptr<ArenaPool> new_arena_pool();

// The graph of a stage is made: its last one.
using StageObserver = std::function<void(const ir::GraphPtr& graph)>;

// A program is made, of a graph: its last form before it becomes a plan. table: of its expressions; null: it
// has none.
using ProgramObserver = std::function<void(const ir::Graph& graph, const codegen::Program& program,
                                           const ir::SymbolTable* table)>;

class Plan;
// A plan is about to run for the first time. graph: what it was compiled from; inputs: borrowed.
using PlanObserver =
    std::function<void(const std::shared_ptr<Plan>& plan, const ir::GraphPtr& graph, Id compilation,
                       const std::string& place, std::span<_object* const> inputs)>;

// Everything that changes what is generated; part of the cache key and of the session.
struct CompileOptions {
  std::string mode = "default";
  bool fuse = true;     // false: every node through PyTorch (for bisecting)
  bool verify = false;  // verify the IR after every pass
  std::vector<std::string> disabled_passes;
  // Matrix products: "measured" chooses between PyTorch's and our own, "generated", "library" or
  // the name of one of codegen::product_candidates() dictates.
  std::string products = "measured";
  bool freezing = false;  // weights are taken to be constant between calls, see runtime/held_weight.h
  int lanes = 0;          // f32 values of a vector: 16, 8; 0 = this machine's
  std::string cache_dir;  // object cache; "" = none
  int threads = 0;        // 0 = PyTorch's number
  // Of programs that are one but for their sizes: their kernels take what differs as arguments. May be null.
  std::shared_ptr<codegen::SizeMemory> sizes;
  std::string kernel_compiler;  // path of vitrine-cc; "" = found beside this library
  std::string nvrtc;            // path of libnvrtc; "" = where the loader looks
  std::string nvdisasm;         // path of nvdisasm, which prints SASS for a session; "" = no SASS
  bool graphs = false;          // calls may become replays of a CUDA Graph
  // Of a graph that is trained through: results from this one on are read by its backward plan alone (-1: not
  // the forward half); of the backward half: its inputs settle later.
  int64_t kept_results = -1;
  bool is_backward = false;
  std::vector<int32_t>
      versions;         // by result: what its count of writes is to be; -1, none: as the graph writes
  bool trains = false;  // memory of results is given back with them, as eager does
  std::shared_ptr<ArenaPool> arenas;  // of plans that run one after the other; null: its own
  // What max-autotune measures on a GPU, in seconds, and what the programs that share it have taken of them.
  // May be null: there is no end.
  int64_t tuning_seconds = 0;
  std::shared_ptr<int64_t> tuning_ns;
  std::shared_ptr<const codegen::EditedTexts> edited;  // kernels that a person has written anew; may be null
  std::shared_ptr<OptBisect> bisect;                   // what may be applied; may be null: all
  std::shared_ptr<const codegen::Faults> faults;       // for tests; may be null
  bool watched = false;                                // the plan can tell the value of each buffer
  std::shared_ptr<const PlanObserver>
      observer;  // of a plan that is watched: sees the first run of each plan; may be null
  std::shared_ptr<const pipeline::UserPasses> user_passes;  // may be null: none
  std::shared_ptr<const StageObserver> stages;              // may be null
  std::shared_ptr<const ProgramObserver> programs;          // may be null
  std::string target;  // "sm_90": compiled for that GPU, whatever is here; "" = for the one that is
  std::string place;   // whose graph it is, for people: "Model.forward, backward"
  std::shared_ptr<KeptPrograms> kept;  // counts; may be null
  // Of a program that is compiled without a recorder, what became of the one that was looked for; may be
  // empty.
  std::function<void(session::CacheRow)> tell_kept;
};

// One entry of the compiled timeline of a profiled call.
struct LaunchTime {
  int32_t launch;
  int64_t start_ns, end_ns;
};  // CLOCK_MONOTONIC

// What a step of a plan computed: a copy.
struct SeenValue {
  ir::Ref value;
  std::string label;          // the step's, "K2"
  _object* tensor = nullptr;  // a new reference
};

using WantedValue = std::function<bool(ir::Ref)>;

// What has become of a plan's CUDA Graph; see session::CudaGraphRow.
struct GraphFacts {
  std::string state, reason;  // state "": the mode has none
  int64_t launches = 0, inputs_followed = 0, inputs_in_place = 0, inputs_copied = 0, results_followed = 0,
          results_copied = 0, results_lent = 0, bytes_copied = 0;
};

class Plan {
 public:
  virtual ~Plan() = default;
  // inputs: real tensors by order of the ATen graph's inputs(), borrowed. On success: new references by order
  // of results. false: a Python error is set and no input was written (the segment then runs eagerly). The
  // GIL must be held. `times` (may be null) receives one entry a launch. given_up (may be null): by input, a
  // reference to it that is the plan's, or nullptr; it is dropped after the last launch that reads the input,
  // whatever comes of the call.
  virtual bool run(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
                   std::vector<LaunchTime>* times = nullptr, std::vector<_object*>* given_up = nullptr) = 0;
  // The same, and the values that are wanted as they are in their buffers right behind the step that wrote
  // them, where CompileOptions::watched.
  virtual bool run_watched(std::span<_object* const> inputs, std::vector<_object*>& outputs,
                           const WantedValue& wanted, std::vector<SeenValue>& seen) {
    return seen.clear(), run(inputs.data(), inputs.size(), outputs);
  }
  virtual int launches() const = 0;
  virtual int generated_kernels() const = 0;
  virtual int python_calls() const = 0;  // launches that go through a Python overload
  // What did not go as meant: a kernel or a pass that failed, whose part runs through PyTorch instead.
  virtual const std::vector<Problem>& problems() const = 0;
  virtual GraphFacts graph_facts() const = 0;
};

// Memory of a program of expressions.
struct SizedBuffer {
  std::string name;
  const char* kind;  // as session::BufferRow's
  ir::TensorType type;
  ir::Sym bytes, offset;  // offset: in the arena; -1: not there
  int32_t first_step, last_step;
};
struct SizedMemory {
  std::vector<SizedBuffer> buffers;
  ir::Sym arena_bytes;
};

// Plans of one graph whose sizes are expressions, compiled once: for new sizes numbers are put in.
class SizedPlans {
 public:
  virtual const SizedMemory& memory() const = 0;
  virtual ~SizedPlans() = default;
  // values: by symbol. Null: what the compilation asked of the sizes does not hold for these. The GIL must be
  // held.
  virtual std::shared_ptr<Plan> at(std::span<const int64_t> values) = 0;
};

// Errors: a compiler error of ours (names pass and node; detail says where a reproducer was written).
// `cancelled` is polled.
Result<std::shared_ptr<Plan>> compile(const ir::GraphPtr& aten, const CompileOptions& options,
                                      ir::Recorder* recorder, const std::function<bool()>& cancelled = {});

// The same for a graph of expressions over `table`, which gets the guards and must outlive what is returned.
// Null: cancelled, or some part of it cannot be compiled for any size. problems: those of the plans too.
std::shared_ptr<SizedPlans> compile_sized(const ir::GraphPtr& aten, const ir::SymbolTable& table,
                                          const CompileOptions& options,
                                          const std::function<bool()>& cancelled,
                                          std::vector<Problem>& problems);

std::shared_ptr<codegen::SizeMemory> new_size_memory();

// Starts the kernel compilers in the background so that the first kernel does not wait for them.
void warm_up(const CompileOptions& options);

}  // namespace vitrine::runtime
