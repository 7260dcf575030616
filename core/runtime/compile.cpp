#include "core/runtime/compile.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/codegen/instantiate.h"
#include "core/codegen/packed_program.h"
#include "core/ops/node.h"
#include "core/passes/library_calls/library_gelu.h"
#include "core/pipeline/draft.h"
#include "core/pipeline/optimise.h"
#include "core/runtime/arena_pool.h"
#include "core/runtime/bisection.h"
#include "core/runtime/cuda/driver.h"
#include "core/runtime/kernel_stage.h"
#include "core/runtime/kernels/host_cpu.h"
#include "core/runtime/opaque_program.h"
#include "core/runtime/product_choice.h"
#include "core/runtime/program_store.h"
#include "core/runtime/sized_plans.h"
#include "core/runtime/watched_plan.h"
#include "core/runtime/write_counts.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/cuda/cuda_random.h"
#include "core/torch_api/library/library.h"

namespace vitrine::runtime {

namespace {

class Compilation {
 public:
  Compilation(const ir::GraphPtr& aten, const CompileOptions& options, ir::Recorder* recorder,
              const std::function<bool()>& cancelled)
      : aten_(aten), options_(options), recorder_(recorder), cancelled_(cancelled) {
    if (options.bisect) options.bisect->begin();
    if (table_) known_ = ir::extent_of(*table_);
  }

  Result<std::shared_ptr<Plan>> run() {
    if (options_.fuse) {
      try {
        if (auto plan = fused()) return *plan;
      } catch (const InternalError& e) {
        fail(e.what());
      }
    }
    if (stopped()) return cancelled_error();
    return opaque();
  }

  // A program with expressions in it, and its kernels.
  struct Made {
    codegen::Program program;
    std::vector<LoadedKernel> kernels;
  };
  // Null: cancelled, or a pass failed and problems() say so.
  std::shared_ptr<SizedPlans> run_sized(const ir::SymbolTable& table) {
    for (const ir::Symbol& symbol : table.symbols()) hints_.push_back(symbol.hint);
    Made made;
    try {
      if (make(made) || (made.kernels.empty() && !made.program.kernels.empty())) return nullptr;
      return std::make_shared<ProgramPlans>(*aten_, std::move(made.program), std::move(made.kernels),
                                            problems_, table, options_);
    } catch (const InternalError& e) {
      fail(e.what());
    }
    return nullptr;
  }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  bool stopped() const { return cancelled_ && cancelled_(); }
  void fail(const std::string& why) {
    Problem problem;
    problem.text = "the compiler failed: " + why;
    problem.hint = "The graph runs through PyTorch instead; please report it with the reproducer.";
    problem.reproducer = write_graph_reproducer(options_.cache_dir, *aten_, problem.text);
    problems_.push_back(std::move(problem));
  }
  void user_failed(const Error& error) {
    const std::string place = error.where.empty() ? "" : " It is at " + error.where + ".";
    problems_.push_back({error.what, "The graph is compiled without it." + place, "", ""});
  }
  static Error cancelled_error() { return Error{"the compilation was cancelled"}; }

  // Nothing: cancelled, or a pass failed and problems_ say so.
  std::optional<ir::GraphPtr> optimise() {
    pipeline::PassOptions how;
    how.verify = options_.verify;
    how.settings = settings();
    how.cancelled = cancelled_;
    how.bisect = options_.bisect;
    how.faults = options_.faults;
    how.user = options_.user_passes;
    how.user_failed = [this](const Error& error) { user_failed(error); };
    if (options_.stages) how.stage_done = *options_.stages;
    aten_recorded_ = true;
    auto graph = pipeline::optimise(aten_, how, recorder_);
    if (graph) return graph.take();
    if (!stopped()) fail(graph.error().what + (graph.error().hint.empty() ? "" : "\n" + graph.error().hint));
    return {};
  }

