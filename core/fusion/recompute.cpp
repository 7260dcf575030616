#include "core/fusion/recompute.h"

#include <algorithm>
#include <numeric>

#include "core/fusion/classify.h"
#include "core/fusion/functions.h"
#include "core/fusion/space.h"

namespace vitrine::fusion {

using ir::Dims;

namespace {

constexpr int kCheap = 8;         // additions an element on a CPU,
constexpr int kCheapOnGpu = 48;   // on a GPU, whose kernels wait for memory
constexpr int64_t kLeastRow = 8;  // elements that share what is computed once a row
constexpr size_t kMostOperands = 8;

// Dims of an access in which it moves, outermost first, if together they walk over `count` elements that lie
// side by side; else nothing.
std::optional<std::vector<size_t>> dense_order(const Dims& dims, const Dims& strides, int64_t count) {
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d)
    if (strides[d] != 0) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  int64_t next = 1;
  for (size_t k = order.size(); k-- > 0;) {
    if (strides[order[k]] != next) return std::nullopt;
    next *= dims[order[k]];
  }
  if (next != count) return std::nullopt;
  return order;
}
Dims picked(const Dims& from, const std::vector<size_t>& order) {
  Dims out;
  for (size_t d : order) out.push_back(from[d]);
  return out;
}

// What `operand` of `small` is for a loop over `dims` that reads the small loop's value at `read`:
// read : index -> element of small, its store's inverse : element -> index of small, operand : that -> place.
std::optional<Access> through(const Access& read, const Dims& dims, const Loop& small,
                              const Access& operand) {
  const Access& store = small.stores[0];
  const int64_t count = ir::numel(small.dims);
  if (read.offset != 0 || store.offset != 0) return std::nullopt;
  auto outer = dense_order(dims, read.strides, count);
  auto inner = dense_order(small.dims, store.strides, count);
  if (!outer || !inner) return std::nullopt;
  const Dims to = picked(dims, *outer), from = picked(small.dims, *inner);
  auto finer = refine(to, from);
  if (!finer) return std::nullopt;
  auto joined = join_strides(split_strides(picked(operand.strides, *inner), from, *finer), *finer, to);
  if (!joined) return std::nullopt;
  Access out{operand.root, Dims(dims.size(), 0), operand.offset};
  for (size_t k = 0; k < outer->size(); ++k) out.strides[(*outer)[k]] = (*joined)[k];
  return out;
}

ExprPtr renumbered(const ExprPtr& e, const std::vector<int>& to) {
  if (e->kind == Expr::Kind::operand) return Expr::make_operand(to[static_cast<size_t>(e->operand)]);
  if (e->kind != Expr::Kind::call) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& a : e->args) args.push_back(renumbered(a, to));
  return Expr::make_call(e->name, std::move(args));
}

class Recomputer {
 public:
  explicit Recomputer(LoopProgram program) : program_(std::move(program)) {}

  LoopProgram run() {
    find_readers();
    find_candidates();
    while (!substitute()) {
    }
    for (size_t l = 0; l < program_.loops.size(); ++l) {
      if (small_[l]) made_[l].kind = Loop::Kind::inlined;
      program_.loops[l] = std::move(made_[l]);
    }
    return std::move(program_);
  }

 private:
  const Loop& loop(size_t l) const { return program_.loops[l]; }
  // The loop that computes a root, if it is one.
  std::optional<size_t> producer(ir::Ref root) const {
    auto it = program_.loop_of.find(root.node);
    return it == program_.loop_of.end() ? std::nullopt : std::optional(it->second);
  }

  void find_readers() {
    readers_.resize(program_.loops.size());
    leaves_.assign(program_.loops.size(), false);
    for (size_t l = 0; l < program_.loops.size(); ++l)
      each_read(program_, loop(l), [&](ir::Ref root) {
        if (auto p = producer(root)) readers_[*p].push_back(l);
      });
    for (const ir::Arg& r : program_.graph->results())
      ir::each_ref(r, [&](ir::Ref ref) {
        if (auto p = producer(program_.placement(ref).root)) leaves_[*p] = true;
      });
  }

