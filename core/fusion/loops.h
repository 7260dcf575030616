// One loop nest an operator. Iteration dimensions are the output's sizes without those of 1; a reduction's
// are its argument's. Every tensor is read and written at an affine place: offset + sum over dims of stride *
// index, counted in elements of the storage's first owner (its root); so views, transposes, slices and
// broadcasts (stride 0) are folded into the places and have no loops. An operand may also be read only within
// a part of the nest (of what joins, pads or shifts), at a place that other operands hold (of what gathers by
// an index), or be no memory at all but the place itself.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/fusion/expr.h"
#include "core/ir/graph.h"

namespace vitrine::fusion {

// The part of a nest in which low <= sum over dims of stride * index < high. A bound that is none is far off.
struct Range {
  static constexpr int64_t kNone = int64_t{1} << 50;
  ir::Dims strides;
  ir::Sym low = -kNone, high = kNone;
  bool bounded_below() const { return low.symbolic() || low.hint() > -kNone; }
  bool bounded_above() const { return high.symbolic() || high.hint() < kNone; }
  bool operator==(const Range& other) const {
    return ir::same(strides, other.strides) && low.same(other.low) && high.same(other.high);
  }
};

// stride * index elements further on, where the index is what $value holds: 0 <= index < size, or, counted
// from the end too, -size <= index < size. Anything else is an error of the user's.
struct Gathered {
  int value = -1;
  ir::Sym stride = 1, size = 1;
  bool from_end = false;
  bool operator==(const Gathered& other) const {
    return value == other.value && stride.same(other.stride) && size.same(other.size) &&
           from_end == other.from_end;
  }
};

// A number that PyTorch's generator draws for an element, uniform in (0, 1] or normal; core/fusion/rng.h.
// The access says which element of its kernel it is. The kernel's threads take turns of `together`
// neighbours; one: of four elements, `threads` apart.
struct Draw {
  int64_t threads = 0;
  int together = 1;
  ir::Ref aligned_by;        // whose address decides whether so many are taken together (node -1: nobody's),
  int64_t aligned_from = 0;  // so many bytes further on
  int segment = 0;           // of the program's draws
  int64_t from = 0;          // the generator's offset, from the segment's first
  bool normal = false;
  bool operator==(const Draw&) const = default;
};

// How PyTorch's kernels draw on the GPU that is compiled for.
struct RngLayout {
  int64_t blocks = 132 * 8;        // of 256 threads, at most
  int together[4] = {0, 8, 4, 2};  // neighbours at most, by log2 of an element's bytes; 0: not known
  bool uniform = true;             // rand() draws as is known
  bool normal = true;              // and what randn() makes of that is known to the last bit
};

// A place in the storage of `root`, for every index of a loop's dims. Without a root (node -1) nothing is
// read: the operand is the number offset + sum of stride * index itself (i64), or whether the place is
// within all the ranges (b1).
struct Access {
  ir::Ref root;
  ir::Dims strides;
  ir::Sym offset = 0;
  std::vector<Range> within = {};  // memory is touched only there; the value elsewhere is 0
  std::vector<Gathered> gathered = {};
  std::optional<Draw> draw =
      {};  // no memory, but the number drawn for element offset + sum of stride * index
  bool in_memory() const { return root.node >= 0; }
  bool is_affine() const { return in_memory() && within.empty() && gathered.empty(); }
  // Or the number of the place.
  bool is_plain() const { return within.empty() && gathered.empty() && !draw; }
  // As expressions: places that differ may still be the same for some sizes.
  bool operator==(const Access& other) const {
    return root == other.root && ir::same(strides, other.strides) && offset.same(other.offset) &&
           within == other.within && gathered == other.gathered && draw == other.draw;
  }
};

struct Operand {
  ir::Ref value;  // as the operator's argument names it
  ir::DType dtype = ir::DType::f32;
  Access at;
};

// The strides of an access and of its ranges, one after the other.
template <class A, class F>
void each_strides(A& access, F&& f) {
  f(access.strides);
  for (auto& range : access.within) f(range.strides);
}

// One value of a loop nest. `expr` is over $0.. = the loop's operands, then its earlier statements.
struct Statement {
  enum class Reduce : uint8_t { none, sum, prod, max, min };
  ExprPtr expr;
  Reduce reduce = Reduce::none;
  bool per_row = false;                // one value a row: a reduction's result, or computed from such
  ir::DType dtype = ir::DType::f32;    // of the value
  ir::DType compute = ir::DType::f32;  // operands are cast to it first
  int output = -1;                     // output of the node that it is, or -1
  ir::NodeId node = -1;                // another operator's result, computed again here; -1: the loop's own
  // What memory would hold: rounded and wrapped as its dtype is.
  bool is_result() const { return reduce == Reduce::none && (output >= 0 || node >= 0); }
};

struct Loop {
  enum class Kind : uint8_t { pointwise, reduction, view, library, opaque, inlined };
  ir::NodeId node = -1;
  Kind kind = Kind::opaque;
  ir::Dims dims;
  std::vector<bool> over;  // by dim: it is reduced; empty: none is
  std::vector<Operand> operands;
  std::vector<Statement> body;
  std::vector<Access> stores;  // by output; a reduction's have stride 0 in reduced dims
  // Of what writes where an index says: the result before that, a copy or one number all over. Its store is
  // gathered; adds: to what is there.
  struct Filling {
    std::optional<Operand> copied;
    ExprPtr number;
  };
  std::optional<Filling> filled;
  bool adds = false;
  bool ordered = false;  // adds: in the order of the nest, so that the sums come out the same each time
  // Of a reduction whose every step is kept, in the order of the dim that it is over: how one follows from
  // the one before.
  Statement::Reduce scans = Statement::Reduce::none;
  int64_t skipped = -1;  // ordered: index of which nothing is added
  std::string why;       // opaque: the reason
  bool barrier = false;  // writes to one of its arguments: nothing may move across it
  int epoch = 0;         // number of barriers before it

