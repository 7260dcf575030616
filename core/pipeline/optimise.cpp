// Everything around a pass: it times, verifies, records, counts, obeys switches and cancelling, and names the
// pass in an error.
#include "core/pipeline/optimise.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/ir/print.h"
#include "core/ir/restage.h"
#include "core/ops/check.h"

namespace vitrine::pipeline {

namespace {

using ir::GraphPtr;

std::shared_ptr<ir::NodeIds> ids_above(const ir::Graph& graph) {
  auto ids = std::make_shared<ir::NodeIds>();
  for (const ir::Node& n : graph.nodes()) ids->next = std::max(ids->next, n.id + 1);
  return ids;
}

// Nodes of `before` that are gone or compute something else in `after`.
int64_t rewrites(const ir::Graph& before, const ir::Graph& after) {
  int64_t n = 0;
  for (const ir::Node& node : before.nodes()) {
    const ir::Node* same = after.find(node.id);
    n += !same || same->op != node.op || !ir::same(same->args, node.args) ||
         !ir::same(same->kwargs, node.kwargs);
  }
  return n;
}

std::string sentence(const Row& pass, int64_t count, bool disabled) {
  if (disabled) return "switched off";
  if (count == 0) return "nothing to do";
  return std::to_string(count) + (count == 1 ? " rewrite: " : " rewrites: ") + std::string(pass.sentence);
}

struct StageClock {
  std::string name;
  int64_t start_ns = 0;
};

class Runner {
 public:
  Runner(GraphPtr graph, const PassOptions& options, ir::Recorder* recorder)
      : graph_(std::move(graph)), options_(options), recorder_(recorder) {
    ids_ = options.ids ? options.ids : ids_above(*graph_);
    ids_->bisect = options.bisect;
    if (recorder) ids_->next = std::max(ids_->next, recorder->next_node());
    first_stage_ = graph_->stage;
    symbols_ = ir::symbols_of(*graph_);
  }

  Result<GraphPtr> run() {
    begin_stage(graph_->stage);
    if (recorder_)
      recorder_->graph(graph_, "", "the operators that PyTorch's dispatcher would run", true, monotonic_ns(),
                       0);
    if (auto error = verify("the ATen graph")) return *error;
    for (const Row& pass : rows()) {
      if (!pass.pass) break;  // the rest reads the last graph: core/pipeline/draft.h
      if (options_.cancelled && options_.cancelled()) return Error{"the compilation was cancelled", "", ""};
      std::optional<ir::SymPlace> place;
      if (symbols_) place.emplace(*symbols_, "pass " + std::string(pass.name));
      if (auto error = step(pass)) return *error;
      if (options_.stop_after == pass.name) break;
    }
    end_stage();
    return graph_;
  }

 private:
  Status step(const Row& pass) {
    // The halves of a joint graph are ATen graphs under names of their own.
    const std::string stage = pass.stage == "aten" ? first_stage_ : std::string(pass.stage);
    if (graph_->stage != stage) {
      end_stage();
      begin_stage(stage);
      graph_ = ir::restage(graph_, stage);
    }
    GraphPtr before = graph_;
    const bool disabled = !runs(pass, options_.settings);
    int64_t start = monotonic_ns();
    try {
      if (!disabled) graph_ = applied(pass, before);
    } catch (const std::exception& e) {
      return Error{"pass " + std::string(pass.name) + ": " + e.what(),
                   "an error of Vitrine's own; the pass can be switched off by its name", ""};
    }
    int64_t duration = monotonic_ns() - start;
    if (recorder_) {
      int64_t count = graph_ == before ? 0 : std::max<int64_t>(rewrites(*before, *graph_), 1);
      recorder_->graph(graph_, std::string(pass.name), sentence(pass, count, disabled), graph_ != before,
                       start, duration);
    }
    if (options_.after) options_.after(pass, graph_);
    return graph_ == before ? Status{} : verify("pass " + std::string(pass.name));
  }

  // A pass that asks for each of its rewrites is not asked for as a whole.
  GraphPtr applied(const Row& pass, const GraphPtr& before) {
    constexpr auto kRewrite = OptBisect::Of::rewrite;
    const auto counted = [&] { return ids_->bisect ? ids_->bisect->applications(kRewrite).size() : 0; };
    const size_t asked = counted();
    GraphPtr after = pass.pass(before, ids_);
    if (after != before && options_.faults)
      after = codegen::made_wrong(std::string(pass.name), *before, after, *options_.faults, ids_);
    if (after == before || !ids_->bisect || counted() > asked) return after;
    const std::string text = "pass " + std::string(pass.name) + ", " + graph_->stage;
    return ids_->bisect->allows(kRewrite, text) ? after : before;
  }

  Status verify(const std::string& who) {
    if (!options_.verify) return std::nullopt;
    auto broken = ops::verify(*graph_);
    if (broken.empty()) return std::nullopt;
    return Error{who + " breaks a law of the graph: " + broken[0].text, ir::show_broken(*graph_, broken), ""};
  }

  void begin_stage(const std::string& name) { stage_ = {name, monotonic_ns()}; }
  void end_stage() {
    if (!recorder_) return;
    recorder_->stage(stage_.name, "ok", static_cast<int64_t>(graph_->operators()), stage_.start_ns,
                     monotonic_ns() - stage_.start_ns);
  }

  GraphPtr graph_;
  const PassOptions& options_;
  ir::Recorder* recorder_;
  std::shared_ptr<ir::NodeIds> ids_;
  StageClock stage_;
  ir::SymbolTable* symbols_ = nullptr;  // of symbolic sizes
  std::string first_stage_;
};

}  // namespace

Result<GraphPtr> optimise(GraphPtr aten, const PassOptions& options, ir::Recorder* recorder) {
  return Runner(std::move(aten), options, recorder).run();
}

}  // namespace vitrine::pipeline
