#include "core/autodiff/keep.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/autodiff/min_cut.h"

namespace vitrine::autodiff {

namespace {

using KeptKey = std::pair<size_t, int32_t>;  // position, output

constexpr double kFarther = 1.1;  // how much dearer a value is for each operator between it and backward
constexpr int kFarthest = 100;
// What eager keeps may be exceeded by this part of it: two numbers a row, say, where the row itself need not
// be written to memory.
constexpr int64_t kSlack = 64;

class KeepChooser {
 public:
  explicit KeepChooser(const PartitionClasses& classes) : classes_(classes) {}

  Kept all() {
    for (const ir::Node& n : graph().nodes())
      if (classes_.is_backward(n.id)) ir::each_ref(n, [&](ir::Ref r) { want(r); });
    gradients([&](ir::Ref r) { want(r); });
    return finish(wanted_);
  }

  Kept least() {
    const Kept eager = all();
    free_.insert(wanted_.begin(), wanted_.end());
    for (const KeptKey& k : wanted_) free_.insert(key(base_of(ref(k))));
    for (const ir::Node& n : graph().nodes())
      if (classes_.is_dropped(n.id))
        ir::each_ref(n, [&](ir::Ref r) { free_.insert(key(r)), free_.insert(key(base_of(r))); });
    find_needed();
    find_distances();
    build();
    const std::vector<bool> behind = cut_.sink_side(source_, sink_);
    std::set<KeptKey> values;
    for (const auto& [key, vertex] : vertices_)
      if (!behind[static_cast<size_t>(vertex)] && behind[static_cast<size_t>(vertex) + 1]) values.insert(key);
    Kept found = finish(values);
    if (classes_.has_checkpoints() || classes_.has_pins()) return found;
    return found.bytes <= eager.bytes + eager.bytes / kSlack ? found : eager;
  }

 private:
  const ir::Graph& graph() const { return classes_.graph(); }
  KeptKey key(ir::Ref r) const { return {graph().position(r.node), r.output}; }
  ir::Ref ref(const KeptKey& k) const { return {graph().nodes()[k.first].id, k.second}; }
  // The result of a checkpoint may be written to: eager computes it again.
  bool is_free(const KeptKey& k) const {
    const ir::NodeId node = ref(k).node;
    const bool is_result = classes_.result_of(ref(k)) >= 0 && !classes_.is_dropped(node);
    return free_.contains(k) && (classes_.is_leading(node) || is_result);
  }
  // Writing to a result is an error when eager keeps a view of it, too.
  ir::Ref base_of(ir::Ref r) const { return classes_.viewed(r); }
  template <class F>
  void gradients(F&& f) const {
    for (size_t i = classes_.joint().results; i < graph().results().size(); ++i)
      ir::each_ref(graph().results()[i], f);
  }

  // A value of the forward part that backward reads: a view of an input stands for the input.
  void want(ir::Ref r) {
    if (classes_.is_leading(r.node)) {
      wanted_.insert(key(r));
    } else if (classes_.is_forward(r.node)) {
      if (!classes_.is_view_of_input(r))
        wanted_.insert(key(r));
      else
        ir::each_ref(graph().node(r.node), [&](ir::Ref base) { want(base); });
    }
  }

  // A view keeps all of the memory that it is of.
  Kept finish(const std::set<KeptKey>& values) const {
    Kept out;
    std::set<KeptKey> memory;
    for (const KeptKey& k : values) {
      out.values.push_back(ref(k));
      const ir::Ref base = base_of(ref(k));
      if (classes_.is_leading(base.node) || classes_.result_of(base) >= 0 || classes_.result_of(ref(k)) >= 0)
        continue;
      if (memory.insert(key(base)).second) out.bytes += classes_.type(base).bytes().hint();
    }
    return out;
  }

  bool may_repeat(ir::NodeId n) const {
    return classes_.is_cheap(n) &&
           (classes_.is_forward(n) || (classes_.is_backward(n) && !classes_.is_bound(n)));
  }

  // What a bound node reads, views looked through, and whether that node has its operands in memory.
  void need(ir::Ref r, bool in_memory) {
    if (classes_.is_bound(r.node) || classes_.is_tangent(r.node)) return;
    auto [it, added] = needed_.try_emplace(key(r), in_memory);
    it->second = it->second || in_memory;
    if (classes_.is_view(r.node) && may_repeat(r.node))
      ir::each_ref(graph().node(r.node), [&](ir::Ref base) { need(base, in_memory); });
  }
  void find_needed() {
    for (const ir::Node& n : graph().nodes())
      if (classes_.is_bound(n.id)) ir::each_ref(n, [&](ir::Ref r) { need(r, !classes_.is_fusible(n.id)); });
    gradients([&](ir::Ref r) { need(r, true); });
  }

  // Operators between a node and the first bound one that follows from it.
  void find_distances() {
    distance_.assign(graph().nodes().size(), kFarthest);
    for (size_t i = graph().nodes().size(); i-- > 0;) {
      const ir::NodeId id = graph().nodes()[i].id;
      for (ir::NodeId user : classes_.users(id)) {
        const size_t u = graph().position(user);
        distance_[i] = std::min(distance_[i], classes_.is_bound(user) ? 0 : distance_[u] + 1);
      }
    }
  }

