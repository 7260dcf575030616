#include "core/passes/library_calls/convolution_relu.h"

#include <algorithm>
#include <optional>

#include "core/ops/layout.h"
#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

using ir::Dims;

// relu(sum of convolutions, each perhaps times a number by channel, numbers by channel, and a tensor)
struct ConvolutionTerm {
  const Node* convolution = nullptr;
  std::optional<Ref> factor;  // by channel
};
struct ConvolutionSum {
  std::vector<ConvolutionTerm> convolutions;
  std::vector<Ref> channels, whole;
  std::vector<const Node*> joined;  // sums and products that are computed with it
};

class ConvolutionJoiner {
 public:
  ConvolutionJoiner(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids)
      : graph_(graph), users_(graph->users()), storages_(*graph), out_(graph, ids, "convolution_relu") {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      std::optional<ConvolutionSum> sum = behind(node);
      if (sum && joins(node, *sum))
        join(node, *sum);
      else
        out_.keep(node);
    }
    return out_.finish();
  }

 private:
  const TensorType& type(Ref r) const {
    return graph_->node(r.node).outputs.at(static_cast<size_t>(r.output));
  }
  const Node& producer(Ref r) const { return graph_->node(r.node); }
  bool read_once(Ref r) const {
    return users_[graph_->position(r.node)].size() == 1 && !out_.is_result(r.node);
  }
  // One number a channel, broadcast over the image.
  bool is_by_channel(Ref r, const TensorType& image) const {
    const TensorType& t = type(r);
    const size_t rank = t.sizes.size();
    return t.dtype == image.dtype && (rank == 3 || rank == 4) && t.numel() == image.sizes[1] &&
           t.sizes[rank - 3] == image.sizes[1];
  }
  static const Ref* ref(const Node& node, size_t i) {
    return node.args.size() > i && node.args[i].is<Ref>() ? &node.args[i].as<Ref>() : nullptr;
  }

  // A convolution of images with channels innermost that nobody else reads.
  bool is_convolution(Ref r, const TensorType& image) const {
    const Node& n = producer(r);
    if (n.op != "aten.convolution.default" || !read_once(r) || n.type() != image) return false;
    if (n.args.size() != 9 || n.args[6] != Arg(false) || n.args[8] != Arg(1)) return false;
    for (size_t i = 0; i < 3; ++i)
      if (n.args[i].is<Ref>() && storages_.written(n.args[i].as<Ref>().node)) return false;
    return n.args[2].is_none() || n.args[2].is<Ref>();
  }

  bool collect(Ref r, const TensorType& image, ConvolutionSum& sum) const {
    const Node& n = producer(r);
    if (is_by_channel(r, image) && !storages_.written(r.node)) {
      sum.channels.push_back(r);
    } else if (is_convolution(r, image)) {
      sum.convolutions.push_back({&n, {}});
    } else if (n.op == "aten.add.Tensor" && n.args.size() == 2 && n.kwargs.empty() && ref(n, 0) &&
               ref(n, 1) && read_once(r)) {
      sum.joined.push_back(&n);
      return collect(*ref(n, 0), image, sum) && collect(*ref(n, 1), image, sum);
    } else if (n.op == "aten.mul.Tensor" && ref(n, 0) && ref(n, 1) && read_once(r) &&
               is_convolution(*ref(n, 0), image) && is_by_channel(*ref(n, 1), image) &&
               !storages_.written(ref(n, 1)->node)) {
      sum.convolutions.push_back({&producer(*ref(n, 0)), *ref(n, 1)});
      sum.joined.push_back(&n);
    } else if (type(r) == image && !storages_.written(r.node)) {
      sum.whole.push_back(r);
    } else {
      return false;
    }
    return true;
  }

  std::optional<ConvolutionSum> behind(const Node& node) const {
    if (node.op != "aten.relu.default" || !ref(node, 0)) return {};
    const TensorType& image = node.type();
    if (!image.device.is_cuda() || image.dtype != ir::DType::f32 || !ops::is_channels_last(image)) return {};
    if (image.is_contiguous() || type(*ref(node, 0)) != image) return {};
    ConvolutionSum sum;
    if (!collect(*ref(node, 0), image, sum) || sum.convolutions.empty()) return {};
    return sum;
  }

  // At most one tensor is added; and what scaling the weights moves is saved where relu is not computed
  // apart.
  bool joins(const Node& node, const ConvolutionSum& sum) const {
    if (sum.convolutions.size() + sum.whole.size() > 2) return false;
    int64_t scaled = 0;
    for (const ConvolutionTerm& term : sum.convolutions) {
      const Ref weight = term.convolution->args[1].as<Ref>();
      // One that is laid out anew is scaled on the way.
      if (term.factor && producer(weight).op != "aten.clone.default") scaled += type(weight).bytes().hint();
    }
    return 2 * scaled <= node.type().bytes();
  }

  Ref view(const Node& from, Ref value, const Dims& sizes) {
    return out_.emit(from, "aten.view.default", {Arg(value), Arg::ints(sizes)});
  }
  Ref weight_of(const Node& from, const ConvolutionTerm& term) {
    const Ref weight = out_.mapped(term.convolution->args[1]).as<Ref>();
    if (!term.factor) return weight;
    const Ref factor = view(from, out_.mapped(*term.factor).as<Ref>(), {out_.type(weight).sizes[0], 1, 1, 1});
    return out_.emit(from, "aten.mul.Tensor", {Arg(weight), Arg(factor)});
  }
  // Everything by channel, as one row.
  Ref bias_of(const Node& from, const ConvolutionSum& sum) {
    const Dims row = {from.type().sizes[1]};
    std::optional<Ref> bias;
    auto add = [&](Ref value) {
      bias = bias ? out_.emit(from, "aten.add.Tensor", {Arg(*bias), Arg(value)}) : value;
    };
    for (Ref r : sum.channels) add(view(from, out_.mapped(r).as<Ref>(), row));
    for (const ConvolutionTerm& term : sum.convolutions) {
      if (term.convolution->args[2].is_none()) continue;
      Ref own = out_.mapped(term.convolution->args[2]).as<Ref>();
      if (term.factor)
        own = out_.emit(from, "aten.mul.Tensor",
                        {Arg(own), Arg(view(from, out_.mapped(*term.factor).as<Ref>(), row))});
      add(own);
    }
    if (bias) return *bias;
    return out_.emit(
        from, "aten.zeros.default", {Arg::ints(row)},
        {{"dtype", Arg(from.type().dtype)}, {"device", Arg(ir::Word{from.type().device.text()})}});
  }

  void join(const Node& node, const ConvolutionSum& sum) {
    // The one that is computed last gets the others added.
    std::vector<ConvolutionTerm> terms = sum.convolutions;
    std::sort(terms.begin(), terms.end(), [&](const ConvolutionTerm& a, const ConvolutionTerm& b) {
      return graph_->position(a.convolution->id) < graph_->position(b.convolution->id);
    });
    const ConvolutionTerm last = terms.back();
    const auto& given = last.convolution->args;
    std::vector<Arg> args = {out_.mapped(given[0]), Arg(weight_of(node, last))};
    if (terms.size() == 2) {
      std::vector<Arg> other = terms.front().convolution->args;
      other[0] = out_.mapped(other[0]);
      other[1] = weight_of(node, terms.front());
      other[2] = Arg(ir::None{});
      args.emplace_back(out_.emit(node, "aten.convolution.default", std::move(other)));
    } else if (!sum.whole.empty()) {
      args.push_back(out_.mapped(sum.whole.front()));
    }
    const bool adds = args.size() == 3;
    if (adds) args.emplace_back(1.0);
    args.emplace_back(bias_of(node, sum));
    for (size_t i : {3, 4, 5, 8}) args.push_back(given[i]);
    const char* op = adds ? "aten.cudnn_convolution_add_relu.default" : "aten.cudnn_convolution_relu.default";
    const Ref joined = out_.change(node, op, std::move(args), {});
    for (const ConvolutionTerm& term : sum.convolutions) out_.absorb(joined, *term.convolution);
    for (const Node* add : sum.joined) out_.absorb(joined, *add);
  }

  const GraphPtr& graph_;
  const std::vector<std::vector<NodeId>> users_;
  const Storages storages_;
  Rewriter out_;
};

}  // namespace

GraphPtr convolution_relu(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ConvolutionJoiner(graph, ids).run();
}

}  // namespace vitrine::passes
