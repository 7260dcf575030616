#include "core/autodiff/derive.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "core/autodiff/rules.h"
#include "core/autodiff/vjp.h"
#include "core/ops/node.h"

namespace vitrine::autodiff {

namespace {

// Which values share memory, and when it is written. An operator that makes several tensors makes each in
// memory of its own; parts of one tensor share it.
class Memory {
 public:
  explicit Memory(const ir::Graph& graph) : graph_(graph) {
    const auto& nodes = graph.nodes();
    for (const ir::Node& n : nodes) {
      first_.push_back(parent_.size());
      parent_.resize(parent_.size() + std::max<size_t>(1, n.outputs.size()));
    }
    first_.push_back(parent_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (size_t i = 0; i < nodes.size(); ++i)
      for (ir::Ref r : ops::aliased(nodes[i]))
        for (size_t v = first_[i]; v < first_[i + 1]; ++v) parent_[root(v)] = root(value(r));
    last_use_.assign(parent_.size(), -1);
    for (size_t i = 0; i < nodes.size(); ++i) {
      ir::each_ref(nodes[i], [&](ir::Ref r) { use(r, static_cast<int>(i)); });
      for (ir::Ref r : ops::written(nodes[i])) writes_.emplace_back(i, value(r));
    }
    for (const Arg& r : graph.results())
      ir::each_ref(r, [&](ir::Ref ref) { use(ref, static_cast<int>(nodes.size())); });
  }

  // The node, or one behind it, writes the memory of the value that the node reads or makes.
  bool changes_after(ir::Ref read, ir::NodeId node) {
    const size_t made = graph_.position(read.node), group = root(value(read));
    const size_t here = read.node == node ? made + 1 : graph_.position(node);
    return std::any_of(writes_.begin(), writes_.end(),
                       [&](const auto& w) { return w.first >= here && root(w.second) == group; });
  }
  // What the node writes is read later by another name than the node's output: a view, or what it is a view
  // of. Autograd then differentiates through the write by both names.
  bool seen_by_others(const ir::Node& node) {
    const size_t here = graph_.position(node.id);
    for (size_t v = 0; v < first_[here]; ++v)
      if (root(v) == root(first_[here]) && last_use_[v] > static_cast<int>(here)) return true;
    return false;
  }

 private:
  size_t value(ir::Ref r) const { return first_[graph_.position(r.node)] + static_cast<size_t>(r.output); }
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void use(ir::Ref r, int where) {
    int& last = last_use_[value(r)];
    last = std::max(last, where);
  }

  const ir::Graph& graph_;
  std::vector<size_t> first_;   // by position: its first value
  std::vector<size_t> parent_;  // by value
  std::vector<int> last_use_;
  std::vector<std::pair<size_t, size_t>> writes_;  // position, value
};

ir::GraphPtr graph_of(const ForwardProgram& p) {
  ir::Builder b("aten", std::make_shared<ir::NodeIds>());
  for (const auto* nodes : {&p.leading, &p.forward})
    for (const ir::Node& n : *nodes) b.add(n);
  std::vector<Arg> results;
  for (ir::Ref r : p.results) results.emplace_back(r);
  return b.finish(std::move(results));
}

class DeriveWalk {
 public:
  DeriveWalk(const ForwardProgram& program, const std::shared_ptr<ir::NodeIds>& ids)
      : program_(program),
        graph_(graph_of(program)),
        symbols_(ir::symbols_of(*graph_)),
        memory_(*graph_),
        builder_("joint", ids) {
    for (const auto* nodes : {&program.leading, &program.tangents, &program.forward})
      for (const ir::Node& n : *nodes) builder_.add(n);
    behind_ = builder_.size();
  }

  Derivative run() {
    for (const ir::Node& n : program_.forward)
      if (program_.followed.contains(n.id) && ops::writes(n) && memory_.seen_by_others(n))
        refuse(n.op + " writes memory that is read by another name");
    for (size_t i = 0; i < program_.results.size(); ++i)
      add(program_.results[i], ir::Ref{program_.tangents[i].id, 0}, -1, {static_cast<int>(i)});
    for (size_t i = program_.forward.size(); i-- > 0;) visit(program_.forward[i]);
    Derivative out;
    for (ir::NodeId input : program_.wanted) {
      auto it = gradients_.find({input, 0});
      out.gradients.push_back(it == gradients_.end() ? std::nullopt : std::optional(it->second));
      out.terms.push_back(terms_[{input, 0}]);
    }
    out.complete.resize(program_.wanted.size());
    std::iota(out.complete.begin(), out.complete.end(), size_t{0});
    std::stable_sort(out.complete.begin(), out.complete.end(), [&](size_t a, size_t b) {
      return last_[ir::Ref{program_.wanted[a], 0}] < last_[ir::Ref{program_.wanted[b], 0}];
    });
    for (ir::Ref point : program_.points) note(point, out);
    const ir::GraphPtr joint = builder_.finish({});
    for (size_t i = behind_; i < joint->nodes().size(); ++i)
      if (!discarded_.contains(joint->nodes()[i].id)) out.backward.push_back(joint->nodes()[i]);
    out.borrowed = std::move(borrowed_);
    return out;
  }

