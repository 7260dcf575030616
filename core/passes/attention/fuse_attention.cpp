#include "core/passes/attention/fuse_attention.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/layout.h"
#include "core/passes/attention/known_mask.h"
#include "core/passes/attention/written_attention.h"
#include "core/passes/decompose/index_values.h"
#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

using ir::Dims;
using ir::DType;
using ir::Sym;
using HasGradient = std::function<bool(Ref)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFarBelow = -1e9, kLeastHalf = -65504;
// Below so many scores a head, kernels of ours are faster; on a GPU PyTorch's compute whole tiles.
constexpr int64_t kFewScores = 64 * 64;
// With gradients on a GPU, of all heads: below, a call of PyTorch takes longer than the matrices.
constexpr int64_t kManyScores = int64_t{1} << 23;

// Whether every row has a place whose test is not negative.
bool sees_in_each_row(const Linear& test, const Dims& sizes) {
  const size_t last = test.steps.size() - 1;
  Linear rows = test;
  rows.steps[last] = 0;
  int64_t least = range_of(rows, sizes).least;
  const int64_t step = test.steps[last];
  if (step > 0 && !sizes[last].symbolic()) least += step * (sizes[last].hint() - 1);
  return least >= 0;
}

class AttentionFuser {
 public:
  AttentionFuser(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, const HasGradient* gradients,
                 ChooseAttention choose)
      : graph_(graph),
        storages_(*graph),
        values_([&](NodeId id) { return graph->find(id); }, [&](NodeId id) { return storages_.written(id); }),
        gradients_(gradients),
        choose_(std::move(choose)),
        out_(graph, ids, "fuse_attention") {}

