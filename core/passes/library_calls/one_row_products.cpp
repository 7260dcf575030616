#include "core/passes/library_calls/one_row_products.h"

#include <map>
#include <optional>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

using ir::DType;
using ir::Sym;

// rows × inner times inner × columns; the last two dims of a and b.
struct Product {
  Ref a, b;  // of the old graph
  std::optional<Ref> bias;
};

class OneRowProducts {
 public:
  OneRowProducts(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, bool few)
      : graph_(graph), out_(graph, ids, few ? "few_row_products" : "one_row_products", true), few_(few) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      const auto product = product_of(node);
      if (product && (few_ ? is_few(*product) : pays(*product)) && out_.may_rewrite(node))
        out_.replace(node, {Arg(written_out(node, *product))});
      else
        out_.keep(node);
      if (ops::writes(node)) wide_.clear();
    }
    return out_.finish();
  }

 private:
  std::optional<Product> product_of(const Node& node) const {
    if (node.kind != ir::NodeKind::op) return {};
    const bool added = node.op == "aten.addmm.default";
    if (!added && node.op != "aten.mm.default" && node.op != "aten.bmm.default") return {};
    const ops::OpRow* row = ops::find(node.op);
    auto bound = row ? ops::bind(*row, node) : Error{};
    if (!bound.ok()) return {};
    const std::vector<Arg>& args = bound.value();
    const size_t first = added ? 1 : 0;
    for (size_t i = 0; i < first + 2; ++i)
      if (!args[i].is<Ref>()) return {};
    if (added && (!ops::is_one(args[3]) || !ops::is_one(args[4]))) return {};
    Product p{args[first].as<Ref>(), args[first + 1].as<Ref>(), {}};
    if (added) p.bias = args[0].as<Ref>();
    const TensorType& type = node.type();
    const bool narrow = type.dtype == DType::f16 || type.dtype == DType::bf16;
    const bool taken = (narrow || type.dtype == DType::f32) && out_.old_type(p.a).dtype == type.dtype &&
                       out_.old_type(p.b).dtype == type.dtype && type.numel() > 0 && type.is_contiguous();
    return taken ? std::optional(p) : std::nullopt;
  }

  // Sums walk along memory: of a matrix whose rows lie across, libraries read whole lines.
  bool pays(const Product& p) {
    const TensorType &a = out_.old_type(p.a), &b = out_.old_type(p.b);
    const size_t d = a.sizes.size() - 2;
    const Sym &rows = a.sizes[d], &inner = a.sizes[d + 1], &columns = b.sizes[d + 1];
    const bool along = (inner.same(1) || b.strides[d].same(1)) && a.strides[d + 1].same(1);
    if (!a.device.is_cuda()) return along && rows.same(1) && pays_on_cpu(p);
    return inner.same(1) || (along && (rows.same(1) || columns.same(1)));
  }

  // Measured: a library is slower by a tenth to a half, and in bf16 by more, but where rows of f32 are long.
  bool pays_on_cpu(const Product& p) {
    constexpr int64_t kLongRow = 2048, kSmall = int64_t{4} << 20;
    const TensorType& b = out_.old_type(p.b);
    if (b.dtype == DType::bf16) return true;
    const int64_t inner = b.sizes[b.sizes.size() - 2].hint();
    return (b.dtype == DType::f32 && (inner <= kLongRow || b.bytes().hint() <= kSmall)) || widened(p.b);
  }

  // A matrix that is computed of a narrower one for this product alone: weights of int8 with their scales. A
  // kernel of ours reads the narrow one, and the wide one is in memory nowhere.
  bool widened(Ref matrix) {
    const Node& node = graph_->node(matrix.node);
    if (node.kind != ir::NodeKind::op || out_.is_result(node.id)) return false;
    if (users_.empty()) users_ = graph_->users();
    if (users_[graph_->position(node.id)].size() != 1) return false;
    const ops::OpRow* row = ops::find(node.op);
    if (!row || (row->lower != ops::Lower::view && row->lower != ops::Lower::pointwise)) return false;
    const TensorType& type = out_.old_type(matrix);
    bool found = false;
    ir::each_ref(node, [&](Ref r) {
      const TensorType& from = out_.old_type(r);
      if (!from.numel().same(type.numel())) return;
      found |= ir::dtype_bytes(from.dtype) < ir::dtype_bytes(type.dtype) || widened(r);
    });
    return found;
  }

  // So many rows tensor cores multiply at a time, where both lie in runs of eight
  // (core/codegen/cuda/product.h).
  bool is_few(const Product& p) const {
    constexpr int64_t kMost = 16, kTile = 8, kRun = 8, kFewColumns = 2560;
    const TensorType &a = out_.old_type(p.a), &b = out_.old_type(p.b);
    if (!a.device.is_cuda() || a.sizes.size() != 2 || a.dtype == DType::f32) return false;
    const Sym &rows = a.sizes[0], &inner = a.sizes[1], &columns = b.sizes[1];
    const auto lies = [&](const TensorType& t, size_t along) {
      return t.strides[along].same(1) && ir::divides(kRun, t.strides[1 - along]) &&
             ir::divides(kRun, t.offset);
    };
    // More than a tile of rows takes twice as many of their numbers along, which libraries share better.
    if (rows.symbolic() || rows < 2 || rows > kMost || (rows > kTile && !(columns <= kFewColumns)))
      return false;
    return columns > kMost && !inner.symbolic() && ir::divides(kRun, inner) && lies(a, 1) && lies(b, 0);
  }

  Ref op(const Node& from, const char* name, std::vector<Arg> args, Kwargs kwargs = {}) {
    return out_.emit(from, name, std::move(args), std::move(kwargs));
  }
  Ref wide(const Node& from, Ref value) {
    if (out_.type(value).dtype == DType::f32) return value;
    auto [known, fresh] = wide_.try_emplace(value, value);
    if (fresh) known->second = op(from, "aten._to_copy.default", {Arg(value)}, {{"dtype", Arg(DType::f32)}});
    return known->second;
  }

  // One of both has one row: it lies beside the other's rows.
  Ref sums_of_one(const Node& node, Ref a, Ref b, int64_t d) {
    const Ref turned = op(node, "aten.transpose.int", {Arg(b), Arg(d), Arg(d + 1)});
    const Ref terms = op(node, "aten.mul.Tensor", {Arg(wide(node, a)), Arg(wide(node, turned))});
    const Ref sum = op(node, "aten.sum.dim_IntList", {Arg(terms), Arg::ints({d + 1}), Arg(true)});
    const auto at = static_cast<size_t>(d);
    const ir::Dims &found = out_.type(sum).sizes, &wanted = node.type().sizes;
    if (found[at].same(wanted[at]) && found[at + 1].same(wanted[at + 1])) return sum;
    return op(node, "aten.view.default", {Arg(sum), Arg::ints(wanted)});
  }
  // Each row lies beside all of the matrix's.
  Ref sums_of_few(const Node& node, Ref a, Ref b) {
    const Ref turned = op(node, "aten.transpose.int", {Arg(b), Arg(int64_t{0}), Arg(int64_t{1})});
    const Ref beside = op(node, "aten.unsqueeze.default", {Arg(wide(node, a)), Arg(int64_t{1})});
    const Ref terms = op(node, "aten.mul.Tensor", {Arg(beside), Arg(wide(node, turned))});
    return op(node, "aten.sum.dim_IntList", {Arg(terms), Arg::ints({2})});
  }

  // As eager's libraries: sums in f32, rounded once.
  Ref written_out(const Node& node, const Product& p) {
    const Ref a = out_.mapped(p.a).as<Ref>(), b = out_.mapped(p.b).as<Ref>();
    const auto d = static_cast<int64_t>(out_.type(a).sizes.size()) - 2;
    Ref sum = out_.type(a).sizes[static_cast<size_t>(d) + 1].same(1)
                  ? op(node, "aten.mul.Tensor", {Arg(wide(node, a)), Arg(wide(node, b))})
              : few_ ? sums_of_few(node, a, b)
                     : sums_of_one(node, a, b, d);
    if (p.bias)
      sum = op(node, "aten.add.Tensor", {Arg(sum), Arg(wide(node, out_.mapped(*p.bias).as<Ref>()))});
    if (node.type().dtype == DType::f32) return sum;
    return op(node, "aten._to_copy.default", {Arg(sum)}, {{"dtype", Arg(node.type().dtype)}});
  }

  const GraphPtr& graph_;
  std::vector<std::vector<ir::NodeId>> users_;  // once it is asked for
  Rewriter out_;
  const bool few_;
  std::map<Ref, Ref> wide_;  // of values that several products read
};

}  // namespace

GraphPtr one_row_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return OneRowProducts(graph, ids, false).run();
}

GraphPtr few_row_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return OneRowProducts(graph, ids, true).run();
}

}  // namespace vitrine::passes
