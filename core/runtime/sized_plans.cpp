#include "core/runtime/sized_plans.h"

#include <algorithm>

#include "core/codegen/packed_program.h"
#include "core/ir/each_integer.h"
#include "core/runtime/arena_pool.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/library/library.h"

namespace vitrine::runtime {

namespace {

// Until it ends no other numbers are put into the plan.
class InUse {
 public:
  explicit InUse(ProgramPlans::Kept& kept) : kept_(kept) { ++kept_.running; }
  ~InUse() { --kept_.running; }
  InUse(const InUse&) = delete;

 private:
  ProgramPlans::Kept& kept_;
};

// The plan of some sizes, as who holds it sees it.
class PlanAtSizes : public Plan {
 public:
  PlanAtSizes(std::shared_ptr<ProgramPlans> all, std::shared_ptr<ProgramPlan> any,
              std::span<const int64_t> values)
      : all_(std::move(all)), any_(std::move(any)), values_(values.begin(), values.end()) {}

  bool run(_object* const* inputs, size_t n_inputs, std::vector<_object*>& outputs,
           std::vector<LaunchTime>* times, std::vector<_object*>* given_up) override {
    std::shared_ptr<ProgramPlans::Kept> kept;
    try {
      auto taken = all_->take(values_);
      if (!taken) return torch_api::set_python_error(taken.error().what), false;
      kept = taken.take();
    } catch (const std::exception& error) {
      return torch_api::set_python_error(error.what()), false;
    }
    const InUse in_use(*kept);
    return kept->plan->run(inputs, n_inputs, outputs, times, given_up);
  }
  int launches() const override { return any_->launches(); }
  int generated_kernels() const override { return any_->generated_kernels(); }
  int python_calls() const override { return any_->python_calls(); }
  const std::vector<Problem>& problems() const override { return any_->problems(); }
  GraphFacts graph_facts() const override { return any_->graph_facts(); }

 private:
  const std::shared_ptr<ProgramPlans> all_;
  const std::shared_ptr<ProgramPlan> any_;  // for what no size changes
  const std::vector<int64_t> values_;
};

SizedMemory memory_of(const codegen::Program& program, const ir::Graph& graph) {
  static constexpr const char* kKinds[] = {"input", "parameter", "temporary", "output", "temporary"};
  const std::vector<const ir::Node*> inputs = graph.inputs();
  SizedMemory out{{}, program.arena_bytes};
  for (const codegen::Buffer& b : program.buffers) {
    const bool view = b.view_of >= 0;
    const bool parameter = b.input >= 0 && b.value.output == 0 && !view &&
                           inputs.at(static_cast<size_t>(b.input))->kind == ir::NodeKind::parameter;
    const char* kind = view ? "view" : parameter ? "parameter" : kKinds[static_cast<size_t>(b.kind)];
    out.buffers.push_back({b.name, kind, b.type, view ? ir::Sym(0) : b.type.bytes(), b.arena_offset,
                           b.first_step, b.last_step});
  }
  return out;
}

// PyTorch's own products ask cuBLAS's heuristics at each size that is new, which takes longer than the
// launch.
codegen::Program with_products_of_any_size(codegen::Program program) {
  for (codegen::Step& step : program.steps) {
    if (step.kind != codegen::Step::Kind::library || step.algorithm != 0) continue;
    const ir::TensorType& type = step.node.type();
    const bool half = type.dtype == ir::DType::f16 || type.dtype == ir::DType::bf16;
    const auto changes = [&](int32_t b) {
      return b >= 0 && ir::has_expression(program.buffers[static_cast<size_t>(b)].type);
    };
    const bool sized = std::ranges::any_of(step.buffers, changes);
    if (half && sized && type.device.is_cuda()) step.algorithm = torch_api::LibraryCall::kForAnySize;
  }
  return program;
}

}  // namespace

ProgramPlans::ProgramPlans(const ir::Graph& graph, codegen::Program program,
                           std::vector<LoadedKernel> kernels, std::vector<Problem> problems,
                           const ir::SymbolTable& table, CompileOptions options)
    : memory_(memory_of(program, graph)),
      programs_(ProgramPlan::without_texts(with_products_of_any_size(std::move(program)))),
      changing_(programs_.symbolic()),
      kernels_(std::move(kernels)),
      problems_(std::move(problems)),
      table_(table),
      options_(std::move(options)) {
  if (!options_.arenas) options_.arenas = std::make_shared<ArenaPool>();
}

ProgramPlans::~ProgramPlans() {
  kept_.clear();
  if (arena_) options_.arenas->leave(arena_);
}

std::shared_ptr<Plan> ProgramPlans::at(std::span<const int64_t> values) {
  if (!required_.requires_all(table_)) required_.require(table_);
  if (!required_.run(values)) return nullptr;
  if (options_.graphs || !changing_.in_place) {
    auto plan = make(values);
    return plan ? plan.take() : nullptr;
  }
  if (kept_.empty() && !take(values)) return nullptr;
  return std::make_shared<PlanAtSizes>(shared_from_this(), kept_.front()->plan, values);
}

Result<std::shared_ptr<ProgramPlan>> ProgramPlans::make(std::span<const int64_t> values) {
  auto plan = ProgramPlan::make(numbered(values), kernels_, problems_, options_);
  if (!plan) return plan.error();
  return std::static_pointer_cast<ProgramPlan>(plan.take());
}

// A program that an earlier process kept was looked at for one set of sizes only.
const codegen::Program& ProgramPlans::numbered(std::span<const int64_t> values) {
  const codegen::Program& program = programs_.at(values);
  const std::string wrong = codegen::unsound_memory(program);
  VITRINE_CHECK(wrong.empty(), wrong);
  return program;
}

// The largest arena that a call needed stays, so that sizes which come and go do not give it back each time.
void ProgramPlans::keep_arena(size_t bytes) {
  if (bytes <= arena_) return;
  options_.arenas->join(bytes);
  if (arena_) options_.arenas->leave(arena_);
  arena_ = bytes;
}

Result<std::shared_ptr<ProgramPlans::Kept>> ProgramPlans::take(std::span<const int64_t> values) {
  const auto use = [&](auto at) {
    std::rotate(kept_.begin(), at, at + 1);
    return kept_.front();
  };
  const auto has_values = [&](const std::shared_ptr<Kept>& k) {
    return std::ranges::equal(k->values, values);
  };
  if (const auto at = std::ranges::find_if(kept_, has_values); at != kept_.end()) return use(at);
  const auto idle = std::find_if(kept_.rbegin(), kept_.rend(), [](const auto& k) { return k->running == 0; });
  if (kept_.size() >= kKept && idle != kept_.rend()) {
    Kept& kept = **idle;
    kept.values.clear();  // of none, should it fail
    if (kept.plan->renumber(numbered(values), changing_)) {
      kept.values.assign(values.begin(), values.end());
      keep_arena(kept.plan->arena_on_host());
      return use(std::prev(idle.base()));
    }
    kept_.erase(std::prev(idle.base()));
  }
  auto made = make(values);
  if (!made) return made.error();
  auto kept = std::make_shared<Kept>(made.take(), std::vector(values.begin(), values.end()));
  keep_arena(kept->plan->arena_on_host());
  kept_.insert(kept_.begin(), kept);
  return kept;
}

}  // namespace vitrine::runtime