  pipeline::Settings settings() const {
    const auto gelu = [&](ir::DType type) {
      return passes::asks_library_gelu(*aten_, type) && torch_api::gelu_loses_infinity(type);
    };
    pipeline::Settings out;
    // Without TF32 products of f32 are not for the matrix units, which alone ask for such rows.
    out.matrix_f32 = torch_api::global_state().matmul_precision != 0;
    out.convolutions_tf32 = torch_api::cudnn_allows_tf32();
    out.library_gelu_f32 = gelu(ir::DType::f32);
    out.library_gelu_bf16 = gelu(ir::DType::bf16);
    out.library_gelu_f16 = gelu(ir::DType::f16);
    out.multiplies_bf16 = host_multiplies(ir::DType::bf16);
    out.multiplies_f16 = host_multiplies(ir::DType::f16);
    // Written out and not fused a product would take the memory of all its terms.
    out.matrices = options_.fuse && codegen::cuda::gpu_of(gpu_architecture()).matrices;
    out.graphs = options_.graphs && torch_api::cudnn_is_free();
    out.forward_half = options_.trains && !options_.is_backward && options_.kept_results < 0;
    out.infers = !options_.trains && !options_.is_backward;
    out.disabled = options_.disabled_passes;
    return out;
  }

  codegen::CodegenOptions codegen_options() const {
    codegen::CodegenOptions how;
    how.lanes = options_.lanes ? options_.lanes : host_lanes();
    how.products.threads = options_.threads ? options_.threads : torch_api::num_threads();
    how.products.offered = options_.products != "library";
    if (options_.products != "measured") how.products.least_flops = 0;
    const auto candidates = codegen::product_candidates();
    for (size_t i = 1; i < candidates.size(); ++i)
      if (candidates[i].name == options_.products) how.products.only = static_cast<int32_t>(i);
    // A training step changes its weights from call to call.
    how.products.holds_weights = options_.freezing && options_.kept_results < 0 && !options_.is_backward;
    how.products.any_size = options_.sizes != nullptr;
    how.products.on_gpu = options_.mode.starts_with("max-autotune") || options_.products != "measured";
    how.stream_bytes = host_cache_bytes();
    how.own_results = options_.graphs;
    how.gives_back = options_.trains;
    how.sizes = options_.sizes;
    how.edited = options_.edited;
    how.bisect = options_.bisect;
    how.faults = options_.faults;
    how.gpu = codegen::cuda::gpu_of(gpu_architecture());
    how.draws = rng_layout();
    how.ordered = torch_api::deterministic_algorithms();
    return how;
  }

  // "": no GPU, or one that does not tell.
  std::string gpu_architecture() const {
    if (!options_.target.empty()) return options_.target;
    for (const ir::Node& node : aten_->nodes())
      if (!node.outputs.empty() && node.type().device.is_cuda())
        if (auto own = cuda::architecture(node.type().device.index)) return own.take();
    return "";
  }

  // How numbers are drawn on the GPU on which the graph draws them; that of a GPU that is not here is taken
  // for granted, since nothing runs there.
  fusion::RngLayout rng_layout() const {
    fusion::RngLayout layout;
    if (!options_.target.empty()) return layout;
    for (const ir::Node& node : aten_->nodes()) {
      if (!ops::is_random(node) || node.outputs.empty() || !node.type().device.is_cuda()) continue;
      const torch_api::CudaRng found = torch_api::cuda_rng(node.type().device.index);
      layout.blocks = std::max<int64_t>(1, found.blocks);
      std::copy(std::begin(found.together), std::end(found.together), std::begin(layout.together));
      layout.uniform = found.uniform;
      layout.normal = found.uniform;
      break;
    }
    return layout;
  }

  void add_problems(const std::vector<Problem>& problems) {
    for (const Problem& problem : problems) {
      const auto same = [&](const Problem& known) { return known.text == problem.text; };
      if (std::none_of(problems_.begin(), problems_.end(), same)) problems_.push_back(problem);
    }
  }

