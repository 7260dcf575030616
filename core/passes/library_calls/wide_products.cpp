#include "core/passes/library_calls/wide_products.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

namespace {

using ir::DType;

constexpr std::string_view kProducts[] = {
    "aten.mm.default",
    "aten.addmm.default",
    "aten.bmm.default",
    "aten.baddbmm.default",
    "aten.convolution.default",
    "aten.convolution_backward.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
};

class WideProducts {
 public:
  WideProducts(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, DType narrow, const char* pass)
      : graph_(graph), narrow_(narrow), out_(graph, ids, pass) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      if (is_narrow_product(node) && out_.may_rewrite(node))
        widen(node);
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  // Of the narrow type throughout, and laid out as a product of f32 is.
  bool is_narrow_product(const Node& node) const {
    if (node.kind != ir::NodeKind::op || std::ranges::find(kProducts, node.op) == std::end(kProducts))
      return false;
    const bool convolution = node.op.starts_with("aten.convolution");
    const auto fits = [&](const TensorType& type) {
      return type.device.is_cpu() && type.dtype == narrow_ && (!convolution || type.is_contiguous());
    };
    bool all = std::ranges::all_of(node.outputs, [&](const TensorType& t) { return is_wide(t) || fits(t); });
    ir::each_ref(node, [&](Ref r) { all &= fits(out_.old_type(r)); });
    return all;
  }
  // A gradient that nobody asks for, or what is computed in f32 anyway.
  static bool is_wide(const TensorType& type) {
    return type.dtype == DType::f32 || (type.sizes.size() == 1 && type.numel().same(0));
  }

  // A value that several products read is widened once.
  Arg wide(const Node& node, const Arg& arg) {
    if (!arg.is<Ref>()) return out_.mapped(arg);
    const auto [at, fresh] = widened_.try_emplace(arg.as<Ref>());
    if (fresh)
      at->second = out_.emit(node, "aten._to_copy.default", {out_.mapped(arg)}, {{"dtype", Arg(DType::f32)}});
    return Arg(at->second);
  }

  Arg rounded(const Node& node, const Arg& product) {
    return Arg(out_.emit(node, "aten._to_copy.default", {product}, {{"dtype", Arg(narrow_)}}));
  }

  void widen(const Node& node) {
    std::vector<Arg> args;
    for (const Arg& arg : node.args) args.push_back(wide(node, arg));
    Kwargs kwargs;
    for (const auto& [name, arg] : node.kwargs) kwargs.emplace_back(name, wide(node, arg));
    std::vector<TensorType> types = node.outputs;
    for (TensorType& type : types) type.dtype = DType::f32;
    const Ref product = out_.emit(node, node.op, std::move(args), std::move(kwargs), std::move(types));
    std::vector<Arg> values;
    for (int32_t i = 0; const TensorType& type : node.outputs) {
      const Arg output(Ref{product.node, i++});
      values.push_back(is_wide(type) ? output : rounded(node, output));
    }
    out_.replace(node, std::move(values));
  }

  const GraphPtr& graph_;
  const DType narrow_;
  Rewriter out_;
  std::map<Ref, Ref> widened_;
};

}  // namespace

GraphPtr wide_bf16_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return WideProducts(graph, ids, DType::bf16, "wide_bf16_products").run();
}
GraphPtr wide_f16_products(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return WideProducts(graph, ids, DType::f16, "wide_f16_products").run();
}

}  // namespace vitrine::passes