  GraphPtr run() {
    const AttentionFinder finder(*graph_);
    std::unordered_map<NodeId, WrittenAttention> found;
    std::unordered_set<NodeId> gone;
    for (const Node& node : graph_->nodes()) {
      auto attention = finder.ended_by(node);
      if (!attention || !fuses(node, *attention) || !out_.may_rewrite(node)) continue;
      gone.insert(attention->between.begin(), attention->between.end());
      found.emplace(node.id, std::move(*attention));
    }
    if (found.empty()) return graph_;
    for (const Node& node : graph_->nodes()) {
      const auto attention = found.find(node.id);
      if (attention != found.end())
        write(node, attention->second);
      else if (gone.contains(node.id) || finder.is_unused(node))
        out_.drop(node);
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  const TensorType& old(Ref r) const { return out_.old_type(r); }

  bool fuses(const Node& product, const WrittenAttention& a) {
    const TensorType &query = old(a.query), &key = old(a.key), &value = old(a.value);
    if (product.type().numel() == 0 || query.numel() == 0 || key.numel() == 0) return false;
    const size_t rank = query.sizes.size();
    if (key.sizes.size() != rank || value.sizes.size() != rank) return false;
    if (!query.sizes.back().same(value.sizes.back())) return false;
    if (query.device != value.device || query.device != key.device) return false;
    if (query.device.is_cuda() && query.dtype == DType::f64) return false;
    if ((a.length * a.places).hint() < kFewScores) return false;
    for (Ref r : {a.query, a.key, a.value})
      if (storages_.written(r.node)) return false;
    return masks_fuse(a, query) && (!chooses(query) || is_chosen(a));
  }

  // PyTorch tells by what it computes such attention.
  bool chooses(const TensorType& query) const { return gradients_ && query.device.is_cuda(); }
  std::array<bool, 3> requires_grad(const WrittenAttention& a) const {
    return {(*gradients_)(a.query), (*gradients_)(a.key), (*gradients_)(a.value)};
  }
  bool is_chosen(const WrittenAttention& a) const {
    const TensorType &query = old(a.query), &value = old(a.value);
    if (!choose_ || (query.dtype != DType::f16 && query.dtype != DType::bf16)) return false;
    const Dims many = heads_of(a);
    if ((many[0] * many[1] * a.length * a.places).hint() < kManyScores) return false;
    const auto has_rows = [&](const WrittenMask& m) {
      return !old(m.tensor).sizes.empty() && old(m.tensor).sizes.back().same(a.places);
    };
    if (!a.masks.empty() && std::ranges::none_of(a.masks, has_rows)) return false;
    const auto laid = [&](const Sym& rows, const Sym& columns) {
      TensorType t = TensorType::contiguous(query.dtype, {many[0], many[1], rows, columns});
      t.device = query.device;
      return t;
    };
    const std::array types = {laid(a.length, query.sizes.back()), laid(a.places, query.sizes.back()),
                              laid(a.places, value.sizes.back()), laid(a.length, a.places)};
    AttentionToDerive call{Ref{0, 0}, Ref{1, 0}, Ref{2, 0}, {}, a.scale, is_causal(a), requires_grad(a), {}};
    if (!a.masks.empty() && !call.causal) call.mask = Ref{3, 0};
    call.type = [&](Ref r) { return types.at(static_cast<size_t>(r.node)); };
    const auto made = choose_(call);
    return made && is_fast(*made);
  }
  // The third of PyTorch's kernels takes longer than the matrices do.
  static bool is_fast(const ChosenAttention& made) {
    return std::ranges::none_of(made.nodes, [](const Node& n) {
      return n.op == "aten._scaled_dot_product_efficient_attention.default";
    });
  }
  static Dims heads_of(const WrittenAttention& a) {
    if (a.batch.size() == 2) return a.batch;
    return {a.batch.empty() ? Sym(1) : a.batch[0], Sym(1)};
  }

  bool masks_fuse(const WrittenAttention& a, const TensorType& query) {
    bool finite_fill = false, added = false;
    for (const WrittenMask& m : a.masks) {
      const TensorType& type = old(m.tensor);
      if (storages_.written(m.tensor.node) || !fits(a, m)) return false;
      if (gradients_ && (*gradients_)(m.tensor)) return false;
      if (!m.fills && !adds(type, query)) return false;
      if (m.fills && !hides(*m.fills, query.dtype)) return false;
      const bool finite = m.fills && *m.fills != -kInfinity;
      if (finite && m.fills != a.masks.front().fills) return false;
      (finite ? finite_fill : added) = true;
    }
    if (finite_fill && added) return false;
    return !gradients_ || finite_fill || chooses(query) || rows_see(all_masks(a));
  }

  // The number may be added to the scores as PyTorch's attention adds it.
  static bool adds(const TensorType& mask, const TensorType& query) {
    if (mask.dtype == query.dtype || ir::is_integer(mask.dtype) || mask.dtype == DType::b1) return true;
    return mask.dtype == DType::f32 && query.device.is_cpu();
  }
  static bool hides(double fills, DType dtype) {
    return fills <= kFarBelow || (dtype == DType::f16 && fills == kLeastHalf);
  }
  // The mask can be laid along batch, heads, rows and places.
  bool fits(const WrittenAttention& a, const WrittenMask& m) const {
    if (m.rank == a.batch.size() + 2) return true;
    const Dims& sizes = old(m.tensor).sizes;
    return m.rank == 3 && a.batch.size() == 2 && (sizes.size() < 3 || sizes[0].same(1));
  }

  using Masks = std::vector<const WrittenMask*>;

  // The masks tell by their places that each row sees one, or they hide none.
  bool rows_see(const Masks& masks) const {
    const WrittenMask* hider = nullptr;
    for (const WrittenMask* m : masks) {
      if (hides_none(*m)) continue;
      if (hider) return false;
      hider = m;
    }
    return !hider || rows_see_behind(*hider);
  }
  static Masks all_masks(const WrittenAttention& a) {
    Masks out;
    for (const WrittenMask& m : a.masks) out.push_back(&m);
    return out;
  }
  bool hides_none(const WrittenMask& m) const {
    const IndexValue value = values_.of(m.tensor);
    if (const double* n = std::get_if<double>(&value)) return !hides_at(m, *n);
    const Choice* choice = std::get_if<Choice>(&value);
    return choice && !hides_at(m, choice->yes) && !hides_at(m, choice->no);
  }
  bool rows_see_behind(const WrittenMask& m) const {
    const IndexValue value = values_.of(m.tensor);
    const Choice* choice = std::get_if<Choice>(&value);
    if (!choice || choice->test.steps.empty()) return false;
    const bool yes_hides = hides_at(m, choice->yes);
    if (yes_hides && hides_at(m, choice->no)) return false;
    return sees_in_each_row(yes_hides ? opposite(choice->test) : choice->test, old(m.tensor).sizes);
  }

  // A place where the mask holds this number is hidden.
  static bool hides_at(const WrittenMask& m, double n) {
    if (m.fills) return (n != 0) != m.shows;
    return n == (m.subtracted ? kInfinity : -kInfinity);
  }
  // Each row sees the places up to its own, and nothing else is added.
  bool is_causal(const WrittenAttention& a) const {
    if (a.masks.size() != 1 || !a.length.same(a.places)) return false;
    const WrittenMask& m = a.masks.front();
    const Dims& sizes = old(m.tensor).sizes;
    if (sizes.size() < 2 || !sizes.back().same(a.places) || !sizes[sizes.size() - 2].same(a.length))
      return false;
    const IndexValue value = values_.of(m.tensor);
    const Choice* choice = std::get_if<Choice>(&value);
    if (!choice || hides_at(m, choice->yes) == hides_at(m, choice->no)) return false;
    const bool yes_hides = hides_at(m, choice->yes);
    if (!m.fills && (yes_hides ? choice->no : choice->yes) != 0) return false;
    return sees_up_to_itself(yes_hides ? opposite(choice->test) : choice->test);
  }

  Ref op(const char* name, std::vector<Arg> args, Kwargs kwargs = {}) {
    return out_.emit(*from_, name, std::move(args), std::move(kwargs));
  }
  Ref contiguous(Ref r) {
    return out_.type(r).is_contiguous() && out_.type(r).offset.same(0)
               ? r
               : op("aten.clone.default", {r}, {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}});
  }
  Ref number(double value, DType dtype) {
    const ir::Word device{from_->type().device.text()};
    return op("aten.full.default", {Arg(std::vector<Arg>{}), Arg(value)},
              {{"dtype", Arg(dtype)}, {"device", Arg(device)}});
  }

  // (batch, heads, rows, columns), from before the copies that a product of many matrices asks for.
  Ref with_heads(const WrittenAttention& a, Ref old_value) {
    Ref r = old_value;
    if (a.batch.size() == 2) {
      r = before_copies(a, r);
      Ref fresh = out_.mapped(r).as<Ref>();
      if (out_.type(fresh).sizes.size() == 4) return fresh;
      const Dims& sizes = out_.type(fresh).sizes;
      return op("aten.view.default", {fresh, Arg::ints({a.batch[0], a.batch[1], sizes[1], sizes[2]})});
    }
    Ref fresh = out_.mapped(r).as<Ref>();
    while (out_.type(fresh).sizes.size() < 4)
      fresh = op("aten.unsqueeze.default", {fresh, Arg(out_.type(fresh).sizes.size() == 3 ? 1 : 0)});
    return fresh;
  }
  Ref before_copies(const WrittenAttention& a, Ref r) const {
    const TensorType matrices = old(r);
    Ref at = r;
    while (true) {
      const Node& node = graph_->node(at.node);
      const bool moves = node.op == "aten.view.default" || node.op == "aten._unsafe_view.default" ||
                         node.op == "aten.clone.default" || node.op == "aten.expand.default";
      if (!moves || !node.args.at(0).is<Ref>()) return r;
      at = node.args[0].as<Ref>();
      const Dims& sizes = old(at).sizes;
      const size_t n = sizes.size();
      if (n < 3 || storages_.written(at.node) || old(at).dtype != matrices.dtype) return r;
      if (!sizes[n - 1].same(matrices.sizes[2]) || !sizes[n - 2].same(matrices.sizes[1])) return r;
      if (n == 4 && sizes[0].same(a.batch[0]) && sizes[1].same(a.batch[1])) r = at;
    }
  }
  // PyTorch's kernels read rows of neighbours.
  Ref with_rows(Ref r) {
    const TensorType& type = out_.type(r);
    return type.strides.back().same(1) ? r : contiguous(r);
  }

  Ref laid_out(const WrittenAttention& a, const WrittenMask& m) {
    Ref mask = out_.mapped(m.tensor).as<Ref>();
    size_t rank = out_.type(mask).sizes.size();
    for (; rank < m.rank; ++rank) mask = op("aten.unsqueeze.default", {mask, Arg(0)});
    const int64_t heads = a.batch.size() == 1 ? 1 : 0;
    for (; rank < 4; ++rank) mask = op("aten.unsqueeze.default", {mask, Arg(heads)});
    return mask;
  }

  // What is added to the scores, in a type that PyTorch's attention takes; none: there is no mask. In the
  // order in which the program has it: what is filled in hides whatever was added before.
  std::optional<Ref> added(const WrittenAttention& a, const Masks& masks, DType dtype) {
    std::optional<Ref> all;
    for (size_t i = masks.size(); i-- > 0;) {
      const WrittenMask& m = *masks[i];
      Ref mask = laid_out(a, m);
      if (m.fills) {
        const Ref hidden = number(-kInfinity, dtype), shown = all ? *all : number(0, dtype);
        all = op("aten.where.self", {mask, m.shows ? shown : hidden, m.shows ? hidden : shown});
        continue;
      }
      if (const DType given = out_.type(mask).dtype; given != dtype && given != DType::f32) {
        mask = op("aten._to_copy.default", {mask}, {{"dtype", Arg(dtype)}});
      }
      if (m.subtracted) mask = op("aten.neg.default", {mask});
      all = all ? op("aten.add.Tensor", {*all, mask}) : mask;
    }
    return all;
  }

  void write(const Node& product, const WrittenAttention& a) {
    from_ = &product;
    const Ref query = with_rows(with_heads(a, a.query));
    Ref key = with_heads(a, a.key);
    key = with_rows(op("aten.transpose.int", {key, Arg(2), Arg(3)}));
    const Ref value = with_rows(with_heads(a, a.value));
    Ref result = chooses(old(a.query)) ? derived(a, {query, key, value}) : called(a, {query, key, value});
    for (NodeId id : a.between) out_.absorb(result, graph_->node(id));
    result = contiguous(result);
    out_.change(product, "aten.view.default", {Arg(result), Arg::ints(product.type().sizes)}, {});
  }

  Ref called(const WrittenAttention& a, const std::array<Ref, 3>& factors) {
    const DType dtype = from_->type().dtype;
    const Masks masks = all_masks(a);
    const std::optional<Ref> mask = added(a, masks, dtype);
    const Ref result = attention(*from_, factors, mask, a.scale);
    if (!mask || rows_see(masks)) return result;
    return op("aten.where.self",
              {all_hidden(*mask), fills_finitely(a) ? mean(factors[2]) : not_a_number(dtype), result});
  }

  // With gradients. A row that the program filled in hands none to its scores, and NaN to all values. One
  // that numbers hide hands NaN to both, as does a query that is NaN.
  Ref derived(const WrittenAttention& a, std::array<Ref, 3> factors) {
    const DType dtype = from_->type().dtype;
    const Masks all = all_masks(a);
    Masks fills;
    std::ranges::copy_if(all, std::back_inserter(fills),
                         [](const WrittenMask* m) { return m->fills.has_value(); });
    const Ref value = factors[2];
    std::optional<Ref> mask, filled;
    if (!is_causal(a)) mask = added(a, all, dtype);
    if (!rows_see(fills)) filled = all_hidden(fills.size() == all.size() ? *mask : *added(a, fills, dtype));
    if (fills.size() < all.size() && !rows_see(all)) {
      Ref hidden = all_hidden(*mask);
      if (filled) hidden = op("aten.bitwise_and.Tensor", {hidden, op("aten.bitwise_not.default", {*filled})});
      const Ref made = op("aten.where.self", {hidden, not_a_number(dtype), number(0, dtype)});
      factors[0] = op("aten.add.Tensor", {factors[0], made});
    }
    const Ref result = chosen(a, factors, mask);
    if (!filled) return result;
    Ref instead = mean(value);
    if (!fills_finitely(a)) {
      const Ref any = op("aten.any.dim", {*filled, Arg(-2), Arg(true)});
      const Ref spoilt = op("aten.where.self", {any, not_a_number(dtype), number(0, dtype)});
      instead = op("aten.mul.Tensor", {instead, spoilt});
    }
    return op("aten.where.self", {*filled, instead, result});
  }

  static bool fills_finitely(const WrittenAttention& a) {
    return a.masks.front().fills && *a.masks.front().fills != -kInfinity;
  }
  // By row: no place is seen.
  Ref all_hidden(Ref mask) {
    const Ref most = op("aten.amax.default", {mask, Arg::ints({-1}), Arg(true)});
    return op("aten.eq.Scalar", {most, Arg(-kInfinity)});
  }
  Ref mean(Ref value) { return op("aten.mean.dim", {value, Arg::ints({-2}), Arg(true)}); }
  Ref not_a_number(DType dtype) { return number(std::numeric_limits<double>::quiet_NaN(), dtype); }

  Ref attention(const Node& product, const std::array<Ref, 3>& factors, std::optional<Ref> mask,
                double scale) {
    const auto& [query, key, value] = factors;
    if (product.type().device.is_cpu()) {
      Kwargs kwargs = {{"scale", Arg(scale)}};
      if (mask) kwargs.emplace(kwargs.begin(), "attn_mask", Arg(*mask));
      return op("aten._scaled_dot_product_flash_attention_for_cpu.default", {query, key, value},
                std::move(kwargs));
    }
    return out_.emit(product, "aten.scaled_dot_product_attention.default",
                     {query, key, value, mask ? Arg(*mask) : Arg(), Arg(0.0), Arg(false)},
                     {{"scale", Arg(scale)}}, {laid_out_as(out_.type(query))});
  }
  // What PyTorch calls for it.
  Ref chosen(const WrittenAttention& a, std::array<Ref, 3> factors, std::optional<Ref> mask) {
    const bool causal = !mask && !a.masks.empty();  // it says all that they hide
    if (mask) mask = with_rows(*mask);
    const auto ask = [&] {
      return choose_({factors[0], factors[1], factors[2], mask, a.scale, causal, requires_grad(a),
                      [&](Ref r) { return out_.type(r); }});
    };
    auto made = ask();
    if (!made || !is_fast(*made)) {  // as they lie
      for (Ref& r : factors) r = contiguous(r);
      made = ask();
    }
    VITRINE_CHECK(made, "%" + from_->name + ": PyTorch has no attention for what it was asked for");
    std::unordered_map<NodeId, NodeId> fresh;
    const auto now = [&](Ref r) {
      const auto it = fresh.find(r.node);
      return it == fresh.end() ? r : Ref{it->second, r.output};
    };
    const auto mapped = [&](const Arg& arg) { return ir::map_refs(arg, [&](Ref r) { return Arg(now(r)); }); };
    for (const Node& n : made->nodes) {
      std::vector<Arg> args;
      Kwargs kwargs;
      for (const Arg& arg : n.args) args.push_back(mapped(arg));
      for (const auto& [name, arg] : n.kwargs) kwargs.emplace_back(name, mapped(arg));
      fresh.emplace(n.id, out_.emit(*from_, n.op, std::move(args), std::move(kwargs), n.outputs).node);
    }
    return now(made->result);
  }
  // cuDNN's attention, PyTorch's first choice for 16-bit numbers on new GPUs, has its result's dims lie in
  // the query's order; the others have rows outside heads. Where it lies otherwise the call copies it.
  static TensorType laid_out_as(TensorType query) {
    const Dims& n = query.sizes;
    query.strides = query.dtype == DType::f32 ? Dims{n[1] * n[2] * n[3], n[3], n[1] * n[3], 1}
                                              : ops::preserved_strides(query);
    query.offset = 0;
    return query;
  }

  const GraphPtr& graph_;
  const Storages storages_;
  mutable IndexValues values_;  // which remembers what it found
  const HasGradient* gradients_;
  const ChooseAttention choose_;
  Rewriter out_;
  const Node* from_ = nullptr;
};

}  // namespace

bool may_write_attention(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& n) { return n.op == "aten._softmax.default"; });
}

GraphPtr fuse_attention(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  if (!may_write_attention(graph->nodes())) return graph;
  return AttentionFuser(graph, ids, nullptr, nullptr).run();
}

GraphPtr fuse_attention_to_derive(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids,
                                  const HasGradient& has_gradient, const ChooseAttention& choose) {
  return AttentionFuser(graph, ids, &has_gradient, choose).run();
}

}  // namespace vitrine::passes
