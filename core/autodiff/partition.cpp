#include "core/autodiff/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/autodiff/keep.h"
#include "core/autodiff/partition_classes.h"
#include "core/base/result.h"

namespace vitrine::autodiff {

namespace {

class PartitionWriter {
 public:
  PartitionWriter(const PartitionClasses& classes, const Kept& kept, std::shared_ptr<ir::NodeIds> ids,
                  Partition& out)
      : classes_(classes), graph_(classes.graph()), kept_(kept.values), ids_(std::move(ids)), out_(out) {}

  void run() {
    for (const ir::Node& n : graph_.nodes())
      if (stays(n.id)) ir::each_ref(n, [&](ir::Ref r) { want(r); });
    for (size_t i = classes_.joint().results; i < graph_.results().size(); ++i)
      ir::each_ref(graph_.results()[i], [&](ir::Ref r) { want(r); });
    order_saved();
    std::sort(again_.begin(), again_.end(),
              [&](ir::NodeId a, ir::NodeId b) { return graph_.position(a) < graph_.position(b); });
    write_forward();
    write_backward();
  }

 private:
  // What others may write to comes first, as backward comes by what reads it: an error names the first that
  // was written to, as eager's does.
  void order_saved() {
    const auto own = std::stable_partition(saved_.begin(), saved_.end(), [&](ir::Ref r) {
      return classes_.is_leading(r.node) || classes_.result_of(r) >= 0;
    });
    std::sort(own, saved_.end(), [&](ir::Ref a, ir::Ref b) { return place(a) < place(b); });
  }
  std::pair<size_t, int32_t> place(ir::Ref r) const { return {graph_.position(r.node), r.output}; }
  bool is_kept(ir::Ref r) const { return std::find(kept_.begin(), kept_.end(), r) != kept_.end(); }
  // Nodes of the backward part that are bound to it; of the others, backward has what is read.
  bool stays(ir::NodeId n) const { return classes_.is_bound(n); }

  void want(ir::Ref r) {
    if (classes_.is_tangent(r.node) || stays(r.node)) return;
    if (is_kept(r)) {
      if (std::find(saved_.begin(), saved_.end(), r) == saved_.end()) saved_.push_back(r);
      return;
    }
    VITRINE_CHECK(!classes_.is_leading(r.node), "backward reads an input that forward does not hand over");
    if (std::find(again_.begin(), again_.end(), r.node) != again_.end()) return;
    again_.push_back(r.node);
    want_draws(r.node);
    ir::each_ref(graph_.node(r.node), [&](ir::Ref from) { want(from); });
  }

  // A draw needs the generator as its checkpoint's first found it, and those between.
  void want_draws(ir::NodeId id) {
    const CheckpointDraws* draws = classes_.draws_of(graph_.node(id));
    if (!draws) return;
    const ir::Ref state{draws->state, 0};
    if (std::find(saved_.begin(), saved_.end(), state) == saved_.end()) saved_.push_back(state);
    for (ir::NodeId before : draws->nodes) {
      if (before == id) return;
      want({before, 0});
    }
  }

  // Whether a node of the backward part reads the input itself, and not only views of it.
  bool is_read(ir::NodeId input) const {
    const auto& users = classes_.users(input);
    return std::any_of(users.begin(), users.end(), [&](ir::NodeId u) { return classes_.is_backward(u); });
  }

  // Of the last of the views that forward makes, one of another, of an input.
  ir::Dims sizes_read(ir::Ref input) const {
    const ir::Dims* sizes = &classes_.type(input).sizes;
    for (ir::NodeId at = input.node, next = -1; at >= 0; at = std::exchange(next, -1)) {
      const auto& users = classes_.users(at);
      const auto view = std::find_if(users.begin(), users.end(), [&](ir::NodeId u) {
        return classes_.is_forward(u) && classes_.is_view(u) && graph_.node(u).outputs.size() == 1;
      });
      if (view != users.end()) next = *view, sizes = &graph_.node(next).type().sizes;
    }
    return *sizes;
  }

  Crossing crossing(ir::Ref r, int& made) const {
    if (classes_.is_leading(r.node)) {
      const auto index = static_cast<int>(graph_.position(r.node));
      if (is_read(r.node)) return {Crossing::Kind::input, r, 0, index, -1, "an input: kept anyway"};
      return {Crossing::Kind::viewed, r, 0, index, -1, "an input whose views are read: kept anyway",
              sizes_read(r)};
    }
    if (int index = classes_.result_of(r); index >= 0)
      return {Crossing::Kind::result, r, 0, index, -1, "a result: kept anyway"};
    return {Crossing::Kind::saved, r, classes_.type(r).bytes().hint(), made++, -1, classes_.why_kept(r.node)};
  }

