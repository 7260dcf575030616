#include "core/passes/library_calls/pad_products.h"

#include <map>
#include <optional>
#include <tuple>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

using ir::Dims;
using ir::DType;

// Operations a product must have for each byte that padding moves: copying 1 byte takes as long as computing
// about 60 operations faster.
constexpr int64_t kOperationsAByte = 100;

// A matrix whose rows, or whose columns, lie one behind the other without gaps.
enum class Order : uint8_t { rows, columns, neither };
Order order_of(const TensorType& t) {
  if (t.is_contiguous()) return Order::rows;
  return t.strides[0].same(1) && t.strides[1].same(t.sizes[0]) ? Order::columns : Order::neither;
}

struct PaddedProduct {
  Ref a, b;  // values of the old graph
  ir::Sym m, n, k, to_m, to_n, to_k;
  bool pads() const { return !to_m.same(m) || !to_n.same(n) || !to_k.same(k); }
};

class Padder {
 public:
  Padder(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, bool half, std::string rule)
      : graph_(graph), half_(half), out_(graph, ids, std::move(rule)) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      auto product = product_of(node);
      if (product && pays(node, *product))
        pad(node, *product);
      else
        out_.keep(node);
      if (ops::writes(node)) padded_.clear();
    }
    return out_.finish();
  }

 private:
  using Key = std::tuple<NodeId, int32_t, int64_t, int64_t>;  // a value, its rows and columns when padded

  bool takes(const TensorType& t) const {
    const bool dtype = half_ ? t.dtype == DType::f16 || t.dtype == DType::bf16 : t.dtype == DType::f32;
    return dtype && t.device.is_cuda() && t.sizes.size() == 2 && t.numel() > 0;
  }

  std::optional<PaddedProduct> product_of(const Node& node) const {
    const bool added = node.op == "aten.addmm.default";
    if ((!added && node.op != "aten.mm.default") || node.args.size() != (added ? 3U : 2U)) return {};
    for (const Arg& arg : node.args)
      if (!arg.is<Ref>()) return {};
    PaddedProduct p{};
    p.a = node.args[added ? 1 : 0].as<Ref>(), p.b = node.args[added ? 2 : 1].as<Ref>();
    const TensorType &a = out_.old_type(p.a), &b = out_.old_type(p.b);
    if (!takes(a) || !takes(b) || !takes(node.type()) || !node.type().is_contiguous()) return {};
    const Order a_order = order_of(a), b_order = order_of(b);
    if (a_order == Order::neither || b_order == Order::neither) return {};
    p.m = a.sizes[0], p.k = a.sizes[1], p.n = b.sizes[1];
    const int64_t step = 16 / ir::dtype_bytes(a.dtype);
    // A size that changes stays as it is: rows of zeros would be copied for each.
    auto up = [&](const ir::Sym& size) { return size.symbolic() ? size : ir::ceildiv(size, step) * step; };
    p.to_k = a_order == Order::rows || b_order == Order::columns ? up(p.k) : p.k;
    p.to_n = up(p.n);  // rows of the result
    p.to_m = a_order == Order::columns ? up(p.m) : p.m;
    // A bias is one row, and a result without more rows or columns than it had.
    if (added && (!p.to_m.same(p.m) || !ir::same(out_.old_type(node.args[0].as<Ref>()).sizes, {p.n})))
      return {};
    return p.pads() ? std::optional(p) : std::nullopt;
  }

  bool pays(const Node& node, const PaddedProduct& p) const {
    int64_t bytes = 0;
    auto copy = [&](Ref r, const ir::Sym& rows, const ir::Sym& columns) {
      const TensorType& t = out_.old_type(r);
      const bool same = ir::same(t.sizes, {rows, columns});
      if (!same && !padded_.contains(stored(r, rows, columns).key)) bytes += 2 * t.bytes().hint();
    };
    copy(p.a, p.to_m, p.to_k);
    copy(p.b, p.to_k, p.to_n);
    if (!p.to_n.same(p.n) || out_.is_result(node.id)) bytes += 2 * node.type().bytes().hint();
    return (2 * p.m * p.n * p.k).hint() > kOperationsAByte * bytes;
  }

  Ref zeros(const Node& from, const TensorType& like, const Dims& sizes) {
    return out_.emit(from, "aten.zeros.default", {Arg::ints(sizes)},
                     {{"dtype", Arg(like.dtype)}, {"device", Arg(ir::Word{like.device.text()})}});
  }
  // With zeros behind its rows (dim 0) or at the end of each (dim 1), up to `size`.
  Ref longer(const Node& from, Ref value, int64_t dim, const ir::Sym& size) {
    const TensorType type = out_.type(value);
    Dims more = type.sizes;
    more[static_cast<size_t>(dim)] = size - more[static_cast<size_t>(dim)];
    if (more[static_cast<size_t>(dim)].same(0)) return value;
    const Ref behind = zeros(from, type, more);
    return out_.emit(from, "aten.cat.default", {Arg(std::vector<Arg>{Arg(value), Arg(behind)}), Arg(dim)});
  }
  // The matrix whose rows lie one behind the other: the value, or what it is the transpose of.
  struct Stored {
    Ref value;
    bool turned = false;
    Key key;
  };
  Stored stored(Ref old, const ir::Sym& rows, const ir::Sym& columns) const {
    Stored out{old, order_of(out_.old_type(old)) == Order::columns, {}};
    const Node& node = graph_->node(old.node);
    const bool known = out.turned && node.op == "aten.t.default" && node.args[0].is<Ref>();
    if (known) out.value = node.args[0].as<Ref>();
    out.key = known ? Key{out.value.node, out.value.output, columns.hint(), rows.hint()}
                    : Key{old.node, old.output, rows.hint(), columns.hint()};
    return out;
  }
  Ref padded(const Node& from, Ref old, const ir::Sym& rows, const ir::Sym& columns) {
    if (ir::same(out_.old_type(old).sizes, {rows, columns})) return out_.mapped(old).as<Ref>();
    const Stored at = stored(old, rows, columns);
    auto [known, fresh] = padded_.try_emplace(at.key, at.value);
    if (fresh) {
      Ref value = out_.mapped(at.value).as<Ref>();
      if (at.turned && at.value == old) value = out_.emit(from, "aten.t.default", {Arg(value)});
      value = longer(from, value, 1, at.turned ? rows : columns);
      known->second = longer(from, value, 0, at.turned ? columns : rows);
    }
    return at.turned ? out_.emit(from, "aten.t.default", {Arg(known->second)}) : known->second;
  }

  void pad(const Node& node, const PaddedProduct& p) {
    std::vector<Arg> args;
    if (node.args.size() == 3) {
      const Ref bias = out_.mapped(node.args[0]).as<Ref>();
      args.emplace_back(longer(node, bias, 0, p.to_n));
    }
    args.emplace_back(padded(node, p.a, p.to_m, p.to_k));
    args.emplace_back(padded(node, p.b, p.to_k, p.to_n));
    Ref value = out_.emit(node, node.op, std::move(args), node.kwargs);
    auto cut = [&](int64_t dim, const ir::Sym& size) {
      if (!out_.type(value).sizes[static_cast<size_t>(dim)].same(size))
        value = out_.emit(node, "aten.slice.Tensor", {Arg(value), Arg(dim), Arg(0), Arg(size)});
    };
    cut(0, p.m);
    cut(1, p.n);
    // What leaves the graph owns no more memory than eager's.
    if (!out_.type(value).same(node.type()) || (out_.is_result(node.id) && !p.to_m.same(p.m)))
      out_.change(node, "aten.clone.default", {Arg(value)},
                  {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}});
    else
      out_.replace(node, {Arg(value)});
  }

  const GraphPtr& graph_;
  const bool half_;
  Rewriter out_;
  std::map<Key, Ref> padded_;
};

}  // namespace

GraphPtr pad_half_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return Padder(graph, ids, true, "pad_half_products").run();
}

GraphPtr pad_f32_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return Padder(graph, ids, false, "pad_f32_products").run();
}

}  // namespace vitrine::passes
