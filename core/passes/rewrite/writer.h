// What a rule writes a node out with: its arguments, operators by short names, and its outputs as they must
// be.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ops/layout.h"
#include "core/passes/rewrite/rewriter.h"

namespace vitrine::passes {

using ir::Dims;
using ir::DType;

// One node being written out: its bound arguments, and operators by short names. A rule returns a value for
// each output, or nothing if it does not cover the node, which then stays as it is.
using OutputValues = std::optional<std::vector<Arg>>;

class NodeWriter {
 public:
  // used: the values that the old graph's results and the nodes that stay read.
  NodeWriter(Rewriter& out, const Node& node, const std::vector<Arg>& args, const std::set<Ref>& used)
      : node(node), out_(out), args_(args), used_(used), low_(is_low(node)) {}

  const Node& node;
  const Arg& arg(size_t i) const { return args_[i]; }
  bool none(size_t i) const { return args_[i].is_none(); }
  Ref value(size_t i) const { return out_.mapped(args_[i]).as<Ref>(); }
  // An argument in the type in which the rule computes.
  Ref wide(size_t i) {
    Ref v = value(i);
    return low_ && is_low_type(type(v).dtype) ? cast(v, DType::f32) : v;
  }
  const TensorType& type(Ref v) const { return out_.type(v); }
  const Node& made(Ref v) const { return out_.fresh(v); }  // what made a value; valid until the next operator
  Dims dims(size_t i) const {
    Dims list;
    if (arg(i).is<int64_t>()) return {arg(i).as<ir::Sym>()};
    if (!none(i))
      for (const Arg& a : arg(i).as<std::vector<Arg>>()) list.push_back(a.as<ir::Sym>());
    return list;
  }
  bool used(int32_t output) const { return used_.contains({node.id, output}); }
  bool flag(size_t i) const { return arg(i).is<bool>() && arg(i).as<bool>(); }
  double number(size_t i) const {
    if (arg(i).is<double>()) return arg(i).as<double>();
    return arg(i).is<bool>() ? arg(i).as<bool>() : static_cast<double>(arg(i).as<int64_t>());
  }

  Ref op(const char* name, std::vector<Arg> args, Kwargs kwargs = {}) {
    return out_.emit(node, name, std::move(args), std::move(kwargs));
  }
  Ref add(Ref a, Arg b) { return op("aten.add.Tensor", {a, std::move(b)}); }
  Ref sub(Ref a, Arg b) { return op("aten.sub.Tensor", {a, std::move(b)}); }
  Ref mul(Ref a, Arg b) { return op("aten.mul.Tensor", {a, std::move(b)}); }
  Ref div(Ref a, Arg b) { return op("aten.div.Tensor", {a, std::move(b)}); }
  Ref unary(const char* name, Ref a) { return op(name, {a}); }
  Ref cast(Ref a, DType to) { return op("aten._to_copy.default", {a}, {{"dtype", Arg(to)}}); }
  Ref sum(Ref a, const Dims& dims) { return op("aten.sum.dim_IntList", {a, Arg::ints(dims), Arg(true)}); }
  Ref mean(Ref a, const Dims& dims) { return div(sum(a, dims), divisor(count(a, dims))); }
  // A count by which is divided.
  static Arg divisor(const ir::Sym& n) { return n.symbolic() ? Arg(n) : Arg(static_cast<double>(n.hint())); }
  // Elements that a reduction over these dimensions joins.
  ir::Sym count(Ref a, const Dims& dims) const {
    auto mask = ops::dim_mask(dims, type(a).sizes.size());
    ir::Sym n = 1;
    for (size_t i = 0; i < mask.size(); ++i) n *= mask[i] ? type(a).sizes[i] : ir::Sym(1);
    return n;
  }
  // Without the reduced dimensions, unless they are kept.
  Ref reduced(Ref a, const Dims& dims, bool keepdim) {
    if (keepdim || type(a).sizes.empty()) return a;
    Dims all = dims;
    if (all.empty())
      for (size_t i = 0; i < type(a).sizes.size(); ++i) all.push_back(static_cast<int64_t>(i));
    return op("aten.squeeze.dims", {a, Arg::ints(all)});
  }

  // The finished value as output `i` of the node: its element type, its layout. nullopt: it cannot be had.
  std::optional<Arg> output(size_t i, Ref v) {
    const TensorType& wanted = node.outputs[i];
    if (type(v).dtype != wanted.dtype) v = cast(v, wanted.dtype);
    if (type(v).sizes != wanted.sizes) v = op("aten.view.default", {v, Arg::ints(wanted.sizes)});
    if (type(v).same(wanted)) return Arg(v);
    for (const char* format : {"torch.contiguous_format", "torch.channels_last"}) {
      if (wanted.sizes.size() != 4 && std::string_view(format) == "torch.channels_last") break;
      if (!wanted.offset.same(0)) continue;
      if (!ir::same(ops::format_strides(format, wanted.sizes, nullptr), wanted.strides)) continue;
      return Arg(op("aten.clone.default", {v}, {{"memory_format", Arg(ir::Word{format})}}));
    }
    return std::nullopt;
  }
  // An output that holds nothing.
  Arg empty(size_t i) {
    const TensorType& type = node.outputs[i];
    Kwargs how = {{"dtype", Arg(type.dtype)}};
    if (!type.device.is_cpu()) how.emplace_back("device", Arg(ir::Word{type.device.text()}));
    return Arg(op("aten.empty.memory_format", {Arg::ints({0})}, std::move(how)));
  }
  OutputValues one(Ref v) {
    auto out = output(0, v);
    return out ? OutputValues({*out}) : std::nullopt;
  }

 private:
  static bool is_low_type(DType t) { return t == DType::f16 || t == DType::bf16; }
  static bool is_low(const Node& node) { return is_low_type(node.type().dtype); }
  Rewriter& out_;
  const std::vector<Arg>& args_;
  const std::set<Ref>& used_;
  bool low_;
};

// The node as `write` writes it, or as it is where that or a bisection says so. write:
// OutputValues(NodeWriter&).
template <class Write>
void write_or_keep(Rewriter& out, const Node& node, const std::set<Ref>& used, Write write) {
  auto args = ops::bind(*ops::find(node.op), node);
  OutputValues values;
  if (args.ok() && out.may_rewrite(node)) {
    NodeWriter writer(out, node, args.value(), used);
    values = write(writer);
  }
  if (values)
    out.replace(node, *values);
  else
    out.keep(node);
}

}  // namespace vitrine::passes
