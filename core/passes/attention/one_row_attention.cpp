#include "core/passes/attention/one_row_attention.h"

#include <limits>
#include <vector>

#include "core/ops/attention/one_query.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

using ir::Dims;
using ir::DType;
using ir::Sym;

using ops::OneQuery;

class OneRowAttention {
 public:
  OneRowAttention(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), out_(graph, ids, "one_row_attention", true) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      const auto attention = ops::one_query(node, type_of_);
      if (!attention || !out_.may_rewrite(node))
        out_.keep(node);
      else if (!keep_whole(node, *attention))
        out_.replace(node, {Arg(written_out(node, *attention))});
    }
    return out_.finish();
  }

 private:
  // Heads that share keys need not have copies of them: view(clone(expand(unsqueeze(x, 2)))) is x for some.
  // Nothing may be written between the copy and `node`.
  Ref without_copies(const Node& node, Ref r, const OneQuery& a) const {
    const Node* view = &graph_->node(r.node);
    std::vector<const Node*> chain = {view};
    for (const char* op :
         {"aten.view.default", "aten.clone.default", "aten.expand.default", "aten.unsqueeze.default"}) {
      const Node* n = chain.back();
      if ((n->op != op && !(n->op == "aten._unsafe_view.default" && chain.size() == 1)) || n->args.empty() ||
          !n->args[0].is<Ref>())
        return r;
      if (n->op == "aten.unsqueeze.default" && !(n->args.size() == 2 && n->args[1] == Arg(int64_t{2})))
        return r;
      chain.push_back(&graph_->node(n->args[0].as<Ref>().node));
    }
    const Ref shared = chain[3]->args[0].as<Ref>();
    const TensorType &from = out_.old_type(shared), &wide = chain[2]->type();
    const bool repeats = from.sizes.size() == 4 && wide.sizes.size() == 5 &&
                         wide.sizes[1].same(from.sizes[1]) && view->type().sizes.size() == 4 &&
                         view->type().sizes[1].same(a.heads) && view->type().sizes[2].same(from.sizes[2]);
    if (!repeats) return r;
    for (size_t p = graph_->position(chain[1]->id); p < graph_->position(node.id); ++p)
      if (ops::writes(graph_->nodes()[p])) return r;
    return shared;
  }

  // The node as a kernel of ours computes it, reading what is shared where it lies; false: it cannot.
  bool keep_whole(const Node& node, const OneQuery& a) {
    OneQuery shared = a;
    shared.key = without_copies(node, a.key, a), shared.value = without_copies(node, a.value, a);
    if (out_.old_type(shared.key).sizes[1].same(out_.old_type(shared.value).sizes[1])) {
      shared.groups = out_.old_type(shared.key).sizes[1];
      if (ops::has_kernel(shared, type_of_)) {
        if (shared.key == a.key && shared.value == a.value) return out_.keep(node), true;
        std::vector<Arg> args = {out_.mapped(a.query),
                                 out_.mapped(shared.key),
                                 out_.mapped(shared.value),
                                 a.mask ? out_.mapped(*a.mask) : Arg(ir::None{}),
                                 Arg(0.0),
                                 Arg(false)};
        out_.change(node, node.op, std::move(args), {{"scale", Arg(a.scale)}, {"enable_gqa", Arg(true)}},
                    node.outputs);
        return true;
      }
    }
    if (!ops::has_kernel(a, type_of_)) return false;
    out_.keep(node);
    return true;
  }

  Ref op(const char* name, std::vector<Arg> args, Kwargs kwargs = {}) {
    return out_.emit(*from_, name, std::move(args), std::move(kwargs));
  }
  Ref mul(Ref a, Arg b) { return op("aten.mul.Tensor", {Arg(a), std::move(b)}); }
  Ref view(Ref a, const Dims& sizes) {
    return ir::same(out_.type(a).sizes, sizes) ? a : op("aten.view.default", {Arg(a), Arg::ints(sizes)});
  }
  Ref sum(Ref a, int64_t dim) { return op("aten.sum.dim_IntList", {Arg(a), Arg::ints({dim}), Arg(false)}); }
  Ref wide(Ref a) {
    if (out_.type(a).dtype == DType::f32) return a;
    return op("aten._to_copy.default", {Arg(a)}, {{"dtype", Arg(DType::f32)}});
  }
  Ref number(double value) {
    const ir::Word device{from_->type().device.text()};
    return op("aten.full.default", {Arg(std::vector<Arg>{}), Arg(value)},
              {{"dtype", Arg(DType::f32)}, {"device", Arg(device)}});
  }

  Ref written_out(const Node& node, const OneQuery& a) {
    from_ = &node;
    const bool shared = !a.groups.same(a.heads);
    const Sym each = shared ? ir::floordiv(a.heads, a.groups) : Sym(1);
    auto beside = [&](Ref r) { return shared ? op("aten.unsqueeze.default", {Arg(r), Arg(2)}) : r; };
    Ref query = out_.mapped(a.query).as<Ref>();
    if (shared) query = view(query, {a.batch, a.groups, each, 1, a.width});
    const int64_t last = shared ? 4 : 3;
    Ref scores =
        sum(mul(mul(wide(query), Arg(a.scale)), Arg(wide(beside(out_.mapped(a.key).as<Ref>())))), last);
    scores = view(scores, {a.batch, a.heads, 1, a.places});
    if (a.mask) scores = masked(scores, out_.mapped(*a.mask).as<Ref>());
    Ref weights = op("aten._softmax.default", {Arg(scores), Arg(-1), Arg(false)});
    if (a.mask) weights = nothing_for_none(scores, weights);
    weights = view(weights,
                   shared ? Dims{a.batch, a.groups, each, a.places, 1} : Dims{a.batch, a.heads, a.places, 1});
    Ref result = sum(mul(weights, Arg(wide(beside(out_.mapped(a.value).as<Ref>())))), last - 1);
    if (node.type().dtype != DType::f32)
      result = op("aten._to_copy.default", {Arg(result)}, {{"dtype", Arg(node.type().dtype)}});
    result = view(result, node.type().sizes);
    if (out_.type(result).same(node.type())) return result;
    return op("aten.as_strided.default",
              {Arg(result), Arg::ints(node.type().sizes), Arg::ints(node.type().strides)});
  }
  Ref masked(Ref scores, Ref mask) {
    if (out_.type(mask).dtype != DType::b1) return op("aten.add.Tensor", {Arg(scores), Arg(wide(mask))});
    return op("aten.where.self",
              {Arg(mask), Arg(scores), Arg(number(-std::numeric_limits<double>::infinity()))});
  }
  // A query that sees no place gets 0, as from PyTorch's kernels.
  Ref nothing_for_none(Ref scores, Ref weights) {
    const Ref largest = op("aten.amax.default", {Arg(scores), Arg::ints({-1}), Arg(true)});
    const Ref none = op("aten.eq.Scalar", {Arg(largest), Arg(-std::numeric_limits<double>::infinity())});
    return op("aten.where.self", {Arg(none), Arg(number(0)), Arg(weights)});
  }

  const GraphPtr& graph_;
  const ops::TypeOf type_of_ = [this](Ref r) -> const TensorType& { return out_.old_type(r); };
  Rewriter out_;
  const Node* from_ = nullptr;
};

}  // namespace

GraphPtr one_row_attention(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return OneRowAttention(graph, ids).run();
}

}  // namespace vitrine::passes