  // Backwards, so that a small nest's readers are known.
  void find_candidates() {
    small_.assign(program_.loops.size(), false);
    for (size_t l = program_.loops.size(); l-- > 0;) {
      const Loop& it = loop(l);
      if (it.kind != Loop::Kind::pointwise || leaves_[l] || readers_[l].empty()) continue;
      small_[l] = std::all_of(readers_[l].begin(), readers_[l].end(), [&](size_t r) {
        return loop(r).generated() && loop(r).epoch == it.epoch &&
               (small_[r] || ir::numel(loop(r).dims) >= 2 * ir::numel(it.dims));
      });
    }
  }

  // Every loop with the small ones that it reads copied into it; false: some cannot be, and are small no
  // more.
  bool substitute() {
    made_ = program_.loops;
    bool all = true;
    for (size_t l = 0; l < made_.size(); ++l) {
      if (!made_[l].generated()) continue;
      for (const Operand& o : loop(l).operands) {
        auto p = producer(o.at.root);
        if (!p) continue;
        if (small_[l] && !small_[*p] && loop(*p).kind != Loop::Kind::opaque) small_[l] = all = false;
        if (small_[*p] && !copy(*p, made_[l], small_[l])) small_[*p] = all = false;
      }
      if (small_[l] && made_[l].operands.size() > kMostOperands) small_[l] = all = false;
    }
    return all;
  }

  // Replaces every operand of `into` that reads `small`, the loop as it is after its own substitutions. What
  // it costs is weighed where it ends.
  bool copy(size_t small, Loop& into, bool passed_on) const {
    const Loop& from = made_[small];
    for (size_t i = 0; i < into.operands.size(); ++i) {
      if (into.operands[i].at.root.node != from.node) continue;
      std::vector<Operand> operands;
      for (const Operand& o : from.operands) {
        auto at = through(into.operands[i].at, into.dims, from, o.at);
        if (!at) return false;
        operands.push_back({o.value, o.dtype, std::move(*at)});
      }
      if (!passed_on && !worth(from, operands, into)) return false;
      splice(from, std::move(operands), i--, into);
    }
    return true;
  }
  bool worth(const Loop& from, const std::vector<Operand>& operands, const Loop& into) const {
    int cost = 0;
    for (const Statement& s : from.body) cost += expr_cost(*s.expr);
    if (cost <= (program_.graph->node(into.node).type().device.is_cuda() ? kCheapOnGpu : kCheap)) return true;
    int64_t still = 1;  // elements in a row of the reader that share the value
    for (size_t d = into.dims.size(); d-- > 0; still *= into.dims[d])
      if (std::any_of(operands.begin(), operands.end(),
                      [&](const Operand& o) { return o.at.strides[d] != 0; }))
        break;
    return still >= kLeastRow;
  }
  // $0.. are the operands, then the statements: operand `gone` becomes the small loop's last statement.
  static void splice(const Loop& from, std::vector<Operand> operands, size_t gone, Loop& into) {
    const size_t before = into.operands.size(), more = operands.size(), after = before - 1 + more;
    std::vector<int> inner(more + from.body.size()), outer(before + into.body.size());
    std::iota(inner.begin(), inner.begin() + static_cast<int64_t>(more), static_cast<int>(before - 1));
    std::iota(inner.begin() + static_cast<int64_t>(more), inner.end(), static_cast<int>(after));
    for (size_t k = 0; k < outer.size(); ++k)
      outer[k] = k == gone    ? inner.back()
                 : k < gone   ? static_cast<int>(k)
                 : k < before ? static_cast<int>(k - 1)
                              : static_cast<int>(k - before + after + from.body.size());
    std::vector<Statement> body;
    for (Statement s : from.body) {
      s.expr = renumbered(s.expr, inner);
      if (s.node < 0) s.node = from.node;
      s.output = -1;
      body.push_back(std::move(s));
    }
    for (Statement& s : into.body) {
      s.expr = renumbered(s.expr, outer);
      body.push_back(std::move(s));
    }
    into.body = std::move(body);
    into.operands.erase(into.operands.begin() + static_cast<int64_t>(gone));
    for (Operand& o : operands) into.operands.push_back(std::move(o));
  }

  LoopProgram program_;
  std::vector<Loop> made_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<bool> leaves_, small_;  // by loop: a result of the graph; computed by its readers
};

}  // namespace

LoopProgram recompute_small(LoopProgram program) {
  return Recomputer(std::move(program)).run();
}

}  // namespace vitrine::fusion