 private:
  void note(ir::Ref point, Derivative& out) {
    auto it = points_.find(point);
    out.points.push_back(it == points_.end() ? -1 : it->second.node);
    out.before.push_back(0);
    if (it == points_.end()) return;
    for (ir::NodeId input : program_.wanted)
      if (gradients_.contains({input, 0}) && last_[{input, 0}] <= it->second.additions) ++out.before.back();
  }

  // The sum of the gradients that have arrived, in the order in which they arrive.
  void add(ir::Ref value, ir::Ref gradient, ir::NodeId reader, const std::set<int>& tangents) {
    last_[value] = ++additions_;
    terms_[value].push_back({reader, {tangents.begin(), tangents.end()}});
    auto [it, first] = gradients_.try_emplace(value, gradient);
    if (first) return;
    it->second = Vjp(builder_, builder_.node(value.node)).op("aten.add.Tensor", {it->second, gradient});
  }

  std::vector<std::optional<ir::Ref>> tangents_of(const ir::Node& node) const {
    std::vector<std::optional<ir::Ref>> out(node.outputs.size());
    for (size_t k = 0; k < out.size(); ++k)
      if (auto it = gradients_.find({node.id, static_cast<int32_t>(k)}); it != gradients_.end())
        out[k] = it->second;
    return out;
  }

  // No term comes any more to the gradients of what the node gives.
  void name_points(const ir::Node& node) {
    for (ir::Ref point : program_.points) {
      if (point.node != node.id) continue;
      auto it = gradients_.find(point);
      if (it == gradients_.end() || points_.contains(point)) continue;
      it->second = Vjp(builder_, node).op("aten.alias.default", {it->second});
      points_[point] = {it->second.node, additions_};
    }
  }

  void visit(const ir::Node& node) {
    name_points(node);
    auto tangents = tangents_of(node);
    if (std::none_of(tangents.begin(), tangents.end(), [](const auto& t) { return t.has_value(); })) return;
    auto followed = program_.followed.find(node.id);
    if (followed == program_.followed.end()) refuse(node.op + " made a tensor that requires grad by itself");
    std::optional<ir::SymPlace> place;
    if (symbols_) place.emplace(*symbols_, "the gradient of " + node.op);
    std::vector<Vjp::Given> given;
    const std::string why = by_rule(node, tangents, followed->second, given);
    if (!why.empty()) given = by_pytorch({node, followed->second, tangents, type_of()}, why);
    std::set<int> from;
    for (size_t k = 0; k < tangents.size(); ++k)
      for (const GradientTerm& term : terms_[{node.id, static_cast<int32_t>(k)}])
        from.insert(term.tangents.begin(), term.tangents.end());
    for (const Vjp::Given& one : given) add(one.of, one.gradient, node.id, from);
  }

  // "", or why no rule covers the call; nothing is left of it then.
  std::string by_rule(const ir::Node& node, const std::vector<std::optional<ir::Ref>>& tangents,
                      const std::vector<bool>& requires_grad, std::vector<Vjp::Given>& given) {
    std::optional<Vjp> vjp;
    try {
      const Derivation how = derivation_of(node);
      auto args = ops::bind(*ops::find(node.op), node);
      if (!args) return args.error().what;
      if (touches_complex(node)) return node.op + " of complex numbers has no gradient rule";
      vjp.emplace(builder_, node, *ops::find(node.op), args.take(), tangents, wanted(node, requires_grad));
      try {
        how.function ? how.function(*vjp) : apply_formulas(how.formulas, *vjp);
      } catch (const Refused& refused) {
        refuse(node.op + ": " + refused.why);
      }
    } catch (const Refused& refused) {
      if (vjp) discarded_.insert(vjp->made().begin(), vjp->made().end());
      return refused.why;
    }
    check_reads(node, vjp->made());
    given = vjp->given();
    return "";
  }