  // Compiles the program's kernels. What a kernel without code was to compute is left to PyTorch, and the
  // program built again around it; a candidate without code is no candidate. Nothing: no kernel has code, or
  // cancelled.
  std::optional<KernelStage> with_kernels(const ir::GraphPtr& graph, codegen::CodegenOptions& how,
                                          std::optional<pipeline::Draft>& draft,
                                          const std::function<bool()>& cancelled) {
    while (true) {
      while (options_.bisect && hold_back(*options_.bisect, *graph, draft->program(), how.by_pytorch))
        draft.emplace(graph, how, settings());
      codegen::Program& program = draft->program();
      KernelStage stage = compile_kernels(program.kernels, options_, recorder_ != nullptr, cancelled);
      elsewhere_ns_ += stage.duration_ns;
      add_problems(stage.problems);
      if (stage.cancelled) return {};
      if (stage.ok()) return stage;
      const auto failed = [&](int32_t k) { return stage.kernels[static_cast<size_t>(k)].failed; };
      bool whole = true, any = false;
      for (const CompiledKernel& k : stage.kernels) any = any || !k.failed;
      if (!any) return {};
      for (codegen::Step& step : program.steps) {
        for (std::vector<codegen::Alternative>* ways : {&step.instead, &step.shapes})
          std::erase_if(*ways,
                        [&](const codegen::Alternative& a) { return a.kernel >= 0 && failed(a.kernel); });
        if (step.kind != codegen::Step::Kind::kernel || !failed(step.kernel)) continue;
        const std::vector<ir::NodeId>& nodes = program.kernels[static_cast<size_t>(step.kernel)].nodes;
        how.by_pytorch.insert(nodes.begin(), nodes.end());
        whole = false;
      }
      if (whole) return stage;
      draft.emplace(graph, how, settings());
    }
  }

  // The same with what is offered to be measured, as long as tuning may take; without it after that.
  std::optional<KernelStage> with_candidates(const ir::GraphPtr& graph, codegen::CodegenOptions& how,
                                             std::optional<pipeline::Draft>& draft) {
    if (!how.products.on_gpu || !options_.tuning_ns) return with_kernels(graph, how, draft, cancelled_);
    const auto began = Clock::now();
    const auto spent = [&] { return (Clock::now() - began).count(); };
    const int64_t left = options_.tuning_seconds * 1'000'000'000 - *options_.tuning_ns;
    auto stage = with_kernels(graph, how, draft, [&] { return stopped() || spent() > left; });
    *options_.tuning_ns += spent();
    if (stage || stopped() || spent() <= left) return stage;
    problems_.push_back({"the candidates of a graph were not tuned: the " +
                             std::to_string(options_.tuning_seconds) +
                             " s of vitrine.config.autotune_seconds have been spent",
                         "Its kernels keep their first way.", ""});
    how.products.on_gpu = false;
    draft.emplace(graph, how, settings());
    return with_kernels(graph, how, draft, cancelled_);
  }

  // A choice of before, for other sizes, may be of a candidate that has no code now.
  static void keep_offered(const codegen::Program& program, codegen::ProductChoices& choices) {
    for (auto& [node, choice] : choices) {
      bool offered = choice.candidate == 0;
      for (const codegen::Step& step : program.steps) {
        for (const codegen::Alternative& a : step.shapes)
          offered = offered || (step.shaped == node && a.candidate == choice.candidate);
        for (const codegen::Alternative& a : step.instead)
          offered = offered || (step.node.id == node && a.candidate == choice.candidate &&
                                (step.kind == codegen::Step::Kind::kernel) == choice.fused);
      }
      if (offered) continue;
      choice.candidate = 0;
      choice.fused = false;
    }
  }

  // As it is for the first sizes: what is measured is measured there.
  const codegen::Program& at_hints(const codegen::Program& program, codegen::Program& memory) const {
    if (hints_.empty()) return program;
    memory = codegen::instantiate(program, hints_);
    return memory;
  }

