#include "core/capture/segment/hand_out.h"

#include "core/capture/segment/instance.h"
#include "core/capture/segment/store.h"

namespace vitrine::capture {

namespace {

void ask(const ir::Sym& terms, ir::SymRelation relation, int64_t bound) {
  switch (relation) {
    case ir::SymRelation::Eq:
      return (void)ir::equal(terms, bound);
    case ir::SymRelation::Ne:
      return (void)ir::equal(terms, bound);
    case ir::SymRelation::Le:
      return (void)ir::less_equal(terms, bound);
    case ir::SymRelation::Ge:
      return (void)ir::less_equal(bound, terms);
  }
}

}  // namespace

Status ask_again(const ir::SymbolTable& from, ir::SymbolTable& to) {
  for (const ir::SymGuard& guard : from.guards()) {
    const std::string text = from.text(guard);  // "2*s0 <= 64"
    auto terms = to.parse(text.substr(0, text.rfind(' ', text.rfind(' ') - 1)));
    if (!terms) return terms.error();
    // Of a path its last name: what is handed out may be given away.
    const ir::SymPlace place(to, guard.place.substr(guard.place.rfind('/') + 1));
    ask(terms.value(), guard.relation, guard.bound);
  }
  return {};
}

// Compiled once more for it: what the segment itself runs may have come from anywhere.
void Store::hand_out(Segment& segment, const Frame& frame, const torch_api::GlobalState& state) {
  const std::vector<PyRef> given = segment.read_inputs(frame, state);
  std::vector<PyObject*> inputs;
  for (const PyRef& one : given) inputs.push_back(one.get());
  const Trace& trace = segment.trace();
  bool done = false;
  std::string why;
  const auto compiled = [&](const std::shared_ptr<Instance>& instance, auto&& compile) {
    runtime::CompileOptions options = options_for(segment, *instance);
    std::vector<PyObject*> all = inputs;
    all.insert(all.end(), instance->graphs.constants.begin(), instance->graphs.constants.end());
    options.programs = std::make_shared<const runtime::ProgramObserver>(
        [&](const ir::Graph& graph, const codegen::Program& program, const ir::SymbolTable* table) {
          done = true;
          (*engine_.config.taker)({graph, program, table, all, table ? "" : why});
        });
    compile(*instance, options);
  };
  if (trace.symbolic) {
    why = "its sizes cannot be told apart from those of the example";
    const std::shared_ptr<Instance> sized = segment.sized_instance(inputs, why);
    Status failed = sized ? ask_again(trace.symbolic->table, sized->evaluated->table) : Status();
    if (failed) why = failed->what;
    if (sized && !failed)
      compiled(sized, [&](Instance& instance, const runtime::CompileOptions& options) {
        (void)sized_plan(instance, options, {}, engine_.teller());
        if (!done) why = instance.evaluated->forward.why;
      });
  }
  if (done) return;
  compiled(segment.instances().front(), [&](Instance& instance, const runtime::CompileOptions& options) {
    (void)runtime::compile(graph_to_compile(instance), options, nullptr);
  });
}

}  // namespace vitrine::capture
