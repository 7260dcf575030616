#include "core/fusion/rng.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/ops/node.h"
#include "core/ops/promote.h"

namespace vitrine::fusion {

namespace {

using ir::Arg;
using ir::Dims;
using ir::DType;
using ir::Ref;
using ir::TensorType;

constexpr int64_t kBlock = 256;  // threads of a block
constexpr int64_t kTurn = 4;     // numbers a thread draws at once

bool no(std::string& why, const char* reason) {
  why = reason;
  return false;
}

// Whether the elements lie side by side, in any order of the dims.
bool is_dense(const TensorType& t) {
  std::vector<size_t> order(t.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return t.strides[a] < t.strides[b]; });
  int64_t next = 1;
  for (size_t d : order) {
    if (t.sizes[d] == 1) continue;
    if (t.strides[d] != next) return false;
    next *= t.sizes[d];
  }
  return true;
}
bool same_order(const TensorType& a, const TensorType& b) {
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

class Drawer {
 public:
  Drawer(const LoopProgram& program, const ir::Node& node, const RngLayout& layout)
      : program_(program), node_(node), layout_(layout) {}

  Drawing out;

  // out = x * (kept ? scale : 0), where kept = u < 1 - p; both are results.
  bool dropout(const std::vector<Arg>& args, std::string& why) {
    const double p = args[1].is<double>()    ? args[1].as<double>()
                     : args[1].is<int64_t>() ? static_cast<double>(args[1].as<int64_t>())
                                             : -1;
    if (!args[2].is_none() && args[2] != Arg(true)) return no(why, "it does not train");
    if (!(p >= 0 && p < 1)) return no(why, "its probability is at the end of its range");
    const Ref x = args[0].as<Ref>();
    const Placement& at = program_.placement(x);
    Draw draw = draw_of(type());
    if (!find_neighbours(at, draw, why)) return false;
    const TensorType memory_order = at.type;
    const Dims order = draw.together > 1 ? memory_order.strides : ir::contiguous_strides(type().sizes);
    const DType compute = ops::opmath(type().dtype);
    const bool wide = compute == DType::f64;
    const double stay = wide ? 1 - p : static_cast<double>(static_cast<float>(1 - p));
    const double scale = wide ? 1 / stay : static_cast<double>(static_cast<float>(1 / stay));
    out.operands = {{x, at.type.dtype, {at.root, at.type.strides, at.offset}}, drawn(draw, order)};
    auto call = [](const char* f, ExprPtr a, ExprPtr b) {
      return Expr::make_call(f, {std::move(a), std::move(b)});
    };
    const ExprPtr kept = call("<", Expr::make_operand(1), Expr::make_number(stay));
    // What is dropped is multiplied by 0: an infinity becomes a NaN, as in eager.
    const ExprPtr factor =
        Expr::make_call("where", {Expr::make_operand(2), Expr::make_number(scale), Expr::make_number(0)});
    const ExprPtr value = call("*", Expr::make_operand(0), factor);
    out.body = {{kept, Statement::Reduce::none, false, DType::b1, compute, 1},
                {value, Statement::Reduce::none, false, type().dtype, compute, 0}};
    return true;
  }

  // Uniform in [0, 1): what rounds to 1 is 0.
  bool uniform(std::string& why) {
    const DType t = type().dtype;
    if (!plain(why)) return false;
    out.operands = {drawn(draw_of(type()), type().strides)};
    const double rounds_up = t == DType::f16 ? 1 - 1.0 / 4096 : t == DType::bf16 ? 1 - 1.0 / 512 : 1;
    const ExprPtr u = Expr::make_operand(0);
    out.body = {{Expr::make_call("where", {Expr::make_call(">=", {u, Expr::make_number(rounds_up)}),
                                           Expr::make_number(0), u}),
                 Statement::Reduce::none, false, t, DType::f32, 0}};
    return true;
  }

  // 1 where u < p, else 0.
  bool bernoulli(const std::vector<Arg>& args, std::string& why) {
    if (!args[2].is_none()) return no(why, "it has a generator of its own");
    if (!plain(why)) return false;
    const double p = args[1].is<double>()    ? args[1].as<double>()
                     : args[1].is<int64_t>() ? static_cast<double>(args[1].as<int64_t>())
                                             : -1;
    if (!(p >= 0 && p <= 1)) return no(why, "its probability is none");
    out.operands = {drawn(draw_of(type()), type().strides)};
    const ExprPtr kept = Expr::make_call(
        "<", {Expr::make_operand(0), Expr::make_number(static_cast<double>(static_cast<float>(p)))});
    out.body = {{Expr::make_call("where", {kept, Expr::make_number(1), Expr::make_number(0)}),
                 Statement::Reduce::none, false, type().dtype, DType::f32, 0}};
    return true;
  }

  bool normal(std::string& why) {
    if (!plain(why)) return false;
    Draw draw = draw_of(type());
    draw.normal = true;
    out.operands = {drawn(draw, type().strides)};
    out.body = {{Expr::make_operand(0), Statement::Reduce::none, false, type().dtype, DType::f32, 0}};
    return true;
  }

 private:
  // Whether one kernel of PyTorch draws for all elements in the order of memory.
  bool plain(std::string& why) const {
    if (!is_dense(type())) return no(why, "its memory has gaps");
    if (type().dtype == DType::f64) return no(why, "PyTorch draws numbers of 64 bits in its own way");
    return type().bytes() < int64_t{1} << 31 || no(why, "PyTorch draws so many numbers in parts");
  }
  const TensorType& type() const { return node_.outputs[0]; }

  Draw draw_of(const TensorType& t) {
    Draw draw;
    draw.threads = kBlock * std::min(layout_.blocks, (t.numel() + kBlock - 1) / kBlock);
    draw.segment = static_cast<int>(program_.drawn.size()) - 1;
    draw.from = program_.drawn.back();
    out.advance = ((t.numel() - 1) / (draw.threads * kTurn) + 1) * kTurn;
    return draw;
  }
  static Operand drawn(const Draw& draw, const Dims& order) {
    Operand o{{}, DType::f32, {{}, order, 0}};
    o.at.draw = draw;
    return o;
  }
  // Neighbours that a thread of PyTorch's kernel takes at once: as many as one access of 16 bytes moves, if
  // the tensor begins at a multiple of them and can be divided into them.
  bool find_neighbours(const Placement& x, Draw& draw, std::string& why) const {
    const int64_t bytes = ir::dtype_bytes(type().dtype), begin = x.offset * bytes;
    int64_t most = layout_.together[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(bytes)))];
    if (most == 0) return no(why, "this PyTorch draws in a way that is not known");
    if (!is_dense(x.type)) most = 1;
    const ir::Node& owner = program_.graph->node(x.root.node);
    const bool fresh = owner.kind == ir::NodeKind::op && !ops::may_alias(owner);
    while (most > 1 && (type().numel() % most != 0 || (fresh && begin % (most * bytes) != 0))) most /= 2;
    draw.together = static_cast<int>(most);
    if (most == 1) return true;
    if (!same_order(type(), x.type)) return no(why, "its result lies otherwise than its input");
    if (fresh) return true;
    if (!x.type.is_contiguous()) return no(why, "its input's address decides how it draws");
    draw.aligned_by = x.root;
    draw.aligned_from = begin;
    return true;
  }