  // Operators of the forward part that read a value, by whatever view of it.
  std::set<ir::NodeId> readers_of(ir::NodeId n) const {
    std::set<ir::NodeId> out;
    for (ir::NodeId u : classes_.users(n)) {
      if (!classes_.is_forward(u)) continue;
      if (classes_.is_view(u))
        out.merge(readers_of(u));
      else
        out.insert(u);
    }
    return out;
  }

  bool is_in_memory(ir::NodeId n) const {
    if (!classes_.is_cheap(n)) return true;
    const std::set<ir::NodeId> readers = readers_of(n);
    return std::any_of(readers.begin(), readers.end(),
                       [&](ir::NodeId u) { return !classes_.is_fusible(u); }) ||
           waits(n, readers);
  }

  // Whether one that reads it needs an operator with a kernel of its own that needs it, too: what a residual
  // connection goes around.
  bool waits(ir::NodeId n, const std::set<ir::NodeId>& readers) const {
    size_t last = 0;
    for (ir::NodeId u : readers) last = std::max(last, graph().position(u));
    if (readers.size() < 2) return false;
    std::set<std::pair<ir::NodeId, bool>> seen;  // and whether behind such an operator
    std::vector<std::pair<ir::NodeId, bool>> open = {{n, false}};
    while (!open.empty()) {
      const auto [from, behind] = open.back();
      open.pop_back();
      for (ir::NodeId u : classes_.users(from)) {
        if (!classes_.is_forward(u) || graph().position(u) > last) continue;
        if (behind && readers.contains(u)) return true;
        const std::pair<ir::NodeId, bool> next{u, behind || !classes_.is_fusible(u)};
        if (seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }

  bool is_pinned_as_saved(ir::NodeId n) const { return classes_.pinned(n) && !classes_.is_dropped(n); }

  // What keeping a value costs: its bytes, twice for one that is written to memory only to be kept.
  int64_t cost(const KeptKey& k) const {
    const ir::Ref r = ref(k);
    if (is_free(k) || is_pinned_as_saved(r.node)) return 0;
    if (classes_.is_leading(r.node) || classes_.result_of(r) >= 0 || classes_.is_dropped(r.node))
      return MinCut::kInfinite;
    if (classes_.is_view(r.node) && may_repeat(r.node)) return MinCut::kInfinite;
    double bytes = static_cast<double>(classes_.type(r).bytes().hint() + 1) * (is_in_memory(r.node) ? 1 : 2);
    for (int i = 0; i < distance_[k.first]; ++i) bytes *= kFarther;
    return static_cast<int64_t>(std::min(bytes, static_cast<double>(MinCut::kInfinite / 1024)));
  }

  // An operator of the program that reads an input or a result, which may hold other values when backward
  // runs: eager's gradients are of those that were there, or are an error where they are read.
  bool reads_outside(const ir::Node& node) const {
    bool reads = false;
    const auto look = [&](ir::Ref r) {
      const ir::Ref memory = classes_.viewed(r);
      reads = reads || classes_.is_leading(memory.node) || classes_.result_of(memory) >= 0 ||
              classes_.result_of(r) >= 0;
    };
    if (classes_.is_forward(node.id) && !classes_.is_view(node.id)) ir::each_ref(node, look);
    return reads;
  }

  // The vertex that takes a value in; the one behind it gives it out.
  int vertex(const KeptKey& k) {
    auto [it, added] = vertices_.try_emplace(k, 0);
    if (!added) return it->second;
    const int in = it->second = cut_.add();
    const int out = cut_.add();
    cut_.edge(in, out, cost(k));
    const ir::Node& node = graph().nodes()[k.first];
    auto need_of = needed_.find(k);
    const bool in_memory = need_of != needed_.end() && need_of->second && !classes_.is_view(node.id);
    const bool repeated = classes_.is_dropped(node.id) ||
                          (may_repeat(node.id) && !in_memory && !reads_outside(node) &&
                           !classes_.leaves_checkpoint(node.id) && !is_pinned_as_saved(node.id));
    if (!repeated) cut_.edge(source_, in, MinCut::kInfinite);
    if (repeated)
      ir::each_ref(node, [&](ir::Ref r) { cut_.edge(vertex(key(r)) + 1, in, MinCut::kInfinite); });
    return in;
  }

  void build() {
    source_ = cut_.add();
    sink_ = cut_.add();
    for (const auto& [k, in_memory] : needed_) cut_.edge(vertex(k) + 1, sink_, MinCut::kInfinite);
  }

  const PartitionClasses& classes_;
  MinCut cut_;
  int source_ = 0, sink_ = 0;
  std::set<KeptKey> wanted_, free_;
  std::map<KeptKey, bool> needed_;
  std::map<KeptKey, int> vertices_;
  std::vector<int> distance_;
};

}  // namespace

Kept keep_all(const PartitionClasses& classes) {
  return KeepChooser(classes).all();
}

Kept keep_least(const PartitionClasses& classes) {
  return KeepChooser(classes).least();
}

}  // namespace vitrine::autodiff
