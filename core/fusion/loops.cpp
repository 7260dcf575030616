#include "core/fusion/loops.h"

#include <algorithm>
#include <optional>

#include "core/fusion/bodies.h"
#include "core/fusion/classify.h"
#include "core/fusion/functions.h"
#include "core/fusion/nests.h"
#include "core/fusion/reductions.h"
#include "core/fusion/rng.h"
#include "core/fusion/scans.h"
#include "core/fusion/scatters.h"
#include "core/fusion/types.h"

namespace vitrine::fusion {

using ir::Dims;
using ir::DType;
using ir::Node;
using ir::Ref;
using ir::TensorType;

const Placement& LoopProgram::placement(Ref value) const {
  return placements.at(graph->position(value.node)).at(static_cast<size_t>(value.output));
}

Readers::Readers(const LoopProgram& program) {
  for (size_t l = 0; l < program.loops.size(); ++l)
    each_read(program, program.loops[l], [&](Ref root) {
      std::vector<size_t>& readers = loops_[root];
      if (readers.empty() || readers.back() != l) readers.push_back(l);
    });
  for (const ir::Arg& r : program.graph->results())
    ir::each_ref(r, [&](Ref ref) { results_.insert(program.placement(ref).root); });
}

const std::vector<size_t>& Readers::of(Ref root) const {
  static const std::vector<size_t> kNobody;
  const auto readers = loops_.find(root);
  return readers == loops_.end() ? kNobody : readers->second;
}

namespace {

const TensorType& type_of(const ir::Graph& graph, Ref ref) {
  return graph.node(ref.node).outputs.at(static_cast<size_t>(ref.output));
}

class LoopBuilder {
 public:
  LoopBuilder(const ir::GraphPtr& graph, bool generate, const std::set<ir::NodeId>& by_pytorch,
              const RngLayout& draws, bool ordered)
      : generate_(generate), by_pytorch_(by_pytorch), draws_(draws), ordered_(ordered) {
    out_.graph = graph;
  }

  LoopProgram build() {
    for (const Node& node : out_.graph->nodes()) {
      place(node);
      if (node.kind != ir::NodeKind::op) continue;
      Loop loop = loop_for(node);
      loop.node = node.id;
      loop.epoch = epoch_;
      if (loop.kind == Loop::Kind::opaque && ops::is_random(node)) out_.drawn.push_back(0);
      if (loop.barrier) ++epoch_;
      out_.loop_of[node.id] = out_.loops.size();
      out_.loops.push_back(std::move(loop));
    }
    return std::move(out_);
  }

 private:
  // A view shares its argument's root; anything else is its own.
  void place(const Node& node) {
    std::vector<Placement> places;
    const Placement* base = nullptr;
    if (node.kind == ir::NodeKind::op && is_view(node) && !node.args.empty() && node.args[0].is<Ref>())
      base = &out_.placement(node.args[0].as<Ref>());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType& type = node.outputs[i];
      if (!base)
        places.push_back({Ref{node.id, static_cast<int32_t>(i)}, type, 0});
      else
        places.push_back({base->root, type, type.offset - type_of(*out_.graph, base->root).offset});
    }
    out_.placements.push_back(std::move(places));
  }

  Loop loop_for(const Node& node) {
    Loop loop;
    loop.barrier = ops::writes(node);
    if (is_view(node)) {
      loop.kind = Loop::Kind::view;
      return loop;
    }
    loop.kind = is_library(node) ? Loop::Kind::library : Loop::Kind::opaque;
    if (loop.kind == Loop::Kind::library) return loop;
    if (!generate_)
      loop.why = "generation is switched off";
    else if (by_pytorch_.contains(node.id))
      loop.why = "its kernel could not be compiled";
    else if (loop.barrier)
      loop.why = "it writes to its argument";
    else if (ops::is_random(node))
      random(node, loop);
    else if (std::optional<Body> body = pointwise_body(*out_.graph, node))
      pointwise(node, *body, loop);
    else if (is_reduction(node))
      reduction(node, loop);
    else if (is_moving(node))
      moving(node, loop);
    else if (is_scattering(node))
      scattering(node, loop);
    else if (is_scanning(node))
      scanning(node, loop);
    else
      loop.why = "PyTorch's own kernel is used";
    return loop;
  }

