#include "core/fusion/add_in_place.h"

#include <map>

#include "core/ops/node.h"

namespace vitrine::fusion {

namespace {

using ir::Ref;

class AddInPlace {
 public:
  explicit AddInPlace(LoopProgram program) : program_(std::move(program)) {}

  LoopProgram run() {
    count_readers();
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      const ir::Node& node = program_.graph->node(program_.loops[l].node);
      if (node.op != "aten.add.Tensor" || program_.loops[l].kind != Loop::Kind::pointwise) continue;
      auto args = ops::bind(*ops::find(node.op), node);
      if (!args.ok()) continue;
      const std::vector<ir::Arg> given = args.take();
      const bool once = given[2] == ir::Arg(int64_t{1}) || given[2] == ir::Arg(1.0);
      if (!once || !given[0].is<Ref>() || !given[1].is<Ref>()) continue;
      const Ref a = given[0].as<Ref>(), b = given[1].as<Ref>();
      if (!join(l, a, b)) join(l, b, a);
    }
    return std::move(program_);
  }

 private:
  void count_readers() {
    for (const Loop& loop : program_.loops)
      each_read(program_, loop, [&](Ref root) { ++readers_[root.node]; });
    for (const ir::Arg& r : program_.graph->results())
      ir::each_ref(r, [&](Ref ref) { ++readers_[program_.placement(ref).root.node]; });
  }
  // Whether the value is a whole tensor that lies as the sum does.
  bool lies_as(Ref value, const ir::Node& sum) const {
    const Placement& p = program_.placement(value);
    const ir::Node& root = program_.graph->node(p.root.node);
    return p.type.same(sum.type()) && p.type.same(root.outputs[static_cast<size_t>(p.root.output)]);
  }
  bool join(size_t l, Ref sums, Ref other) {
    const ir::Node& node = program_.graph->node(program_.loops[l].node);
    const Ref root = program_.placement(sums).root;
    auto made = program_.loop_of.find(root.node);
    if (made == program_.loop_of.end() || readers_[root.node] != 1) return false;
    Loop& from = program_.loops[made->second];
    const bool zero = from.ordered && from.filled->number && from.filled->number->whole &&
                      from.filled->number->integer == 0;
    if (!zero || from.epoch != program_.loops[l].epoch || program_.placement(other).root == root ||
        !lies_as(sums, node) || !lies_as(other, node))
      return false;
    Loop joined = from;
    joined.node = node.id;
    joined.stores[0].root = {node.id, 0};
    const Placement& p = program_.placement(other);
    joined.filled = Loop::Filling{Operand{other, p.type.dtype, {p.root, p.type.strides, p.offset}}, nullptr};
    Statement& added = joined.body.back();
    added.node = from.node;
    added.output = -1;
    const auto last = static_cast<int>(joined.operands.size() + joined.body.size() - 1);
    joined.body.push_back(
        {Expr::make_operand(last), Statement::Reduce::none, false, node.type().dtype, added.compute, 0});
    program_.loops[l] = std::move(joined);
    from.kind = Loop::Kind::inlined;
    return true;
  }

  LoopProgram program_;
  std::map<ir::NodeId, int> readers_;
};

}  // namespace

LoopProgram add_in_place(LoopProgram program) {
  return AddInPlace(std::move(program)).run();
}

}  // namespace vitrine::fusion