  // What is handed over may be computed by a node of the backward part that could move.
  std::vector<bool> moved() const {
    std::vector<bool> out(graph_.nodes().size());
    for (ir::Ref r : saved_) out[graph_.position(r.node)] = true;
    for (size_t i = out.size(); i-- > 0;) {
      if (!out[i]) continue;
      ir::each_ref(graph_.nodes()[i], [&](ir::Ref r) { out[graph_.position(r.node)] = true; });
    }
    return out;
  }

  void write_forward() {
    ir::Builder b("forward", ids_);
    const std::vector<bool> move = moved();
    for (const ir::Node& n : graph_.nodes()) {
      const bool here = classes_.is_leading(n.id) || classes_.is_forward(n.id);
      const bool needed = n.op != kGeneratorState || move[graph_.position(n.id)];
      if ((here && needed) || (classes_.is_backward(n.id) && move[graph_.position(n.id)])) b.add(n);
    }
    std::vector<ir::Arg> results(
        graph_.results().begin(),
        graph_.results().begin() + static_cast<std::ptrdiff_t>(classes_.joint().results));
    int made = 0;
    std::map<std::pair<size_t, int32_t>, std::string> memory;  // whose it is
    for (ir::Ref r : saved_) {
      out_.crossings.push_back(crossing(r, made));
      Crossing& c = out_.crossings.back();
      if (c.kind != Crossing::Kind::saved) continue;
      results.emplace_back(r);
      const ir::Ref viewed = classes_.viewed(r);
      const auto [first, is_new] = memory.emplace(place(viewed), graph_.node(r.node).name);
      if (!is_new) c.bytes = 0, c.reason = "the same memory as " + first->second;
      if (classes_.result_of(viewed) >= 0) c.bytes = 0, c.reason = "a view of a result: kept anyway";
      out_.saved_bytes += c.bytes;
    }
    out_.forward = b.finish(std::move(results));
  }

  void write_backward() {
    ir::Builder b("backward", ids_);
    for (Crossing& c : out_.crossings) {
      const ir::Node& from = graph_.node(c.value.node);
      ir::Node node;
      node.kind = ir::NodeKind::placeholder;
      node.id = c.here = ids_->next++;
      node.name = from.name;
      node.source = "saved " + from.name;
      node.outputs = {classes_.type(c.value)};
      node.origin = from.origin;
      node.origin.from = {from.id};
      now_[place(c.value)] = b.add(std::move(node));
    }
    for (const ir::Node& n : graph_.nodes())
      if (classes_.is_tangent(n.id)) b.add(n);
    find_late();
    for (ir::NodeId id : again_)
      if (!late_.contains(id)) repeat(graph_.node(id), b);
    for (const ir::Node& n : graph_.nodes()) {
      if (!stays(n.id)) continue;
      ir::each_ref(n, [&](ir::Ref r) { repeat_late(r.node, b); });
      copy(n, b);
    }
    std::vector<ir::Arg> results;
    for (size_t i = classes_.joint().results; i < graph_.results().size(); ++i)
      ir::each_ref(graph_.results()[i], [&](ir::Ref r) { repeat_late(r.node, b); });
    for (size_t i = classes_.joint().results; i < graph_.results().size(); ++i)
      results.push_back(ir::map_refs(graph_.results()[i], [&](ir::Ref r) { return mapped(r); }));
    out_.backward = b.finish(std::move(results));
  }

  // What a checkpoint has not kept is computed again where backward comes to it: the memory of one checkpoint
  // is gone before that of the next is there.
  void find_late() {
    for (ir::NodeId id : again_) {
      bool late = classes_.is_dropped(id);
      ir::each_ref(graph_.node(id), [&](ir::Ref r) { late = late || late_.contains(r.node); });
      if (late) late_.insert(id);
    }
  }
  void repeat_late(ir::NodeId id, ir::Builder& b) {
    if (late_.erase(id) == 0) return;
    const CheckpointDraws* draws = classes_.draws_of(graph_.node(id));
    for (size_t i = 0; draws && draws->nodes[i] != id; ++i) repeat_late(draws->nodes[i], b);
    ir::each_ref(graph_.node(id), [&](ir::Ref r) { repeat_late(r.node, b); });
    if (!draws) return repeat(graph_.node(id), b);
    ir::Ref& state = now_.at(place({draws->state, 0}));  // goes on from draw to draw
    const ir::Ref outside = swap_state(state, graph_.node(id), b);
    repeat(graph_.node(id), b);
    state = swap_state(outside, graph_.node(id), b);
  }

