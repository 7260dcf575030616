#include <algorithm>

#include "core/fusion/loops.h"

namespace vitrine::fusion {

std::string nest_text(const ir::Dims& dims, const char* separator) {
  return dims.empty() ? "1" : ir::dims_text(dims, separator);
}

namespace {

std::string value_name(const LoopProgram& program, ir::Ref ref) {
  std::string name = program.graph->node(ref.node).name;
  return ref.output > 0 ? name + "." + std::to_string(ref.output) : name;
}

// "mm_2[3072,1]+64": strides, then offset.
// A random number, "draw[768,1] of 270336 threads by 4 from 8". Read by an index, "x[0,1]+$1*768"; in a part
// of the nest, "x[1] if 4 <= [1]"; no memory, "place[1]".
std::string access_text(const LoopProgram& program, const Access& a) {
  auto list = [](const ir::Dims& strides) { return "[" + ir::dims_text(strides) + "]"; };
  std::string out = (a.in_memory() ? value_name(program, a.root)
                     : a.draw      ? "draw"
                                   : "place") +
                    list(a.strides);
  if (!a.offset.same(0)) {
    const std::string offset = ir::text(a.offset);
    out += (offset[0] == '-' ? "" : "+") + offset;
  }
  if (a.draw)
    out += " of " + std::to_string(a.draw->threads) + " threads by " + std::to_string(a.draw->together) +
           " from " + std::to_string(a.draw->from);
  for (const Gathered& p : a.gathered)
    out += "+$" + std::to_string(p.value) + (p.stride.same(1) ? "" : "*" + ir::text(p.stride));
  for (size_t i = 0; i < a.within.size(); ++i) {
    const Range& r = a.within[i];
    out += (i ? " and " : " if ") + (r.bounded_below() ? ir::text(r.low) + " <= " : std::string()) +
           list(r.strides) + (r.bounded_above() ? " < " + ir::text(r.high) : "");
  }
  return out;
}

// "[768]" of the last dims; of others with their positions: "[65536] at 0".
std::string reduced_text(const Loop& loop) {
  ir::Dims sizes;
  std::string at;
  bool last = true;
  for (size_t d = 0; d < loop.dims.size(); ++d) {
    if (!loop.over[d]) {
      last = last && sizes.empty();
      continue;
    }
    sizes.push_back(loop.dims[d]);
    at += (at.empty() ? "" : ",") + std::to_string(d);
  }
  return "[" + nest_text(sizes) + "]" + (last ? "" : " at " + at);
}

constexpr const char* kReduce[] = {"", "sum ", "product ", "max ", "min "};
constexpr const char* kKinds[] = {"pointwise", "reduction", "view", "library", "opaque", "inlined"};

}  // namespace

std::string loop_text(const LoopProgram& program, const Loop& loop) {
  std::string name = program.graph->node(loop.node).name;
  std::string out = name + ": " + kKinds[static_cast<size_t>(loop.kind)];
  if (loop.body.empty()) return loop.why.empty() ? out : out + " (" + loop.why + ")";
  out += " for [" + nest_text(loop.dims) + "]";
  if (!loop.over.empty()) out += " over " + reduced_text(loop);
  for (size_t i = 0; i < loop.body.size(); ++i) {
    const Statement& s = loop.body[i];
    out += "; $" + std::to_string(loop.operands.size() + i) + ":" + std::string(ir::dtype_name(s.dtype)) +
           " = " + kReduce[static_cast<size_t>(s.reduce)] + to_text(s.expr);
    if (s.output >= 0) out += " -> " + access_text(program, loop.stores[static_cast<size_t>(s.output)]);
  }
  for (size_t i = 0; i < loop.operands.size(); ++i)
    out += (i ? ", $" : " where $") + std::to_string(i) + " = " + access_text(program, loop.operands[i].at);
  return out;
}

std::string loops_text(const LoopProgram& program) {
  std::string out;
  for (const Loop& l : program.loops) out += loop_text(program, l) + "\n";
  return out;
}

ir::GraphPtr loops_graph(const LoopProgram& program, const std::string& stage) {
  ir::Builder builder(stage, std::make_shared<ir::NodeIds>());
  std::function<ir::Arg(ir::Ref)> to_root = [&](ir::Ref r) { return ir::Arg(program.placement(r).root); };
  for (const ir::Node& node : program.graph->nodes()) {
    ir::Node copy = node;
    if (node.kind == ir::NodeKind::op) {
      const Loop& loop = program.loops[program.loop_of.at(node.id)];
      if (loop.kind == Loop::Kind::view) continue;
      for (ir::Arg& a : copy.args) a = ir::map_refs(a, to_root);
      for (auto& [key, a] : copy.kwargs) a = ir::map_refs(a, to_root);
      copy.kwargs.emplace_back("loop", ir::Arg(loop_text(program, loop)));
      copy.origin.from = {node.id};
    }
    builder.keep(copy);
  }
  std::vector<ir::Arg> results;
  for (const ir::Arg& r : program.graph->results()) results.push_back(ir::map_refs(r, to_root));
  return builder.finish(std::move(results));
}

}  // namespace vitrine::fusion