  // Nothing: a pass failed, or no kernel has code; problems_ say why.
  std::optional<Result<std::shared_ptr<Plan>>> fused() {
    Made made;
    if (auto failed = make(made)) {
      if (failed->what.empty()) return {};
      return *failed;
    }
    auto plan = ProgramPlan::make(std::move(made.program), std::move(made.kernels), problems_, options_);
    if (plan || !by_pytorch_) return plan;
    fail(plan.error().what);  // PyTorch has no operator for one of them
    return {};
  }

  // One that does not take and give what the graph does is none of this graph.
  void refuse_misfit(ProgramStore::Answer& answer) const {
    const std::string why = codegen::misfit(answer.found->program, *aten_);
    if (why.empty()) return;
    answer.found.reset();
    answer.state = "refused";
    answer.reason = "the entry is of another graph: " + why;
  }

  // The program that an earlier process made of this graph. false: it is to be compiled; so is one that is
  // recorded, since a session shows how it came to be.
  bool restore(Made& made) {
    const auto began = Clock::now();
    auto key = program_key(*aten_, options_, settings(), codegen_options());
    if (!key) {
      kept_.state = "left out";
      kept_.reason = key.error().what;
      return false;
    }
    key_ = key.take();
    ProgramStore::Answer answer = ProgramStore(options_.cache_dir).find(*key_, options_.place, table_);
    beside_ = answer.for_other_sizes;
    if (answer.found) refuse_misfit(answer);
    kept_.state = answer.state;
    kept_.reason = answer.reason;
    if (!answer.found) return false;
    if (recorder_) {
      kept_.saved_ns = std::max<int64_t>(0, answer.found->compile_ns - (Clock::now() - began).count());
      kept_bytes_ = std::move(answer.found->bytes);
      return false;
    }
    KernelStage stage = compile_kernels(answer.found->program.kernels, options_, false, cancelled_);
    if (!stage.ok() || !stage.problems.empty()) {
      kept_.state = "refused";
      kept_.reason = "one of its kernels has no code";
      return false;
    }
    made.program = std::move(answer.found->program);
    for (CompiledKernel& k : stage.kernels) made.kernels.push_back(std::move(k.loaded));
    made.program.writes = counted_writes();
    for (ir::SymGuard& guard : answer.found->guards) table_->restore(std::move(guard));
    return true;
  }

  // For later processes, and for the session.
  void keep(const codegen::Program& program, int64_t compile_ns) {
    if (key_ && (!problems_.empty() || by_pytorch_)) {
      kept_.reason = "what did not go as meant is compiled again";
    } else if (key_) {
      auto packed = codegen::packed(program, table_, known_);
      if (!packed) kept_.reason = packed.error().what;
      const bool again = packed && kept_.state == "found" && packed.value() != kept_bytes_;
      if (again) kept_.reason = "what is compiled now is another program";
      if (packed) kept_.bytes = static_cast<int64_t>(packed.value().size());
      if (packed && (again || kept_.state != "found"))
        kept_.bytes = ProgramStore(options_.cache_dir)
                          .insert(*key_, options_.place, packed.value(), compile_ns, beside_);
    }
    if (recorder_) {
      kept_.compilation = recorder_->compilation;
      recorder_->writer.put(kept_);
    }
  }

  void count_kept() const {
    if (!options_.kept) return;
    KeptPrograms& counts = *options_.kept;
    if (kept_.state != "found") counts.why = kept_.reason;
    ++(kept_.state == "found"     ? counts.found
       : kept_.state == "missed"  ? counts.missed
       : kept_.state == "refused" ? counts.refused
                                  : counts.left_out);
  }

