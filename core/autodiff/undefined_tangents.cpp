#include "core/autodiff/undefined_tangents.h"

#include <algorithm>
#include <numeric>

#include "core/base/result.h"
#include "core/ops/layout.h"
#include "core/ops/node.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::autodiff {

namespace {

// a + b of the sum's own size and type, a and b values.
bool is_sum(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != "aten.add.Tensor" || node.args.size() < 2) return false;
  for (const auto& [key, value] : node.kwargs)
    if (key != "alpha" || value != ir::Arg(1)) return false;
  for (size_t i : {0, 1}) {
    if (!node.args[i].is<ir::Ref>()) return false;
    const ir::Ref r = node.args[i].as<ir::Ref>();
    const ir::TensorType& type = graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
    if (type.dtype != node.type().dtype || type.sizes != node.type().sizes) return false;
  }
  return ops::is_dense(node.type()) && node.type().offset == 0;
}

// Its dims from the slowest to the fastest: in this order a dense tensor is contiguous.
std::vector<size_t> dims_by_stride(const ir::TensorType& type) {
  std::vector<size_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return type.strides[a] > type.strides[b]; });
  return order;
}

ir::TensorType permuted(const ir::TensorType& type, const std::vector<size_t>& order) {
  ir::TensorType out = type;
  for (size_t i = 0; i < order.size(); ++i) {
    out.sizes[i] = type.sizes[order[i]];
    out.strides[i] = type.strides[order[i]];
  }
  return out;
}

// Gradients of the parts of one value, put together: eager's backward of split, chunk and unbind takes zeros
// for a part that got none.
bool joins_parts(const ir::Node& node) {
  return node.op == "aten.cat.default" || node.op == "aten.stack.default";
}

// Whether these values come in as gradients only that the node can do without, if others are there.
template <class Is>
bool only_gradients(const ir::Node& node, Is&& is_one_of_them) {
  const std::span<const size_t> optional = ops::optional_gradients(node);
  bool only = !optional.empty();
  for (size_t i = 0; i < node.args.size(); ++i)
    if (std::find(optional.begin(), optional.end(), i) == optional.end())
      ir::each_ref(node.args[i], [&](ir::Ref r) { only = only && !is_one_of_them(r); });
  return only;
}

// Tangents in values, where a memory that is written is one place for all values that share it.
class Behind {
 public:
  Behind(const ir::Graph& graph, const std::vector<ir::NodeId>& tangents) : storages_(graph) {
    for (size_t i = 0; i < tangents.size(); ++i) in_[place(tangents[i])] = {static_cast<int>(i)};
  }

  const std::set<int>& of(ir::NodeId node) { return in_[place(node)]; }
  void add(ir::NodeId node, const std::set<int>& tangents) {
    std::set<int>& all = in_[place(node)];
    if (&all != &tangents) all.insert(tangents.begin(), tangents.end());
  }

 private:
  // A node, or the first of those that share its memory.
  ir::NodeId place(ir::NodeId node) const {
    return storages_.written(node) ? storages_.members(node).front() : node;
  }

  passes::Storages storages_;
  std::unordered_map<ir::NodeId, std::set<int>> in_;
};

class Without {
 public:
  Without(const ir::GraphPtr& from, const std::vector<ir::NodeId>& tangents,
          const std::unordered_set<ir::NodeId>& undefined)
      : from_(*from),
        stems_(tangents_in(*from, tangents)),
        storages_(*from),
        undefined_(undefined),
        b_(from->stage, std::make_shared<ir::NodeIds>()) {
    for (const ir::Node& n : from_.nodes()) b_.ids()->next = std::max(b_.ids()->next, n.id + 1);
  }

  ir::GraphPtr run() {
    for (const ir::Node& n : from_.nodes()) visit(n);
    std::vector<ir::Arg> results;
    for (const ir::Arg& r : from_.results())
      results.push_back(r.is<ir::Ref>() && gone(r.as<ir::Ref>()) ? ir::Arg() : ir::map_refs(r, mapped()));
    return b_.finish(std::move(results));
  }