  // Neither a view nor computed only by its readers (kind inlined).
  bool runs() const { return kind != Kind::view && kind != Kind::inlined; }
  bool generated() const { return kind == Kind::pointwise || kind == Kind::reduction; }
  bool reduces(size_t dim) const { return !over.empty() && over[dim]; }
  // Whether no dim that is kept comes after one that is reduced.
  bool reduces_last() const {
    const auto first = std::find(over.begin(), over.end(), true);
    return std::find(first, over.end(), false) == over.end();
  }
};

// Whether a reduction over other dims than the last ones may read so: its lanes run across what is kept, and
// each would walk through memory with a stride of its own.
inline bool reads_across(const Access& at, ir::Device device) {
  return device.is_cuda() ? at.is_plain() : at.is_affine();
}

// Where a value's elements are: its root and its type.
struct Placement {
  ir::Ref root;
  ir::TensorType type;
  ir::Sym offset = 0;  // in elements from the root's first element
};

struct LoopProgram {
  ir::GraphPtr graph;
  std::vector<Loop> loops;  // one an op node, in the graph's order
  std::unordered_map<ir::NodeId, size_t> loop_of;
  const Placement& placement(ir::Ref value) const;
  std::vector<std::vector<Placement>> placements;  // by node position and output
  // By how much the generator's offset goes on for what loops draw: before the first operator that draws
  // through PyTorch, between it and the next, ...
  std::vector<int64_t> drawn = {0};
  int draws_on = -1;  // GPU whose generator that is
};

// f(root) for every value that the loop reads from memory; a value read at two places comes twice.
template <class F>
void each_read(const LoopProgram& program, const Loop& loop, F&& f) {
  if (loop.generated())
    for (const Operand& o : loop.operands) {
      if (o.at.in_memory()) f(o.at.root);
    }
  if (loop.filled && loop.filled->copied) f(loop.filled->copied->at.root);
  if (loop.generated()) return;
  if (loop.runs())
    ir::each_ref(program.graph->node(loop.node), [&](ir::Ref r) { f(program.placement(r).root); });
}

// Which loops (positions, ascending, each once) read each root from memory.
class Readers {
 public:
  explicit Readers(const LoopProgram& program);
  const std::vector<size_t>& of(ir::Ref root) const;
  bool is_result(ir::Ref root) const { return results_.contains(root); }

 private:
  std::map<ir::Ref, std::vector<size_t>> loops_;
  std::set<ir::Ref> results_;
};

// generate = false: everything is opaque or library (for bisecting). by_pytorch: nodes that are opaque,
// because no kernel of theirs can be had. ordered: nothing may be left to the order in which threads run
// (torch.use_deterministic_algorithms).
LoopProgram build_loops(const ir::GraphPtr& graph, bool generate = true,
                        const std::set<ir::NodeId>& by_pytorch = {}, const RngLayout& draws = {},
                        bool ordered = false);

// "[1024,3072] gelu = gelu($0)   $0 = mm_2[3072,1]": one line, for goldens and the session.
std::string loop_text(const LoopProgram& program, const Loop& loop);
std::string loops_text(const LoopProgram& program);

// The graph of stage "loops": views are gone, operators read roots, and each carries its loop's text.
ir::GraphPtr loops_graph(const LoopProgram& program, const std::string& stage);

std::string nest_text(const ir::Dims& dims, const char* separator = ",");

}  // namespace vitrine::fusion