  void tell_kept() const {
    if (!options_.tell_kept) return;
    session::CacheRow row = kept_;
    row.reason = table_ ? "for all sizes" : "for other sizes than the first";
    if (!kept_.reason.empty()) row.reason += ": " + kept_.reason;
    options_.tell_kept(std::move(row));
  }

  // An error without words: a pass failed, or no kernel has code; problems_ say why.
  Status make(Made& made) {
    const bool restored = restore(made);
    count_kept();
    if (!recorder_) tell_kept();
    if (!restored) {
      if (stopped()) return cancelled_error();
      const auto began = Clock::now();
      if (Status failed = compile(made)) return failed;
      keep(made.program, (Clock::now() - began).count() - elsewhere_ns_);
    }
    if (options_.programs) (*options_.programs)(*aten_, made.program, table_);
    return {};
  }

  Status compile(Made& made) {
    auto optimised = optimise();
    if (!optimised) return Error{};
    const ir::GraphPtr& graph = *optimised;
    codegen::CodegenOptions how = codegen_options();
    std::optional<pipeline::Draft> draft;
    draft.emplace(graph, how, settings());
    std::optional<KernelStage> stage = with_candidates(graph, how, draft);
    if (stopped()) return cancelled_error();
    if (!stage) return Error{};
    const std::vector<codegen::Kernel> offered = draft->program().kernels;
    std::vector<std::string> dropped;
    codegen::Program first;
    const int64_t began = monotonic_ns();
    how.products.choices = choose_products(at_hints(draft->program(), first), stage->kernels, options_,
                                           {how.lanes, how.products.threads, how.products.any_size}, dropped);
    elsewhere_ns_ += monotonic_ns() - began;
    for (std::string& text : dropped)
      problems_.push_back({std::move(text), "What was measured without it is used.", ""});
    keep_offered(draft->program(), how.products.choices);
    if (options_.bisect) hold_back(*options_.bisect, *graph, how.products.choices);
    how.products.offered = false;
    draft->settle(how.products.choices);
    // Units that were one launch may not be one beside what was chosen.
    if (auto known = kernels_of(draft->program().kernels, offered, stage->kernels))
      stage->kernels = std::move(*known);
    else if (auto again = with_kernels(graph, how, draft, cancelled_))
      *stage = first_of(*stage, std::move(*again));
    else
      stage.reset();
    if (stopped()) return cancelled_error();
    if (!stage) return Error{};
    record_choices(how.products.choices, began);
    // Recorded only once every kernel has its code: what the session shows is what runs.
    made.program = draft->finish(recorder_);
    if (recorder_) record(*draft, made.program, *stage, isa_name(how.lanes));
    if (options_.sizes) options_.sizes->commit();
    for (CompiledKernel& k : stage->kernels) made.kernels.push_back(std::move(k.loaded));
    made.program.writes = counted_writes();
    by_pytorch_ = !how.by_pytorch.empty();
    return {};
  }

  // What is compiled for a choice belongs to the time of the choice: the stage's is that of the first time.
  static KernelStage first_of(const KernelStage& first, KernelStage again) {
    again.start_ns = first.start_ns, again.duration_ns = first.duration_ns;
    again.front_ns = first.front_ns, again.back_ns = first.back_ns, again.workers = first.workers;
    return again;
  }

  // Measuring who computes a product, or which shape a kernel has, and laying out the steps anew.
  void record_choices(const codegen::ProductChoices& choices, int64_t began) const {
    int64_t measured = 0, kept = 0;
    for (const auto& [node, choice] : choices)
      ++(choice.source == "measured" && !choice.times.empty() ? measured : kept);
    if (!recorder_ || choices.empty()) return;
    recorder_->stage("choices", "ok", measured + kept, began, monotonic_ns() - began,
                     std::to_string(measured) + " measured, " + std::to_string(kept) + " known before");
  }