 private:
  bool gone(ir::Ref r) const { return undefined_.count(r.node) != 0; }
  // A gradient that is there. What stems from no tangent is a number that a gradient was computed with.
  bool is_left(ir::Ref r) const { return !gone(r) && !stems_.at(r.node).empty(); }
  std::function<ir::Arg(ir::Ref)> mapped() const {
    return [this](ir::Ref r) {
      auto it = instead_.find(r.node);
      return ir::Arg(it == instead_.end() ? r : it->second);
    };
  }

  void visit(const ir::Node& n) {
    bool missing = false;
    ir::each_ref(n, [&](ir::Ref r) { missing = missing || gone(r); });
    if (!missing) {
      ir::Node node = n;
      for (ir::Arg& a : node.args) a = ir::map_refs(a, mapped());
      for (auto& [key, a] : node.kwargs) a = ir::map_refs(a, mapped());
      b_.add(std::move(node));
      return;
    }
    if (is_sum(from_, n))
      for (size_t i : {0, 1})
        if (ir::Ref r = n.args[i].as<ir::Ref>(); is_left(r)) {
          instead_.emplace(n.id, copy_as(n, mapped()(r).as<ir::Ref>()));
          return;
        }
    if (joins_parts(n) && take_zeros(n)) return;
    if (take_none(n)) return;
    undefined_.insert(n.id);
    // A memory that would have been filled from it is no gradient.
    if (ops::writes(n))
      for (ir::NodeId sharing : storages_.members(n.id)) undefined_.insert(sharing);
  }

  // A copy of `term` that lies as the sum: what reads the sum was recorded for its strides.
  ir::Ref copy_as(const ir::Node& sum, ir::Ref term) {
    ir::Origin origin = sum.origin;
    origin.from = {sum.id};
    const ir::Kwargs contiguous = {{"memory_format", ir::Word{"torch.contiguous_format"}}};
    if (sum.type().is_contiguous())
      return b_.op("aten.clone.default", {term}, {sum.type()}, origin, contiguous);
    const std::vector<size_t> order = dims_by_stride(sum.type());
    std::vector<size_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
    const ir::TensorType& type = b_.node(term.node).outputs.at(static_cast<size_t>(term.output));
    const ir::Ref there = permute(term, permuted(type, order), order, origin);
    const ir::Ref copy =
        b_.op("aten.clone.default", {there}, {permuted(sum.type(), order)}, origin, contiguous);
    return permute(copy, sum.type(), back, origin);
  }

  ir::Ref permute(ir::Ref x, const ir::TensorType& to, const std::vector<size_t>& order,
                  const ir::Origin& origin) {
    return b_.op("aten.permute.default", {x, ir::Arg::ints(ir::Dims(order.begin(), order.end()))}, {to},
                 origin);
  }

  // false: none of its parts is there.
  bool take_zeros(ir::Node node) {
    bool any = false;
    ir::each_ref(node, [&](ir::Ref r) { any = any || is_left(r); });
    if (!any) return false;
    for (ir::Arg& a : node.args)
      a = ir::map_refs(a, [&](ir::Ref r) {
        if (!gone(r)) return mapped()(r);
        const ir::TensorType& part = from_.node(r.node).outputs.at(static_cast<size_t>(r.output));
        ir::TensorType type = ir::TensorType::contiguous(part.dtype, part.sizes);
        type.device = part.device;
        ir::Origin origin = node.origin;
        origin.from = {r.node};
        return ir::Arg(
            b_.op("aten.zeros.default", {ir::Arg::ints(type.sizes)}, {type}, std::move(origin),
                  {{"dtype", ir::Arg(type.dtype)}, {"device", ir::Arg(ir::Word{type.device.text()})}}));
      });
    b_.add(std::move(node));
    return true;
  }

  // false: it cannot do without what is missing.
  bool take_none(ir::Node node) {
    if (!only_gradients(node, [this](ir::Ref r) { return gone(r); })) return false;
    bool any = false;
    for (size_t i : ops::optional_gradients(node)) {
      ir::Arg& gradient = node.args.at(i);
      if (gradient.is<ir::Ref>() && gone(gradient.as<ir::Ref>())) gradient = ir::Arg();
      any = any || gradient.is<ir::Ref>();
    }
    if (!any) return false;
    for (ir::Arg& a : node.args) a = ir::map_refs(a, mapped());
    b_.add(std::move(node));
    return true;
  }

