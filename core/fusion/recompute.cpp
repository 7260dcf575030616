#include "core/fusion/recompute.h"

#include <algorithm>
#include <numeric>

#include "core/fusion/classify.h"
#include "core/fusion/functions.h"
#include "core/fusion/space.h"

namespace vitrine::fusion {

using ir::Dims;
using ir::Sym;

namespace {

constexpr int kCheap = 8;         // additions an element on a CPU,
constexpr int kCheapOnGpu = 48;   // on a GPU, whose kernels wait for memory
constexpr int kCheapNumber = 48;  // of one number, whoever reads it
constexpr int64_t kLeastRow = 8;  // elements that share what is computed once a row
constexpr size_t kMostOperands = 8;

// Dims of an access in which it moves, outermost first, if together they walk over `count` elements that lie
// side by side; else nothing.
std::optional<std::vector<size_t>> dense_order(const Dims& dims, const Dims& strides, const Sym& count) {
  std::vector<size_t> order;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!strides[d].same(0)) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a].hint() > strides[b].hint(); });
  Sym next = 1;
  for (size_t k = order.size(); k-- > 0;) {
    if (!strides[order[k]].same(next)) return std::nullopt;
    next *= dims[order[k]];
  }
  if (!next.same(count)) return std::nullopt;
  return order;
}
Dims gathered(const Dims& from, const std::vector<size_t>& order) {
  Dims out;
  for (size_t d : order) out.push_back(from[d]);
  return out;
}

// The part of `dims` in which a place is read: from `begin` on, `dims` of it. nullopt: it is no box.
struct ReadPart {
  Dims begin, dims;
};
std::optional<ReadPart> part_of(const Dims& dims, const std::vector<Range>& within) {
  ReadPart part{Dims(dims.size(), 0), dims};
  for (const Range& r : within) {
    const auto moves = [](const Sym& s) { return !s.same(0); };
    const auto at = std::find_if(r.strides.begin(), r.strides.end(), moves);
    if (at == r.strides.end() || !at->same(1) || std::count_if(at, r.strides.end(), moves) > 1)
      return std::nullopt;
    const auto d = static_cast<size_t>(at - r.strides.begin());
    const Sym begin = ir::max(part.begin[d], r.low), end = ir::min(part.begin[d] + part.dims[d], r.high);
    if (ir::never_above(end, begin)) return std::nullopt;
    part.begin[d] = begin;
    part.dims[d] = end - begin;
  }
  return part;
}

