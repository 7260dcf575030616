#include "core/passes/layout/rows_innermost.h"

#include <optional>

#include "core/ops/layout.h"
#include "core/passes/rewrite/rewriter.h"
#include "core/passes/rewrite/storage.h"

namespace vitrine::passes {

namespace {

constexpr int64_t kLeast = int64_t{1} << 16;  // elements: less costs a launch, however it lies

bool lies_across(const TensorType& t) {
  return t.device.is_cuda() && t.numel().hint() >= kLeast && t.sizes.back() > 1 && t.strides.back() > 1 &&
         !t.is_contiguous() && ops::is_dense(t);
}

// One attempt: everything that may begin begins. What cannot follow, and what is not worth it, names all that
// it hangs together with, and the next attempt leaves that as it is.
class RowMover {
 public:
  RowMover(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids,
           const std::unordered_set<NodeId>& stays)
      : graph_(graph), stays_(stays), storages_(*graph), out_(graph, ids, "rows_innermost") {}

  // nullptr: what is in `failed` has to stay.
  GraphPtr run(std::unordered_set<NodeId>& failed) {
    for (const Node& node : graph_->nodes()) {
      if (node.kind == ir::NodeKind::op && !stays_.contains(node.id) && (reads_moved(node) || begins(node)))
        move(node);
      else
        out_.keep(node);
    }
    bool ok = true;
    for (const auto& [node, family] : family_) {
      const Family& of = families_[find(family)];
      if (!of.fails && of.worth > 0) continue;
      failed.insert(node);
      ok = false;
    }
    return ok ? out_.finish() : nullptr;
  }

 private:
  // Values that hang together: moved ones that an operator reads together.
  struct Family {
    size_t parent;
    bool fails = false;
    int64_t worth = 0;  // bytes that are read or written along their rows now
  };
  size_t find(size_t f) const {
    while (families_[f].parent != f) f = families_[f].parent;
    return f;
  }
  size_t join(size_t a, size_t b) {
    a = find(a), b = find(b);
    if (a == b) return a;
    families_[b].parent = a;
    families_[a].fails |= families_[b].fails;
    families_[a].worth += families_[b].worth;
    return a;
  }

  bool reads_moved(const Node& node) const {
    bool any = false;
    ir::each_ref(node, [&](Ref r) { any |= family_.contains(r.node); });
    return any;
  }
  static bool is_element_wise(const Node& node) {
    const ops::OpRow* row = ops::find(node.op);
    return row && row->lower == ops::Lower::pointwise && node.outputs.size() == 1;
  }
  // Element by element of something that lies across its rows, among others perhaps that do not.
  bool begins(const Node& node) const {
    return is_element_wise(node) && lies_across(node.type()) && may_move(node);
  }
  bool may_move(const Node& node) const {
    return !ops::writes(node) && !ops::is_random(node) && !storages_.written(node.id) &&
           !storages_.escapes(node.id);
  }

  // The argument for the moved node: what still lies across is read in rows, which is no pass of its own but
  // a part of the kernel that reads it.
  Arg in_rows(const Node& node, const Arg& a) {
    return ir::map_refs(a, [&](Ref r) -> Arg {
      const Arg value = out_.mapped(Arg(r));
      const TensorType& type = out_.type(value.as<Ref>());
      if (!ir::same(type.sizes, node.type().sizes) || !lies_across(type)) return value;
      return Arg(out_.emit(node, "aten.clone.default", {value},
                           {{"memory_format", Arg(ir::Word{"torch.contiguous_format"})}}));
    });
  }

  void move(const Node& node) {
    size_t family = families_.size();
    families_.push_back({family});
    ir::each_ref(node, [&](Ref r) {
      if (auto known = family_.find(r.node); known != family_.end()) family = join(known->second, family);
    });
    const bool each = is_element_wise(node);
    std::vector<Arg> args;
    Kwargs kwargs;
    for (const Arg& a : node.args) args.push_back(each ? in_rows(node, a) : out_.mapped(a));
    for (const auto& [key, a] : node.kwargs) kwargs.emplace_back(key, out_.mapped(a));
    const auto types = moved_types(node, args, kwargs);
    if (!types || (*types == node.outputs && !reads_moved(node))) {
      families_[family].fails = true;
      family_.emplace(node.id, family);
      out_.change(node, node.op, std::move(args), std::move(kwargs));
      return;
    }
    if (each) families_[family].worth += saved(node);
    if (*types != node.outputs) family_.emplace(node.id, family);
    out_.change(node, node.op, std::move(args), std::move(kwargs), *types);
  }

  // nullopt: the node cannot follow.
  std::optional<std::vector<TensorType>> moved_types(const Node& node, const std::vector<Arg>& args,
                                                     const Kwargs& kwargs) const {
    const ops::OpRow* row = ops::find(node.op);
    const bool is_view = ops::may_alias(node);
    if (!row || (!is_view && row->lower != ops::Lower::pointwise && row->lower != ops::Lower::reduction &&
                 node.op != "aten.clone.default"))
      return {};
    auto types = out_.types(node.op, args, kwargs);
    if (!types.ok() || types.value().size() != node.outputs.size()) return {};
    if (types.value() == node.outputs) return types.take();
    if (!may_move(node)) return {};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType &now = types.value()[i], &then = node.outputs[i];
      if (!ir::same(now.sizes, then.sizes) || now.dtype != then.dtype) return {};
      if (!now.same(then) && !now.is_contiguous() && !is_view) return {};
    }
    return types.take();
  }

  // Where eager reads both kinds at once, one of them is read and the other written across.
  int64_t saved(const Node& node) const {
    bool across = false, along = false;
    ir::each_ref(node, [&](Ref r) {
      const TensorType& t = out_.old_type(r);
      if (t.sizes != node.type().sizes) return;
      across |= family_.contains(r.node) && lies_across(t);
      along |= t.is_contiguous();
    });
    return across && along ? 2 * node.type().bytes().hint() : 0;
  }

  const GraphPtr& graph_;
  const std::unordered_set<NodeId>& stays_;
  const Storages storages_;
  Rewriter out_;
  std::vector<Family> families_;
  std::unordered_map<NodeId, size_t> family_;  // of old nodes that lie otherwise now, and of those that fail
};

}  // namespace

GraphPtr rows_innermost(const GraphPtr& graph, const std::shared_ptr<ir::NodeIds>& ids) {
  std::unordered_set<NodeId> stays;
  for (;;) {
    std::unordered_set<NodeId> failed;
    if (GraphPtr moved = RowMover(graph, ids, stays).run(failed)) return moved;
    stays.insert(failed.begin(), failed.end());
  }
}

}  // namespace vitrine::passes