  const ir::Graph& from_;
  const std::unordered_map<ir::NodeId, std::set<int>> stems_;
  passes::Storages storages_;
  std::unordered_set<ir::NodeId> undefined_;
  std::unordered_map<ir::NodeId, ir::Ref> instead_;  // a sum of which one term is left
  ir::Builder b_;
};

}  // namespace

std::unordered_map<ir::NodeId, std::set<int>> tangents_in(const ir::Graph& graph,
                                                          const std::vector<ir::NodeId>& tangents) {
  Behind behind(graph, tangents);
  for (const ir::Node& n : graph.nodes())
    ir::each_ref(n, [&](ir::Ref r) { behind.add(n.id, behind.of(r.node)); });
  std::unordered_map<ir::NodeId, std::set<int>> out;
  for (const ir::Node& n : graph.nodes()) out[n.id] = behind.of(n.id);
  return out;
}

std::string why_inseparable(const ir::Graph& backward, const std::vector<ir::NodeId>& tangents) {
  Behind behind(backward, tangents);
  for (const ir::Node& n : backward.nodes()) {
    std::set<int> all;
    bool differ = false;
    ir::each_ref(n, [&](ir::Ref r) {
      const std::set<int>& from = behind.of(r.node);
      if (from.empty()) return;
      differ = differ || (!all.empty() && all != from);
      all.insert(from.begin(), from.end());
    });
    const auto reached = [&](ir::Ref r) { return !behind.of(r.node).empty(); };
    const bool separable = is_sum(backward, n) || joins_parts(n) || only_gradients(n, reached);
    if (differ && !separable) return "gradients of several results meet in " + n.op;
    behind.add(n.id, all);
  }
  return "";
}

std::vector<std::vector<int>> readers_of(const ir::Graph& backward, const std::vector<ir::NodeId>& tangents) {
  const std::unordered_map<ir::NodeId, std::set<int>> behind = tangents_in(backward, tangents);
  std::unordered_map<ir::NodeId, std::set<int>> asking;
  // What no tangent reaches runs for its readers; what is done to memory or to a generator, each time, and so
  // does a gradient that depends on none: zeros.
  std::set<int> each;
  for (size_t i = 0; i < tangents.size(); ++i) each.insert(static_cast<int>(i));
  for (const ir::Arg& result : backward.results())
    ir::each_ref(result, [&](ir::Ref r) {
      if (behind.at(r.node).empty()) asking[r.node] = each;
    });
  for (auto n = backward.nodes().rbegin(); n != backward.nodes().rend(); ++n) {
    const bool acts = ops::writes(*n) || ops::is_random(*n);
    const std::set<int> by = !behind.at(n->id).empty() ? behind.at(n->id) : acts ? each : asking[n->id];
    ir::each_ref(*n, [&](ir::Ref r) { asking[r.node].insert(by.begin(), by.end()); });
  }
  std::vector<std::vector<int>> out;
  for (const ir::Node* input : backward.inputs())
    if (std::find(tangents.begin(), tangents.end(), input->id) == tangents.end())
      out.emplace_back(asking[input->id].begin(), asking[input->id].end());
  return out;
}

// What only led to the gradients that are gone goes with them: it may read memory that an earlier pass has
// let go (readers_of()).
static ir::GraphPtr with_needed(const ir::Graph& graph) {
  std::unordered_set<ir::NodeId> needed;
  const auto use = [&](ir::Ref r) { needed.insert(r.node); };
  for (const ir::Arg& r : graph.results()) ir::each_ref(r, use);
  for (auto n = graph.nodes().rbegin(); n != graph.nodes().rend(); ++n) {
    if (n->kind != ir::NodeKind::op || ops::writes(*n) || ops::is_random(*n)) needed.insert(n->id);
    if (needed.contains(n->id)) ir::each_ref(*n, use);
  }
  ir::Builder b(graph.stage, std::make_shared<ir::NodeIds>());
  for (const ir::Node& n : graph.nodes())
    if (needed.contains(n.id)) b.add(n);
  return b.finish(graph.results());
}

ir::GraphPtr without_tangents(const ir::GraphPtr& backward, const std::vector<ir::NodeId>& tangents,
                              const std::unordered_set<ir::NodeId>& undefined) {
  return with_needed(*Without(backward, tangents, undefined).run());
}

}  // namespace vitrine::autodiff
