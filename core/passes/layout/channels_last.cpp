#include "core/passes/layout/channels_last.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/ops/layout.h"
#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

using ir::DType;

// The same memory in another order of dims: images with their channels innermost, and what is computed of
// views of these.
bool is_moved_form(const TensorType& now, const TensorType& before) {
  return before.is_contiguous() && now.offset.same(before.offset) && ops::is_dense(now);
}

class ChannelsLastMover {
 public:
  ChannelsLastMover(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids, bool half,
                    bool by_channel, std::string rule)
      : graph_(graph),
        half_(half),
        by_channel_(by_channel && std::ranges::none_of(graph->nodes(), is_backward)),
        storages_(*graph),
        out_(graph, ids, std::move(rule)) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      if (benefits(node) || takes_part(node))
        convolve(node);
      else if (backward_benefits(node))
        convolve_backward(node);
      else if (!(reads_moved(node) && follow(node)))
        keep(node);
    }
    // What the conversions move against what cuDNN's own would have: each read and written once.
    if (converted_ >= saved_) return graph_;
    std::vector<Arg> results;
    for (const Arg& r : graph_->results())
      results.push_back(ir::map_refs(r, [&](Ref ref) { return Arg(as_before(ref)); }));
    return converted_ >= saved_ ? graph_ : out_.finish(std::move(results));
  }

 private:
  static bool is_backward(const Node& node) { return node.op == "aten.convolution_backward.default"; }
  bool reads_moved(const Node& node) const {
    bool any = false;
    ir::each_ref(node, [&](Ref r) { any |= out_.type(out_.mapped(r).as<Ref>()) != out_.old_type(r); });
    return any;
  }

  bool writes_moved(const Node& node) const {
    return std::ranges::any_of(
        ops::written(node), [&](Ref r) { return out_.type(out_.mapped(r).as<Ref>()) != out_.old_type(r); });
  }

  bool takes(DType dtype) const {
    return half_ ? dtype == DType::f16 || dtype == DType::bf16 : dtype == DType::f32;
  }
  // A dense convolution of images in a type that the matrix units take, of as many channels as they like; the
  // first layer's few are filled up.
  bool benefits(const Node& node) const {
    if (node.op != "aten.convolution.default" || node.args.size() != 9 || !node.kwargs.empty()) return false;
    return plain(node.args[6], node.args[8]) && are_unwritten({node.args[0], node.args[1]}) &&
           fits(node.args[0], node.args[1], node.type());
  }
  // A convolution of each channel by itself, of an image that lies so already: cuDNN has kernels for few
  // taps.
  bool takes_part(const Node& node) const {
    constexpr int64_t kMostTaps = 5;
    if (!by_channel_ || node.op != "aten.convolution.default" || node.args.size() != 9 ||
        !node.kwargs.empty() || !reads_moved(node) || !are_unwritten({node.args[0], node.args[1]}))
      return false;
    const TensorType &image = out_.old_type(node.args[0].as<Ref>()),
                     &weight = out_.old_type(node.args[1].as<Ref>());
    return node.args[6] == Arg(false) && fits(node.args[0], node.args[1], node.type()) &&
           node.args[8] == Arg(image.sizes[1]) && weight.sizes[0].same(image.sizes[1]) &&
           ops::is_channels_last(out_.type(out_.mapped(node.args[0]).as<Ref>())) &&
           weight.sizes[2].hint() <= kMostTaps && weight.sizes[3].hint() <= kMostTaps;
  }
  bool backward_benefits(const Node& node) const {
    if (!is_backward(node) || node.args.size() != 11 || !node.kwargs.empty()) return false;
    return plain(node.args[7], node.args[9]) && are_unwritten({node.args[0], node.args[1], node.args[2]}) &&
           fits(node.args[1], node.args[2], out_.old_type(node.args[0].as<Ref>()));
  }
  static bool plain(const Arg& transposed, const Arg& groups) {
    return transposed == Arg(false) && groups == Arg(1);
  }
  bool are_unwritten(std::initializer_list<Arg> tensors) const {
    return std::ranges::all_of(
        tensors, [&](const Arg& a) { return a.is<Ref>() && !storages_.written(a.as<Ref>().node); });
  }
  bool fits(const Arg& x, const Arg& w, const TensorType& result) const {
    const TensorType &image = out_.old_type(x.as<Ref>()), &weight = out_.old_type(w.as<Ref>());
    for (const TensorType* t : {&image, &weight, &result})
      if (!t->device.is_cuda() || t->sizes.size() != 4 || !t->is_contiguous() || t->numel() == 0)
        return false;
    return takes(result.dtype) && (image.sizes[1] <= 4 || image.sizes[1] % 4 == 0) &&
           result.sizes[1] % 4 == 0;
  }

  Ref converted(const Node& from, Ref value, const char* format) {
    converted_ += 2 * out_.type(value).bytes().hint();
    return out_.emit(from, "aten.clone.default", {Arg(value)}, {{"memory_format", Arg(ir::Word{format})}});
  }
  // The value with its channels innermost. Where that is the same memory (a weight of one tap), as it is.
  Ref moved(const Node& reader, Ref old) {
    const Ref value = out_.mapped(old).as<Ref>();
    if (ops::is_channels_last(out_.type(value))) return value;
    if (auto known = moved_.find(old); known != moved_.end()) return known->second;
    const Ref made = converted(reader, as_before(old), "torch.channels_last");
    moved_.emplace(old, made);
    return made;
  }
  // The value with the strides that eager gives it; of a view, the same view of what is converted.
  Ref as_before(Ref old) {
    const Ref value = out_.mapped(old).as<Ref>();
    if (out_.type(value) == out_.old_type(old)) return value;
    if (auto known = before_.find(old); known != before_.end()) return known->second;
    const Node& node = graph_->node(old.node);
    Ref back;
    if (ops::may_alias(node)) {
      std::vector<Arg> args;
      for (const Arg& a : node.args) args.push_back(before(a));
      back = out_.emit(node, node.op, std::move(args), node.kwargs);
    } else {
      back = converted(node, value, "torch.contiguous_format");
    }
    before_.emplace(old, back);
    return back;
  }
  Arg before(const Arg& a) {
    return ir::map_refs(a, [&](Ref r) { return Arg(as_before(r)); });
  }

  void convolve(const Node& node) {
    std::vector<Arg> args = node.args;
    args[0] = moved(node, node.args[0].as<Ref>());
    args[1] = moved(node, node.args[1].as<Ref>());
    args[2] = out_.mapped(args[2]);
    // Of an image and a weight of one place each PyTorch cannot tell, and neither does it matter.
    const bool told = ops::suggests_channels_last(out_.type(args[0].as<Ref>())) ||
                      ops::suggests_channels_last(out_.type(args[1].as<Ref>()));
    TensorType type = node.type();
    if (told) type.strides = ops::channels_last_strides(type.sizes);
    if (told && node.args[8] == Arg(1)) save(node.args[0], node.args[1], node.type());
    out_.change(node, node.op, std::move(args), {}, {type});
  }

  // What cuDNN's own conversions would have moved. It brings a weight into its kernel's layout, too; that of
  // one tap lies so already.
  void save(const Arg& x, const Arg& w, const TensorType& result) {
    const TensorType &image = out_.old_type(x.as<Ref>()), &weight = out_.old_type(w.as<Ref>());
    const bool one_tap = weight.sizes[2].same(1) && weight.sizes[3].same(1);
    saved_ += 2 * (image.bytes() + result.bytes() + (one_tap ? ir::Sym(0) : weight.bytes())).hint();
  }

  void convolve_backward(const Node& node) {
    std::vector<Arg> args = node.args;
    for (size_t i = 0; i < 3; ++i) args[i] = moved(node, node.args[i].as<Ref>());
    auto types = out_.types(node.op, args, {});
    if (!types) return keep(node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const bool asked = node.args[10].as<std::vector<Arg>>().at(i).as<bool>();
      if (!asked) types.value()[i] = node.outputs[i];
      if (asked && (types.value()[i].sizes != node.outputs[i].sizes ||
                    types.value()[i].dtype != node.outputs[i].dtype))
        return keep(node);
    }
    save(node.args[1], node.args[2], out_.old_type(node.args[0].as<Ref>()));
    out_.change(node, node.op, std::move(args), {}, types.take());
  }

  // Computes the node from what was moved. false: that would show, or its result is neither eager's nor
  // moved. A view of what was moved may lie anyhow, as long as nobody outside sees it.
  bool follow(const Node& node) {
    if (writes_moved(node) || ops::is_random(node) || storages_.written(node.id)) return false;
    if (ops::may_alias(node) && storages_.escapes(node.id)) return false;
    // as_strided counts places in memory as eager has it.
    if (node.op == "aten.convolution.default" || node.op == "aten.as_strided.default") return false;
    std::vector<Arg> args;
    Kwargs kwargs;
    for (const Arg& a : node.args) args.push_back(out_.mapped(a));
    for (const auto& [key, a] : node.kwargs) kwargs.emplace_back(key, out_.mapped(a));
    auto types = out_.types(node.op, args, kwargs);
    if (!types.ok() || types.value().size() != node.outputs.size()) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType &now = types.value()[i], &then = node.outputs[i];
      if (now.sizes != then.sizes || now.dtype != then.dtype) return false;
      if (now != then && !is_moved_form(now, then) && !ops::may_alias(node)) return false;
    }
    out_.change(node, node.op, std::move(args), std::move(kwargs), types.take());
    return true;
  }

  void keep(const Node& node) {
    if (!reads_moved(node)) {
      out_.keep(node);
      return;
    }
    auto before = [&](const Arg& a) { return ir::map_refs(a, [&](Ref r) { return Arg(as_before(r)); }); };
    std::vector<Arg> args;
    Kwargs kwargs;
    for (const Arg& a : node.args) args.push_back(before(a));
    for (const auto& [key, a] : node.kwargs) kwargs.emplace_back(key, before(a));
    out_.change(node, node.op, std::move(args), std::move(kwargs));
  }

  const GraphPtr& graph_;
  const bool half_, by_channel_;
  const Storages storages_;
  Rewriter out_;
  std::map<Ref, Ref> moved_, before_;  // by old value: its conversions
  int64_t converted_ = 0, saved_ = 0;  // bytes
};

}  // namespace

GraphPtr channels_last(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ChannelsLastMover(graph, ids, false, false, "channels_last").run();
}

GraphPtr half_channels_last(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ChannelsLastMover(graph, ids, true, false, "half_channels_last").run();
}

GraphPtr depthwise_channels_last(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ChannelsLastMover(graph, ids, true, true, "depthwise_channels_last").run();
}

}  // namespace vitrine::passes