  // The place of `value` for loops over `sizes` (numpy's broadcasting: aligned at the last dim).
  Access access(Ref value, const Dims& sizes) const {
    const Placement& p = out_.placement(value);
    Access a{p.root, {}, p.offset};
    size_t pad = sizes.size() - p.type.sizes.size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) continue;
      bool broadcast = i < pad || p.type.sizes[i - pad] == 1;
      a.strides.push_back(broadcast ? ir::Sym(0) : p.type.strides[i - pad]);
    }
    return a;
  }
  static Dims without_ones(const Dims& sizes) {
    Dims out;
    for (const ir::Sym& s : sizes)
      if (s != 1) out.push_back(s);
    return out;
  }
  bool broadcastable(Ref value, const Dims& sizes) const {
    const Dims& s = out_.placement(value).type.sizes;
    if (s.size() > sizes.size()) return false;
    for (size_t i = 0; i < s.size(); ++i) {
      const ir::Sym& to = sizes[sizes.size() - s.size() + i];
      if (s[i] != to && s[i] != 1) return false;
    }
    return true;
  }
  // numbers: whether one number in the host's memory goes along with a GPU's tensors, as it does in eager.
  bool typed(const Node& node, Loop& loop, bool numbers = false) const {
    for (const TensorType& t : node.outputs)
      if (!has_lanes(t.dtype)) loop.why = "elements of this type are not generated";
    ir::each_ref(node, [&](Ref r) {
      if (!has_lanes(type_of(*out_.graph, r).dtype)) loop.why = "elements of this type are not generated";
    });
    ir::each_ref(node, [&](Ref r) {
      const TensorType& t = type_of(*out_.graph, r);
      const bool number = numbers && t.device.is_cpu() && t.sizes.empty();
      if (!node.outputs.empty() && t.device != node.type().device && !number)
        loop.why = "its tensors are on different devices";
    });
    if (node.outputs.empty())
      loop.why = "it returns no tensor";
    else if (node.type().numel() == 0)
      loop.why = "it has no elements";
    return loop.why.empty();
  }

  void pointwise(const Node& node, const Body& body, Loop& loop) {
    if (!typed(node, loop, true) || !computable(*body.expr, body.compute, loop.why)) return;
    const TensorType& out = node.type();
    for (Ref value : body.operands)
      if (!broadcastable(value, out.sizes)) loop.why = "its operands do not broadcast to its output";
    if (!loop.why.empty()) return;
    for (Ref value : body.operands)
      loop.operands.push_back({value, out_.placement(value).type.dtype, access(value, out.sizes)});
    loop.kind = Loop::Kind::pointwise;
    loop.dims = without_ones(out.sizes);
    loop.stores = {access(Ref{node.id, 0}, out.sizes)};
    loop.body = {{body.expr, Statement::Reduce::none, false, out.dtype, body.compute, 0}};
  }

  void moving(const Node& node, Loop& loop) {
    if (!typed(node, loop)) return;
    std::optional<Nest> made = moving_nest(out_, node, loop.why);
    if (!made || !computable(*made->expr, made->compute, loop.why)) return;
    Nest& nest = *made;
    Access store{Ref{node.id, 0}, nest.store.value_or(node.type().strides)};
    auto drop_ones = [&](Dims& strides) {
      Dims kept;
      for (size_t i = 0; i < strides.size(); ++i)
        if (nest.dims[i] != 1) kept.push_back(strides[i]);
      strides = std::move(kept);
    };
    for (Operand& o : nest.operands) each_strides(o.at, drop_ones);
    each_strides(store, drop_ones);
    loop.kind = Loop::Kind::pointwise;
    loop.dims = without_ones(nest.dims);
    loop.operands = std::move(nest.operands);
    loop.stores = {std::move(store)};
    loop.body = {{nest.expr, Statement::Reduce::none, false, node.type().dtype, nest.compute, 0}};
  }

  void scattering(const Node& node, Loop& loop) {
    if (!typed(node, loop)) return;
    if (ordered_) {
      loop.why = "deterministic algorithms are asked for";
      return;
    }
    std::optional<Loop> made = scattering_loop(out_, node, loop.why);
    if (made && computable(*made->body[0].expr, made->body[0].compute, loop.why)) loop = std::move(*made);
  }

  void scanning(const Node& node, Loop& loop) {
    if (!typed(node, loop)) return;
    std::optional<Loop> made = scanning_loop(out_, node, loop.why);
    if (made && computable(*made->body[0].expr, made->body[0].compute, loop.why)) loop = std::move(*made);
  }

  void random(const Node& node, Loop& loop) {
    if (!typed(node, loop)) return;
    std::optional<Drawing> made = drawing(out_, node, draws_, loop.why);
    if (!made) return;
    const Dims& sizes = node.type().sizes;
    auto drop_ones = [&](Dims& strides) {
      Dims kept;
      for (size_t i = 0; i < strides.size(); ++i)
        if (sizes[i] != 1) kept.push_back(strides[i]);
      strides = std::move(kept);
    };
    for (Operand& o : made->operands) each_strides(o.at, drop_ones);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      loop.stores.push_back(access(Ref{node.id, static_cast<int32_t>(i)}, sizes));
    loop.kind = Loop::Kind::pointwise;
    loop.dims = without_ones(sizes);
    loop.operands = std::move(made->operands);
    loop.body = std::move(made->body);
    out_.drawn.back() += made->advance;
    out_.draws_on = node.type().device.index;
  }

  void reduction(const Node& node, Loop& loop) {
    if (!typed(node, loop)) return;
    if (!node.args[0].is<Ref>()) return;
    const Placement& in = out_.placement(node.args[0].as<Ref>());
    std::optional<Reduction> r = reduction_of(node, in.type, loop.why);
    if (!r) return;
    const Dims& sizes = in.type.sizes;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] != 1) loop.over.push_back(r->over[i]);
    loop.kind = Loop::Kind::reduction;
    loop.dims = without_ones(sizes);
    loop.operands = {{node.args[0].as<Ref>(), in.type.dtype, access(node.args[0].as<Ref>(), sizes)}};
    loop.body = std::move(r->body);
    for (const TensorType& t : node.outputs) loop.stores.push_back(reduced_store(node, t, loop));
  }
  // A reduction's output: strides of its dims without those of 1, and 0 for the reduced ones.
  Access reduced_store(const Node& node, const TensorType& type, const Loop& loop) const {
    Dims kept;
    for (size_t i = 0; i < type.sizes.size(); ++i)
      if (type.sizes[i] != 1) kept.push_back(type.strides[i]);
    Access a{Ref{node.id, static_cast<int32_t>(loop.stores.size())}, {}, 0};
    size_t next = 0;
    for (size_t d = 0; d < loop.dims.size(); ++d) {
      VITRINE_CHECK(loop.over[d] || next < kept.size(), node.name + ": its output is not what is kept");
      a.strides.push_back(loop.over[d] ? ir::Sym(0) : kept[next++]);
    }
    VITRINE_CHECK(next == kept.size(), node.name + ": its output is not what is kept");
    return a;
  }

  LoopProgram out_;
  bool generate_;
  const std::set<ir::NodeId>& by_pytorch_;
  const RngLayout& draws_;
  bool ordered_;
  int epoch_ = 0;
};

}  // namespace

LoopProgram build_loops(const ir::GraphPtr& graph, bool generate, const std::set<ir::NodeId>& by_pytorch,
                        const RngLayout& draws, bool ordered) {
  return LoopBuilder(graph, generate, by_pytorch, draws, ordered).build();
}

}  // namespace vitrine::fusion
