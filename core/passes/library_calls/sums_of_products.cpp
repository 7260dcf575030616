#include "core/passes/library_calls/sums_of_products.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/ir/each_integer.h"
#include "core/ops/node.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

constexpr size_t kLeastTerms = 8;  // of a sum
// Of one product, so that what it reads need not be kept for long.
constexpr size_t kMostTerms = 32;
constexpr int64_t kMostRows = 512;

// mm(t(rows), factor), or the sum of the rows, which `sum` computes and the term views as a vector.
struct Term {
  NodeId node;
  Ref rows;
  std::optional<Ref> factor;
  NodeId sum = -1;
};

// As Graph::users(), without those that nothing reads: views that were folded still stand there.
std::vector<std::vector<NodeId>> live_users(const ir::Graph& graph) {
  std::vector<std::vector<NodeId>> out(graph.nodes().size());
  std::vector<bool> live(out.size());
  for (const Arg& r : graph.results())
    ir::each_ref(r, [&](Ref ref) { live[graph.position(ref.node)] = true; });
  for (size_t i = out.size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (!live[i] && out[i].empty() && !ops::writes(node)) continue;
    ir::each_ref(node, [&](Ref ref) {
      std::vector<NodeId>& users = out[graph.position(ref.node)];
      if (users.empty() || users.back() != node.id) users.push_back(node.id);
    });
  }
  return out;
}