// What `operand` of `small` is for a loop over `dims` that reads the small loop's value at `read`:
// read : index -> element of small, its store's inverse : element -> index of small, operand : that -> place.
std::optional<Access> through(const Access& read, const Dims& dims, const Loop& small,
                              const Access& operand) {
  const Access& store = small.stores[0];
  const Sym count = ir::numel(small.dims);
  const auto part = part_of(dims, read.within);
  if (!part || !store.offset.same(0) || !read.gathered.empty()) return std::nullopt;
  if (!read.within.empty() && !operand.gathered.empty()) return std::nullopt;
  Dims steps = read.strides;
  Sym first = read.offset;  // element that is read at the part's begin
  for (size_t d = 0; d < dims.size(); ++d) {
    first += part->begin[d] * steps[d];
    if (part->dims[d].same(1)) steps[d] = 0;
  }
  if (!first.same(0)) return std::nullopt;
  auto outer = dense_order(part->dims, steps, count);
  auto inner = dense_order(small.dims, store.strides, count);
  if (!outer || !inner) return std::nullopt;
  const Dims to = gathered(part->dims, *outer), from = gathered(small.dims, *inner);
  auto finer = refine(to, from);
  if (!finer) return std::nullopt;
  bool fits = true;
  // The strides over dims, and what they come to at the part's begin.
  auto over = [&](Dims& strides) {
    auto joined = join_strides(split_strides(gathered(strides, *inner), from, *finer), *finer, to);
    strides.assign(dims.size(), 0);
    fits = fits && joined;
    Sym begin = 0;
    for (size_t k = 0; joined && k < outer->size(); ++k) {
      strides[(*outer)[k]] = (*joined)[k];
      begin += (*joined)[k] * part->begin[(*outer)[k]];
    }
    return begin;
  };
  Access out = operand;
  out.offset -= over(out.strides);
  for (Range& r : out.within) {
    const Sym begin = over(r.strides);
    if (r.bounded_below()) r.low += begin;
    if (r.bounded_above()) r.high += begin;
  }
  if (!fits) return std::nullopt;
  if (out.in_memory()) out.within.insert(out.within.end(), read.within.begin(), read.within.end());
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
  ir::Device device(size_t l) const { return program_.graph->node(loop(l).node).type().device; }
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
    joined_ = small_;
    for (size_t l = program_.loops.size(); l-- > 0;) {
      const Loop& it = loop(l);
      if (it.kind != Loop::Kind::pointwise || leaves_[l] || readers_[l].empty() || draws(it) || it.filled)
        continue;
      joined_[l] = std::all_of(readers_[l].begin(), readers_[l].end(), [&](size_t r) { return joins(r, l); });
      small_[l] = std::all_of(readers_[l].begin(), readers_[l].end(), [&](size_t r) {
        return loop(r).generated() && loop(r).epoch == it.epoch && device(r) == device(l) && !copies(r, l) &&
               (small_[r] || joined_[l] || loop(r).filled || loop(r).scans != Statement::Reduce::none ||
                ir::numel(loop(r).dims).hint() >= 2 * ir::numel(it.dims).hint());
      });
    }
  }
  // Random numbers: they cost more than memory, and have two results.
  static bool draws(const Loop& loop) {
    return std::any_of(loop.operands.begin(), loop.operands.end(),
                       [](const Operand& o) { return o.at.draw.has_value(); });
  }
  // Whether the reader's result is a copy of the value at first.
  bool copies(size_t reader, size_t l) const {
    const auto& filled = loop(reader).filled;
    return filled && filled->copied && filled->copied->at.root.node == loop(l).node;
  }
  // Whether `reader` has the value in parts of its nest only, as what joins tensors has.
  bool joins(size_t reader, size_t l) const {
    const auto& operands = loop(reader).operands;
    return std::all_of(operands.begin(), operands.end(), [&](const Operand& o) {
      return o.at.root.node != loop(l).node || !o.at.within.empty();
    });
  }

  // Whether the loop reads the operand where an index says, so that no kernel has both it and what computes
  // the operand, and is needed by what scatters alone: messages of a graph's edges.
  bool only_gathers(size_t l, const Operand& o) const { return !o.at.gathered.empty() && is_scattered(l); }
  bool is_scattered(size_t l) const {
    return std::all_of(readers_[l].begin(), readers_[l].end(),
                       [&](size_t r) { return loop(r).filled || (small_[r] && is_scattered(r)); });
  }

  // Whether it is a cast on a GPU, of whose operand memory moves less than of its result.
  bool only_widens(size_t l) const {
    const Loop& it = loop(l);
    return device(l).is_cuda() && it.operands.size() == 1 &&
           program_.graph->node(it.node).op == "aten._to_copy.default" &&
           ir::dtype_bytes(it.operands[0].dtype) <
               ir::dtype_bytes(program_.graph->node(it.node).type().dtype);
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
        if (small_[l] && !small_[*p] && !joined_[l] && !only_gathers(l, o) && !only_widens(l) &&
            loop(*p).kind != Loop::Kind::opaque)
          small_[l] = all = false;
        if (small_[*p] && !copy(*p, made_[l], small_[l])) small_[*p] = all = false;
      }
      if (small_[l] && made_[l].operands.size() > kMostOperands) small_[l] = all = false;
      if (small_[l] && brings_together(l)) small_[l] = all = false;
    }
    return all;
  }

  // Whether it would leave several values behind in memory where its own kernel leaves one.
  bool brings_together(size_t l) const {
    int left = 0;
    for (const Operand& o : loop(l).operands) {
      const auto p = producer(o.at.root);
      left += p && !small_[*p] && !leaves_[*p] && loop(*p).kind == Loop::Kind::pointwise &&
              !loop(*p).filled && loop(*p).scans == Statement::Reduce::none && readers_[*p].size() == 1 &&
              ir::numel(loop(*p).dims).same(ir::numel(loop(l).dims));
    }
    return left > 1;
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
        if (!at || !(into.reduces_last() || reads_across(*at, device(small)))) return false;
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
    // One number is worth its own kernel only if that is shared by all who read it; whatever their sizes, so
    // that kernels that compute the same stay the same.
    if (ir::numel(from.dims).same(1)) return cost <= kCheapNumber;
    if (cost <= (program_.graph->node(into.node).type().device.is_cuda() ? kCheapOnGpu : kCheap)) return true;
    int64_t still = 1;  // elements in a row of the reader that share the value
    for (size_t d = into.dims.size(); d-- > 0; still *= into.dims[d].hint())
      if (std::any_of(operands.begin(), operands.end(),
                      [&](const Operand& o) { return !o.at.strides[d].same(0); }))
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
    auto renumber = [](Access& at, const std::vector<int>& to) {
      for (Gathered& p : at.gathered) p.value = to[static_cast<size_t>(p.value)];
    };
    for (Access& s : into.stores) renumber(s, outer);
    for (Operand& o : into.operands) renumber(o.at, outer);
    for (Operand& o : operands) {
      renumber(o.at, inner);
      into.operands.push_back(std::move(o));
    }
  }

  LoopProgram program_;
  std::vector<Loop> made_;
  std::vector<std::vector<size_t>> readers_;
  // By loop: a result of the graph; computed by its readers; read in parts of other nests only.
  std::vector<bool> leaves_, small_, joined_;
};

}  // namespace

LoopProgram recompute_small(LoopProgram program) {
  return Recomputer(std::move(program)).run();
}

}  // namespace vitrine::fusion
