#include "core/passes/layout/channels_last.h"

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
                    std::string rule)
      : graph_(graph), half_(half), storages_(*graph), out_(graph, ids, std::move(rule)) {}

  GraphPtr run() {
    for (const Node& node : graph_->nodes()) {
      if (benefits(node))
        convolve(node);
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
  bool reads_moved(const Node& node) const {
    bool any = false;
    ir::each_ref(node, [&](Ref r) { any |= out_.type(out_.mapped(r).as<Ref>()) != out_.old_type(r); });
    return any;
  }

  bool takes(DType dtype) const {
    return half_ ? dtype == DType::f16 || dtype == DType::bf16 : dtype == DType::f32;
  }
  // A dense convolution of images in a type that the matrix units take, of as many channels as they like; the
  // first layer's few are filled up.
  bool benefits(const Node& node) const {
    if (node.op != "aten.convolution.default" || node.args.size() != 9 || !node.kwargs.empty()) return false;
    if (!node.args[0].is<Ref>() || !node.args[1].is<Ref>() || !node.args[6].is<bool>()) return false;
    if (node.args[6].as<bool>() || node.args[8] != Arg(1)) return false;
    const TensorType &image = out_.old_type(node.args[0].as<Ref>()),
                     &weight = out_.old_type(node.args[1].as<Ref>()), &result = node.type();
    if (!takes(result.dtype) || (image.sizes[1] > 4 && image.sizes[1] % 4) || result.sizes[1] % 4)
      return false;
    for (const TensorType* t : {&image, &weight, &result})
      if (!t->device.is_cuda() || t->sizes.size() != 4 || !t->is_contiguous() || t->numel() == 0)
        return false;
    return !storages_.written(node.args[0].as<Ref>().node) && !storages_.written(node.args[1].as<Ref>().node);
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
    if (told) {
      const TensorType &image = out_.old_type(node.args[0].as<Ref>()),
                       &weight = out_.old_type(node.args[1].as<Ref>());
      // cuDNN brings a weight into its kernel's layout, too; that of one tap lies so already.
      const bool one_tap = weight.sizes[2].same(1) && weight.sizes[3].same(1);
      saved_ += 2 * (image.bytes() + node.type().bytes() + (one_tap ? ir::Sym(0) : weight.bytes())).hint();
    }
    out_.change(node, node.op, std::move(args), {}, {type});
  }

  // Computes the node from what was moved. false: that would show, or its result is neither eager's nor
  // moved. A view of what was moved may lie anyhow, as long as nobody outside sees it.
  bool follow(const Node& node) {
    if (ops::writes(node) || ops::is_random(node) || storages_.written(node.id)) return false;
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
  const bool half_;
  const Storages storages_;
  Rewriter out_;
  std::map<Ref, Ref> moved_, before_;  // by old value: its conversions
  int64_t converted_ = 0, saved_ = 0;  // bytes
};

}  // namespace

GraphPtr channels_last(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ChannelsLastMover(graph, ids, false, "channels_last").run();
}

GraphPtr half_channels_last(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  return ChannelsLastMover(graph, ids, true, "half_channels_last").run();
}

}  // namespace vitrine::passes
