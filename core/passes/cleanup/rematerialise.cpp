#include "core/passes/cleanup/rematerialise.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

constexpr int kFar = 3;                         // calls between two readers
constexpr int64_t kWorthIt = int64_t{1} << 16;  // bytes
constexpr int64_t kSmall = 8;  // an operand of so small a part of the value may be held for it

bool is_loop(const Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  return row && (row->lower == ops::Lower::pointwise || row->lower == ops::Lower::reduction);
}
bool is_view(const Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  return row && row->lower == ops::Lower::view;
}

class Again {
 public:
  Again(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), users_(graph->users()), storages_(*graph), out_(graph, ids, "rematerialise") {
    int calls = 0;
    for (const Node& n : graph->nodes()) {
      calls_before_.push_back(calls);
      if (n.kind == ir::NodeKind::op && !is_loop(n) && !is_view(n)) ++calls;
      last_read_.push_back(last_read(n.id));
    }
  }

  GraphPtr run() {
    for (const Node& n : graph_->nodes()) choose(n);
    for (size_t i = 0; i < graph_->nodes().size(); ++i) {
      if (const auto late = late_.find(i); late != late_.end())
        for (NodeId again : late->second) repeat(graph_->node(again));
      out_.keep(graph_->nodes()[i]);
    }
    return out_.finish();
  }

 private:
  struct Reader {
    size_t at;
    bool joins;  // the value is computed in its loop
  };

  // Views aside, who reads the value, by position.
  void find_readers(NodeId value, bool viewed, std::vector<Reader>& out) const {
    for (NodeId user : users_[graph_->position(value)]) {
      const Node& n = graph_->node(user);
      if (is_view(n))
        find_readers(user, true, out);
      else
        out.push_back({graph_->position(user), !viewed && is_loop(n) && !ops::writes(n)});
    }
  }
  std::vector<Reader> readers(NodeId value) const {
    std::vector<Reader> out;
    find_readers(value, false, out);
    std::sort(out.begin(), out.end(), [](const Reader& a, const Reader& b) { return a.at < b.at; });
    return out;
  }
  // Of its memory, by whatever name; the end where somebody outside has it.
  size_t last_read(NodeId value) const {
    size_t last = 0;
    if (storages_.is_input(value) || storages_.escapes(value)) return graph_->nodes().size();
    for (NodeId name : storages_.members(value))
      for (NodeId user : users_[graph_->position(name)]) last = std::max(last, graph_->position(user));
    return last;
  }

  bool is_cheap(const Node& n) const {
    const ops::OpRow* row = ops::find(n.op);
    if (!row || row->lower != ops::Lower::pointwise || n.outputs.size() != 1 || ops::is_random(n) ||
        ops::writes(n) || n.type().bytes().hint() < kWorthIt)
      return false;
    bool kept = !storages_.written(n.id) && !storages_.escapes(n.id) && !storages_.is_input(n.id);
    ir::each_ref(n, [&](Ref r) { kept = kept && !storages_.written(r.node); });
    return kept;
  }

  void choose(const Node& n) {
    if (!is_cheap(n)) return;
    const std::vector<Reader> by = readers(n.id);
    size_t before = graph_->position(n.id);
    auto late = by.begin();
    for (; late != by.end() && calls_before_[late->at] - calls_before_[before] < kFar; ++late)
      before = late->at;
    if (late == by.end() || std::any_of(late, by.end(), [](const Reader& r) { return !r.joins; })) return;
    bool held = true;
    ir::each_ref(n, [&](Ref r) {
      const Node& operand = graph_->node(r.node);
      const TensorType& type = operand.outputs.at(static_cast<size_t>(r.output));
      held = held && (last_read_[graph_->position(r.node)] >= late->at ||
                      type.bytes().hint() * kSmall <= n.type().bytes().hint());
    });
    if (!held) return;
    late_[late->at].push_back(n.id);
    last_read_[graph_->position(n.id)] = before;
  }

  // The readers from here on read the new value.
  void repeat(const Node& n) {
    std::vector<Arg> args;
    Kwargs kwargs;
    for (const Arg& a : n.args) args.push_back(out_.mapped(a));
    for (const auto& [key, a] : n.kwargs) kwargs.emplace_back(key, out_.mapped(a));
    if (out_.gives(n.op, args, kwargs, n.type()))
      out_.rename({n.id, 0}, Arg(out_.emit(n, n.op, std::move(args), std::move(kwargs))));
  }

  const GraphPtr& graph_;
  const std::vector<std::vector<NodeId>> users_;
  Storages storages_;
  std::vector<int> calls_before_;               // by position
  std::vector<size_t> last_read_;               // by position, of its memory
  std::map<size_t, std::vector<NodeId>> late_;  // by position of the first late reader
  Rewriter out_;
};

}  // namespace

GraphPtr rematerialise(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return Again(graph, ids).run();
}

}  // namespace vitrine::passes