  std::vector<Vjp::Given> by_pytorch(const BorrowCall& call, const std::string& why) {
    if (!program_.borrow || !ops::counted(call.node).empty()) refuse(why);
    auto borrowed = program_.borrow(call);
    if (!borrowed) refuse(why + ", and " + borrowed.error().what);
    std::vector<ir::NodeId> made;
    for (ir::Node& n : borrowed.value().nodes) {
      n.origin = call.node.origin;
      n.origin.from = {call.node.id};
      n.origin.rule = "gradient";
      made.push_back(builder_.add(std::move(n)).node);
    }
    check_reads(call.node, made);
    if (std::find(borrowed_.begin(), borrowed_.end(), call.node.op) == borrowed_.end())
      borrowed_.push_back(call.node.op);
    std::vector<Vjp::Given> given;
    for (const auto& [of, gradient] : borrowed.value().gradients) given.push_back({of, gradient});
    return given;
  }

  std::function<const ir::TensorType&(ir::Ref)> type_of() const {
    return [this](ir::Ref r) -> const ir::TensorType& {
      return builder_.node(r.node).outputs.at(static_cast<size_t>(r.output));
    };
  }

  bool touches_complex(const ir::Node& node) const {
    bool found = false;
    auto look = [&](const ir::TensorType& t) { found = found || ir::is_complex(t.dtype); };
    for (const ir::TensorType& t : node.outputs) look(t);
    ir::each_ref(node, [&](ir::Ref r) { look(type_of()(r)); });
    return found;
  }

  // By schema argument and place in it.
  static std::vector<std::vector<bool>> wanted(const ir::Node& node, const std::vector<bool>& flags) {
    const auto& params = ops::params(*ops::find(node.op));
    std::vector<std::vector<bool>> out(params.size());
    size_t next = 0;
    auto fill = [&](size_t i, const Arg& arg) {
      if (arg.is<ir::Ref>()) out[i].push_back(flags.at(next++));
      if (!arg.is<std::vector<Arg>>()) return;
      for (const Arg& a : arg.as<std::vector<Arg>>()) out[i].push_back(a.is<ir::Ref>() && flags.at(next++));
    };
    for (size_t i = 0; i < node.args.size(); ++i) fill(i, node.args[i]);
    for (const auto& [key, arg] : node.kwargs)
      for (size_t i = 0; i < params.size(); ++i)
        if (params[i].name == key) fill(i, arg);
    return out;
  }

  // Backward must find what forward saw.
  void check_reads(const ir::Node& node, const std::vector<ir::NodeId>& made) {
    for (const ir::NodeId id : made)
      ir::each_ref(builder_.node(id), [&](ir::Ref r) {
        if (graph_->find(r.node) && memory_.changes_after(r, node.id))
          refuse(node.op + ": what its gradient reads is written to later");
      });
  }

  const ForwardProgram& program_;
  ir::GraphPtr graph_;
  ir::SymbolTable* const symbols_;  // nullptr: all sizes are numbers
  Memory memory_;
  ir::Builder builder_;
  size_t behind_ = 0;
  std::map<ir::Ref, ir::Ref> gradients_;
  std::map<ir::Ref, size_t> last_;  // by value: when its last term was added
  std::map<ir::Ref, std::vector<GradientTerm>> terms_;
  struct Passed {
    ir::NodeId node;   // gives its gradient
    size_t additions;  // until the pass comes by
  };
  std::map<ir::Ref, Passed> points_;
  size_t additions_ = 0;
  std::unordered_set<ir::NodeId> discarded_;  // of rules that gave up
  std::vector<std::string> borrowed_;
};

}  // namespace

Result<Derivative> derive(const ForwardProgram& program, const std::shared_ptr<ir::NodeIds>& ids) {
  try {
    return DeriveWalk(program, ids).run();
  } catch (const Refused& refused) {
    return Error{refused.why, ""};
  }
}

std::unordered_map<ir::NodeId, std::vector<bool>> follow_all(const ForwardProgram& program) {
  std::unordered_map<ir::NodeId, std::vector<bool>> out;
  std::map<ir::Ref, bool> requires_grad;
  for (ir::NodeId id : program.wanted) requires_grad[{id, 0}] = true;
  for (const ir::Node& n : program.forward) {
    std::vector<bool> flags;
    ir::each_ref(n, [&](ir::Ref r) { flags.push_back(requires_grad[r]); });
    const ops::OpRow* row = ops::find(n.op);
    const bool constant = n.op == "aten.detach.default" || (row && row->gradient.starts_with("nondiff"));
    if (constant || std::none_of(flags.begin(), flags.end(), [](bool f) { return f; })) continue;
    for (size_t k = 0; k < n.outputs.size(); ++k)
      if (ir::is_float(n.outputs[k].dtype)) requires_grad[{n.id, static_cast<int32_t>(k)}] = true;
    out.emplace(n.id, std::move(flags));
  }
  return out;
}

}  // namespace vitrine::autodiff