  const LoopProgram& program_;
  const ir::Node& node_;
  const RngLayout& layout_;
};

}  // namespace

std::optional<Drawing> drawing(const LoopProgram& program, const ir::Node& node, const RngLayout& layout,
                               std::string& why) {
  const std::string fallback = "PyTorch's generator draws its numbers";
  why = fallback;
  const ops::OpRow* row = ops::find(node.op);
  auto args = row ? ops::bind(*row, node) : Result<std::vector<Arg>>(Error{});
  if (!args.ok() || node.outputs.empty() || !node.type().device.is_cuda()) return std::nullopt;
  if (program.draws_on >= 0 && program.draws_on != node.type().device.index) return std::nullopt;
  Drawer drawer(program, node, layout);
  bool done = false;
  if (node.op == "aten.native_dropout.default")
    done = drawer.dropout(args.value(), why);
  else if (node.op == "aten.rand.default" || node.op == "aten.rand_like.default")
    done = layout.uniform && drawer.uniform(why);
  else if (node.op == "aten.randn.default" || node.op == "aten.randn_like.default")
    done = layout.uniform && layout.normal && drawer.normal(why);
  else if (node.op == "aten.bernoulli.p" && ir::is_float(node.type().dtype))
    done = layout.uniform && drawer.bernoulli(args.value(), why);
  if (!done) return std::nullopt;
  why.clear();
  return std::move(drawer.out);
}

}  // namespace vitrine::fusion