  // Writing a session takes longer than what is told in it now and then, and no other run pays for that.
  void record(const pipeline::Draft& draft, const codegen::Program& program, const KernelStage& stage,
              const std::string& isa) const {
    record_kernels(program, stage, isa, *recorder_);
    for (const Problem& problem : problems_) record_problem(*recorder_, problem, 0);
    recorder_->stage("recording", "ok", static_cast<int64_t>(program.kernels.size()), draft.times().planned,
                     monotonic_ns() - draft.times().planned,
                     "of kernels and decisions; no run without a session has it");
  }

  codegen::WriteCounts counted_writes() const {
    codegen::WriteCounts out = count_writes(*aten_);
    for (size_t i = 0; i < std::min(out.results.size(), options_.versions.size()); ++i)
      if (options_.versions[i] >= 0) out.results[i] = options_.versions[i];
    return out;
  }

  Result<std::shared_ptr<Plan>> opaque() {
    codegen::Program program = opaque_program(*aten_);
    program.writes = counted_writes();
    if (recorder_) {
      for (const Problem& problem : problems_) record_problem(*recorder_, problem, 0);
      if (!aten_recorded_) record_aten();
      record_opaque(program, *recorder_);
    }
    return ProgramPlan::make(std::move(program), {}, std::move(problems_), options_);
  }

  void record_aten() {
    int64_t now = monotonic_ns();
    recorder_->graph(aten_, "", "the operators that PyTorch's dispatcher would run", true, now, 0);
    recorder_->stage("aten", "ok", static_cast<int64_t>(aten_->operators()), now, 0);
  }

  const ir::GraphPtr& aten_;
  const CompileOptions& options_;
  ir::Recorder* recorder_;
  const std::function<bool()>& cancelled_;
  std::vector<Problem> problems_;
  bool aten_recorded_ = false;
  bool by_pytorch_ = false;                                // some operators' kernels have no code
  std::vector<int64_t> hints_;                             // by symbol, of a graph of expressions
  ir::SymbolTable* const table_ = ir::symbols_of(*aten_);  // of these; null: sizes are numbers
  ir::TableExtent known_;                                  // before the compilation asked anything
  std::optional<ProgramKey> key_;                          // nothing: the program is not kept
  bool beside_ = false;                                    // another is kept for other sizes
  session::CacheRow kept_;
  std::string kept_bytes_;    // of the program that was found, where it is compiled all the same
  int64_t elsewhere_ns_ = 0;  // in kernels and in measurements, which are kept apart
};

}  // namespace

std::shared_ptr<SizedPlans> compile_sized(const ir::GraphPtr& aten, const ir::SymbolTable& table,
                                          const CompileOptions& options,
                                          const std::function<bool()>& cancelled,
                                          std::vector<Problem>& problems) {
  // Whose values are asked for is compiled for its sizes; so is what passes of the user's see.
  if (!options.fuse || options.watched || options.user_passes || options.stages) return nullptr;
  Compilation compilation(aten, options, nullptr, cancelled);
  auto plans = compilation.run_sized(table);
  problems = compilation.problems();
  return plans;
}

Result<std::shared_ptr<Plan>> compile(const ir::GraphPtr& aten, const CompileOptions& options,
                                      ir::Recorder* recorder, const std::function<bool()>& cancelled) {
  auto plan = Compilation(aten, options, recorder, cancelled).run();
  if (!plan || !options.observer) return plan;
  return std::shared_ptr<Plan>(std::make_shared<WatchedPlan>(
      plan.take(), aten, recorder ? recorder->compilation : 0, options.place, options.observer));
}

std::shared_ptr<ArenaPool> new_arena_pool() {
  return std::make_shared<ArenaPool>();
}

std::shared_ptr<codegen::SizeMemory> new_size_memory() {
  return std::make_shared<codegen::SizeMemory>();
}

void warm_up(const CompileOptions& options) {
  std::string program = find_kernel_compiler(options.kernel_compiler);
  if (!program.empty()) shared_kernel_service(program).warm_up();
}

}  // namespace vitrine::runtime