class SumsOfProducts {
 public:
  SumsOfProducts(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(*graph), users_(live_users(*graph)), out_(graph, ids, "sums_of_products") {}

  GraphPtr run() {
    for (const Node& node : graph_.nodes())
      if (is_sum(node) && !is_part(node)) divide(terms_of(node));
    for (const Node& node : graph_.nodes()) write(node);
    return out_.finish();
  }

 private:
  const TensorType& type(Ref r) const {
    return graph_.node(r.node).outputs.at(static_cast<size_t>(r.output));
  }
  bool is_alone(NodeId node) const {
    return users_[graph_.position(node)].size() == 1 && !out_.is_result(node);
  }
  static bool is_whole(const TensorType& t) {
    return t.device.is_cpu() && (t.dtype == ir::DType::f32 || t.dtype == ir::DType::f64) &&
           !ir::has_expression(t);
  }

  bool is_sum(const Node& node) const {
    if (node.op != "aten.add.Tensor" || node.args.size() != 2 || !node.kwargs.empty()) return false;
    if (!is_whole(node.type()) || !node.type().is_contiguous()) return false;
    return std::all_of(node.args.begin(), node.args.end(),
                       [&](const Arg& a) { return a.is<Ref>() && type(a.as<Ref>()).same(node.type()); });
  }
  // Of a larger sum.
  bool is_part(const Node& node) const {
    return is_alone(node.id) && is_sum(graph_.node(users_[graph_.position(node.id)][0]));
  }

  // Of a sum, in the program's order.
  std::vector<Term> terms_of(const Node& sum) {
    std::vector<Term> out;
    std::vector<const Node*> open = {&sum};
    std::vector<NodeId> sums;
    while (!open.empty()) {
      const Node& node = *open.back();
      open.pop_back();
      sums.push_back(node.id);
      for (const Arg& a : node.args) {
        const Node& from = graph_.node(a.as<Ref>().node);
        if (is_sum(from) && is_alone(from.id))
          open.push_back(&from);
        else if (const auto term = is_alone(from.id) ? term_of(from) : std::nullopt)
          out.push_back(*term);
      }
    }
    std::sort(out.begin(), out.end(), [&](const Term& a, const Term& b) {
      return graph_.position(a.node) < graph_.position(b.node);
    });
    if (out.size() >= kLeastTerms) sums_.insert(sums.begin(), sums.end());
    return out;
  }

  std::optional<Term> term_of(const Node& node) const {
    if (node.op == "aten.mm.default" && node.args.size() == 2) return product(node);
    if (node.op != "aten.view.default" || !node.args[0].is<Ref>()) return {};
    const Node& sum = graph_.node(node.args[0].as<Ref>().node);
    const bool of_rows = sum.op == "aten.sum.dim_IntList" && sum.args.size() == 3 && sum.kwargs.empty() &&
                         sum.args[0].is<Ref>() && sum.args[1] == Arg::ints({0}) && sum.args[2] == Arg(true);
    if (!of_rows || !is_alone(sum.id) || node.type().sizes.size() != 1) return {};
    const Ref rows = sum.args[0].as<Ref>();
    return are_rows(rows) && type(rows).dtype == node.type().dtype
               ? std::optional(Term{node.id, rows, {}, sum.id})
               : std::nullopt;
  }
  std::optional<Term> product(const Node& node) const {
    const Node& turned = graph_.node(node.args[0].as<Ref>().node);
    if (turned.op != "aten.t.default" || !turned.args[0].is<Ref>()) return {};
    const Ref rows = turned.args[0].as<Ref>(), factor = node.args[1].as<Ref>();
    if (!are_rows(rows) || !are_rows(factor)) return {};
    return Term{node.id, rows, factor};
  }
  bool are_rows(Ref r) const { return is_whole(type(r)) && type(r).sizes.size() == 2; }

  // Terms into groups that become one product each: at the place of the last.
  void divide(const std::vector<Term>& terms) {
    if (terms.size() < kLeastTerms) return;
    std::vector<Term> group;
    int64_t rows = 0;
    const auto close = [&] {
      if (group.size() > 1) {
        for (const Term& term : group) gone_.insert(term.node);
        gone_.erase(group.back().node);
        groups_[group.back().node] = group;
      }
      group.clear();
      rows = 0;
    };
    for (const Term& term : terms) {
      const int64_t more = type(term.rows).sizes[0].hint();
      if (group.size() == kMostTerms || rows + more > kMostRows) close();
      group.push_back(term);
      rows += more;
    }
    close();
  }

  void write(const Node& node) {
    if (gone_.contains(node.id)) return out_.drop(node);
    if (const auto group = groups_.find(node.id); group != groups_.end())
      return out_.replace(node, {Arg(joined(node, group->second))});
    if (!sums_.contains(node.id)) return keep_live(node);
    std::vector<Arg> left;
    for (const Arg& a : node.args)
      if (!gone_.contains(a.as<Ref>().node)) left.push_back(out_.mapped(a));
    if (left.size() == 2) {
      out_.keep(node);
    } else if (left.size() == 1) {
      out_.replace(node, left);
    } else {
      gone_.insert(node.id);
      out_.drop(node);
    }
  }

  // What nothing reads may still read a term.
  void keep_live(const Node& node) {
    bool reads = false;
    ir::each_ref(node, [&](Ref r) { reads = reads || gone_.contains(r.node); });
    if (!reads) {
      out_.keep(node);
      return;
    }
    gone_.insert(node.id);
    out_.drop(node);
  }

  Ref joined(const Node& last, const std::vector<Term>& group) {
    std::vector<Ref> rows, factors;
    for (const Term& term : group) {
      rows.push_back(term.rows);
      if (term.factor) factors.push_back(*term.factor);
    }
    const Arg all = Arg(all_of(last, rows));
    if (!factors.empty())
      return out_.emit(last, "aten.mm.default",
                       {Arg(out_.emit(last, "aten.t.default", {all})), Arg(all_of(last, factors))});
    const Ref sum = out_.emit(last, "aten.sum.dim_IntList", {all, Arg::ints({0}), Arg(true)});
    return out_.emit(last, "aten.view.default", {Arg(sum), Arg::ints(last.type().sizes)});
  }
  // Tensors one below the other. Gradients of several weights read the same.
  Ref all_of(const Node& from, const std::vector<Ref>& parts) {
    auto [at, fresh] = all_.try_emplace(parts);
    if (!fresh) return at->second;
    std::vector<Arg> list;
    for (const Ref part : parts) list.push_back(out_.mapped(Arg(part)));
    return at->second = out_.emit(from, "aten.cat.default", {Arg(std::move(list)), Arg(int64_t{0})});
  }

  const ir::Graph& graph_;
  const std::vector<std::vector<NodeId>> users_;
  Rewriter out_;
  std::map<NodeId, std::vector<Term>> groups_;  // by the last term
  std::unordered_set<NodeId> gone_, sums_;
  std::map<std::vector<Ref>, Ref> all_;
};

}  // namespace

GraphPtr sums_of_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return SumsOfProducts(graph, ids).run();
}

}  // namespace vitrine::passes
