// Everything around a pass: it times, verifies, records, counts, obeys switches and cancelling, and names the
// pass in an error.
#include "core/pipeline/optimise.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "core/base/clock.h"
#include "core/base/opt_bisect.h"
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

// By node of `before`: the names of the new nodes that stand for it, "mul, erf".
std::unordered_map<ir::NodeId, std::string> made_of(const ir::Graph& before, const ir::Graph& after) {
  std::unordered_map<ir::NodeId, std::string> out;
  for (const ir::Node& fresh : after.nodes()) {
    if (before.find(fresh.id)) continue;
    for (const ir::NodeId from : std::set(fresh.origin.from.begin(), fresh.origin.from.end())) {
      std::string& made = out[from];
      made += (made.empty() ? "" : ", ") + fresh.name;
    }
  }
  return out;
}

// What became of a node: "gelu → mul, erf", "gelu: other arguments", "view_3 removed".
std::string became(const ir::Node& node, const std::string& made, const ir::Graph& after) {
  if (const ir::Node* same = after.find(node.id); same && made.empty())
    return node.name + (same->op == node.op ? ": other arguments" : ": " + node.op + " → " + same->op);
  return made.empty() ? node.name + " removed" : node.name + " → " + made;
}

// Behind the last row that has the name, or is of the stage.
bool runs_behind(std::string_view after, const Row& row) {
  const Row* last = nullptr;
  for (const Row& each : rows())
    if (each.pass && (each.name == after || each.stage == after)) last = &each;
  return last == &row;
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
    if (recorder) {
      if (!ids_->bisect)
        ids_->bisect = std::make_shared<OptBisect>(std::array<int64_t, OptBisect::kKinds>{-1, -1, -1});
      ids_->bisect->watch();
    }
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
      if (options_.user) user_passes(pass);
      if (options_.stop_after == pass.name) break;
    }
    end_stage();
    ids_->bisect = options_.bisect;
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
      const auto known = recorder_->entities();
      const Id snapshot = recorder_->graph(graph_, std::string(pass.name), sentence(pass, count, disabled),
                                           graph_ != before, start, duration);
      const auto noted = ids_->bisect->take_noted();
      if (graph_ != before) record_rewrites(pass.name, *before, snapshot, noted, known, start);
    }
    if (options_.after) options_.after(pass, graph_);
    return graph_ == before ? Status{} : verify("pass " + std::string(pass.name));
  }

  // Those that the user wants behind this row. One that fails is left out, and told of.
  void user_passes(const Row& row) {
    for (const UserPass& pass : *options_.user) {
      if (!runs_behind(pass.after, row)) continue;
      const GraphPtr before = graph_;
      const int64_t start = monotonic_ns();
      Result<GraphPtr> made = run_user_pass(pass, before, ids_);
      const int64_t duration = monotonic_ns() - start;
      if (made)
        graph_ = made.take();
      else if (options_.user_failed)
        options_.user_failed(made.error());
      if (!recorder_) continue;
      const auto known = recorder_->entities();
      const int64_t count = graph_ == before ? 0 : std::max<int64_t>(rewrites(*before, *graph_), 1);
      const Row as_row{pass.name, row.stage, nullptr, nullptr, nullptr, "", "a pass of your own"};
      const std::string told = made ? sentence(as_row, count, false) : "failed: " + made.error().what;
      const Id snapshot = recorder_->graph(graph_, pass.name, told, graph_ != before, start, duration);
      if (graph_ != before)
        record_rewrites(pass.name, *before, snapshot, ids_->bisect->take_noted(), known, start);
    }
  }

  // Those that the pass noted, in order, and then what it changed besides.
  void record_rewrites(std::string_view pass, const ir::Graph& before, Id snapshot,
                       const std::vector<OptBisect::Rewritten>& noted,
                       const std::unordered_map<ir::NodeId, Id>& known, int64_t start) {
    std::set<ir::NodeId> told;
    auto made = made_of(before, *graph_);
    int64_t ordinal = 0, last = start;
    auto put = [&](const ir::Node& node, const std::string& rule, int64_t at_ns) {
      const auto entity = known.find(node.id);
      if (entity == known.end() || !told.insert(node.id).second) return;
      const ir::Node* same = graph_->find(node.id);
      if (same && same->op == node.op && !at_ns) return;  // it only reads what others became
      if (same && same->op == node.op && ir::same(same->args, node.args) &&
          ir::same(same->kwargs, node.kwargs))
        return;
      recorder_->writer.put(
          session::RewriteRow{snapshot, ordinal++, entity->second, rule, became(node, made[node.id], *graph_),
                              at_ns ? at_ns - recorder_->start_ns : -1, at_ns ? at_ns - last : 0});
      if (at_ns) last = at_ns;
    };
    for (const OptBisect::Rewritten& one : noted)
      if (const ir::Node* node = before.find(one.node)) put(*node, one.rule, one.at_ns);
    for (const ir::Node& node : before.nodes()) put(node, std::string(pass), 0);
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
    if (options_.stage_done) options_.stage_done(graph_);
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