  // The generator gets this state; what it had.
  ir::Ref swap_state(ir::Ref state, const ir::Node& draw, ir::Builder& b) {
    ir::Node node;
    node.op = kSwapGeneratorState;
    node.args = {state};
    node.outputs = {b.node(state.node).type()};
    node.reads_only = node.makes_new = true;
    node.origin = draw.origin;
    node.origin.from = {draw.id};
    return b.add(std::move(node));
  }

  void repeat(const ir::Node& node, ir::Builder& b) {
    ir::Node again = node;
    again.id = ids_->next++;
    again.origin.from = {node.id};
    const ir::NodeId id = again.id;
    copy(std::move(again), b);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      now_[place({node.id, static_cast<int32_t>(i)})] = {id, static_cast<int32_t>(i)};
    if (classes_.is_backward(node.id)) return;
    const bool view = classes_.is_view(node.id), dropped = classes_.is_dropped(node.id);
    out_.crossings.push_back({Crossing::Kind::recomputed,
                              {node.id, 0},
                              view ? 0 : node.type().bytes().hint(),
                              -1,
                              id,
                              view                       ? "a view: no work"
                              : classes_.pinned(node.id) ? "pinned: computed again, whatever it costs"
                              : dropped ? "in torch.utils.checkpoint: not kept, computed again"
                                        : "cheap: a part of the loop that reads it"});
  }

  ir::Ref copy(ir::Node node, ir::Builder& b) {
    auto map = [&](ir::Ref r) { return mapped(r); };
    for (ir::Arg& a : node.args) a = ir::map_refs(a, map);
    for (auto& [name, a] : node.kwargs) a = ir::map_refs(a, map);
    return b.add(std::move(node));
  }
  ir::Arg mapped(ir::Ref r) const {
    auto it = now_.find(place(r));
    return it == now_.end() ? r : it->second;
  }

  const PartitionClasses& classes_;
  const ir::Graph& graph_;
  const std::vector<ir::Ref>& kept_;
  std::shared_ptr<ir::NodeIds> ids_;
  Partition& out_;
  std::vector<ir::Ref> saved_;
  std::vector<ir::NodeId> again_;
  std::set<ir::NodeId> late_;
  std::map<std::pair<size_t, int32_t>, ir::Ref> now_;
};

// Pins of values that backward does not need, so that they are neither kept nor computed again.
void add_unread(const JointGraph& joint, const Pins& pins, Partition& out) {
  for (const auto& [name, pin] : pins) {
    const auto is_it = [&](const Crossing& c) { return joint.graph->node(c.value.node).name == name; };
    if (std::any_of(out.crossings.begin(), out.crossings.end(), is_it)) continue;
    const auto told = [&](const std::string& text) { return text.starts_with(name + " as "); };
    if (std::none_of(out.refused.begin(), out.refused.end(), told))
      out.refused.push_back(pin_text(name, pin) + ": backward does not need it");
  }
}

}  // namespace

const char* crossing_name(Crossing::Kind kind) {
  switch (kind) {
    case Crossing::Kind::input:
      return "input";
    case Crossing::Kind::viewed:
      return "viewed";
    case Crossing::Kind::result:
      return "result";
    case Crossing::Kind::saved:
      return "saved";
    case Crossing::Kind::recomputed:
      return "recomputed";
  }
  return "";
}

size_t Partition::handed_over() const {
  const auto is_handed = [](const Crossing& c) { return c.kind != Crossing::Kind::recomputed; };
  const auto behind = std::partition_point(crossings.begin(), crossings.end(), is_handed);
  return static_cast<size_t>(behind - crossings.begin());
}

Partition partition(const JointGraph& joint, const std::shared_ptr<ir::NodeIds>& ids, const Pins& pins) {
  const PartitionClasses classes(joint, pins);
  Partition out;
  out.refused = classes.refused();
  out.eager_bytes = keep_all(classes).bytes;
  const Kept kept = keep_least(classes);
  PartitionWriter(classes, kept, ids, out).run();
  add_unread(joint, pins, out);
  return out;
}

}  // namespace vitrine::autodiff
