// How one group of loop nests runs: rows, phases over a row, what each phase loads, computes, stores and
// keeps. A reduction ends a phase: what needs its result runs in the next. A value of an earlier phase is
// computed again where that is cheap, else kept in a scratch row.
//
// A row is what a reduction makes one value of, wherever it lies. Where neighbours in memory belong to
// neighbouring rows, lanes run across rows (`across`): the sums of a matrix's columns. Where rows are few and
// long, each is shared by several work items (`parts`): then every phase is a launch of its own, which leaves
// a sum a part in memory, and the next launch begins by adding these up, always in the same order. Where sums
// over all rows stand beside reductions of rows (`both_ways`), `walkers` go through the rows, each leaves a
// sum a column in memory, and a second launch adds these up.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/fusion/fuse.h"

namespace vitrine::codegen {

// A tensor that the kernel gets a pointer to.
struct Argument {
  ir::Ref root;
  ir::DType dtype = ir::DType::f32;
  std::string name;  // local to the text: the same for equal kernels of different layers
  bool written = false;
  bool by_value = false;  // of a GPU's kernel: a number in the host's memory, of which it gets the value
  int first_store = -1;   // written: first phase that stores to it
  int last_read = -1;     // read: last phase that loads from it
};

// What an operand of a value is.
struct OperandSource {
  enum class Kind : uint8_t { load, value };
  Kind kind = Kind::load;
  int index = 0;
  bool operator==(const OperandSource&) const = default;
};

// An index that moves a load by stride elements for each; fusion::Gathered.
struct Index {
  OperandSource from;
  ir::Sym stride = 1, size = 1;
  bool from_end = false;
  bool operator==(const Index& other) const {
    return from == other.from && stride.same(other.stride) && size.same(other.size) &&
           from_end == other.from_end;
  }
};

// One place that is loaded, or the place itself as a number, or whether it is within ranges, or the random
// number that is drawn for it. What does not
// move along the columns is done once a row.
struct Load {
  enum class Kind : uint8_t { memory, number, truth, drawn };
  Kind kind = Kind::memory;
  int argument = -1;  // memory
  ir::Dims strides;   // over Schedule::dims
  ir::Sym offset = 0;
  std::vector<fusion::Range> within;  // memory is touched only there; 0 elsewhere
  std::vector<Index> gathered;
  fusion::Draw draw;    // drawn
  int aligned_by = -1;  // drawn: argument whose address decides how
  bool per_row = true;
  std::string name;
  ir::NodeId node = -1;              // who asked for it first
  ir::DType dtype = ir::DType::f32;  // of an element
  int phase = 0;                     // before which what it is gathered by is known
  bool late = false;                 // gathered by a value of its own phase: loaded when it is asked for
  bool gathered_by_row = false;      // full, and all that it is gathered by are once a row
  bool affine() const { return kind == Kind::memory && within.empty() && gathered.empty(); }
  bool plain() const { return affine() || kind == Kind::number; }
  // The same for every row.
  bool stands_still(size_t rows) const {
    return affine() && std::all_of(strides.begin(), strides.begin() + static_cast<int64_t>(rows),
                                   [](const ir::Sym& s) { return s.same(0); });
  }
};

struct ScheduledValue {
  const fusion::Statement* statement = nullptr;
  std::vector<OperandSource> sources;  // by $ of the statement's expression
  std::vector<OperandSource> used;     // those that the expression names
  std::string name;
  ir::NodeId node = -1;
  bool per_row = false;
  bool per_column = false;  // a sum over all rows, or computed from such
  int phase = 0;            // earliest phase (per row: the phase before which it is known)
  int cost = 0;             // of computing it from loads, in vector additions
  int store = -1;           // argument it is written to, or -1
  ir::Dims store_strides;
  std::vector<Index> store_gathered;  // what moves the place that it is written to
  bool adds = false;                  // to what is there
  int scratch = -1;                   // scratch row it is kept in, or -1
  int host = -1;        // value whose output row keeps it meanwhile (itself: its own output), or -1
  std::string inverse;  // a sum's: name of 1 / sum, where it is wanted
  bool kept() const { return scratch >= 0 || host >= 0; }
};

struct Phase {
  std::vector<int> loads, values;  // full ones, in order; values include this phase's reductions
  std::vector<int> from_scratch;   // values read back
  struct Late {
    int load;
    size_t before;  // position in values
  };
  std::vector<Late> late;  // loads that are gathered by values of this phase
};

// Two reductions of x that one phase computes, although the second needs the first's result.
struct Pair {
  // first: max x, second: sum exp(x - first). first: sum x, second: sum (x - mean x)^2. first: the largest or
  // smallest x, second: the least `number` of those that equal it.
  enum class Kind : uint8_t { exponentials, squares, places };
  Kind kind;
  OperandSource x;
  int first, second;  // values
  OperandSource number = {};
};

// Of neighbouring columns: whether a vector of them is no load, forwards or backwards.
inline bool lies_apart(const ir::Sym& stride) {
  return stride > 1 || stride < -1;
}

struct Schedule {
  ir::Dims dims;
  size_t rows = 0;      // dims[0, rows) are decoded from the work item; the rest are columns
  bool across = false;  // neighbours in memory are rows: lanes run along dims[rows - 1]
  int64_t parts = 1;    // of a row; more than one: a launch a phase
  int64_t walkers = 0;  // both ways: that leave a sum a column
  bool turns = false;   // neighbours of some loads lie along dims[rows - 1]: rows are done by tiles of these
  int64_t block = 0;    // flat kernels: elements of one work item; else 0
  bool reduces = false;
  std::vector<Argument> arguments;
  std::vector<Load> loads;
  std::vector<ScheduledValue> values;
  std::vector<Phase> phases;
  std::vector<Pair> pairs;
  int scratch_rows = 0;
  bool gathers() const;  // some load is gathered by an index, which may be out of range
  // Whether a tile of rows turns the load over: its neighbours are rows, and columns lie apart.
  bool turned(const Load& load) const;
  int draws() const;  // segment of the program's draws that it takes part in; -1: it draws nothing
  // The value that the operand of v's expression is; nullptr: it is none.
  const ScheduledValue* source(const ScheduledValue& v, const fusion::ExprPtr& operand) const;
  // Whether the value is an operand's as it is, or one of several: already what memory would hold.
  bool only_moves(const ScheduledValue& value) const;
  // Whether it is exp(x - max), of a row's max.
  bool is_exponential(const ScheduledValue& value) const;
  // For exp(x - max) / sum: the sum, which is 1 or more, so that a product with its inverse does not overflow
  // where the quotient would not. nullptr: any other value.
  const ScheduledValue* exponential_sum(const ScheduledValue& value) const;
  // Whether all that comes of it, as far as this kernel computes it, is rounded to 16 bits.
  bool ends_narrow(int value) const;
  // Whether another value, a load or a store asks for it.
  bool is_read(int value) const;
  // What is done once a row before the phase (phases.size(): after the last), in order.
  std::vector<OperandSource> once(int phase) const;
  ir::Sym row_count() const;
  ir::Sym columns() const;
  bool both_ways() const;
  // Launches: one, or one a phase and another where the last phase leaves sums, or two if both ways.
  size_t launches() const;
  bool reduces_in(size_t phase) const;
  // Whether this launch computes the value for each element; reads or writes the argument.
  bool computes(size_t launch, int value) const;
  bool touches(size_t launch, int argument) const;
  // Whether sums pass from one launch to the next through memory, and which values these are, in order.
  bool leaves_sums() const { return parts > 1 || both_ways(); }
  std::vector<int> sums() const;
};

// Where values wait for a later phase.
struct Keeping {
  int64_t scratch_bytes = 48 << 10;  // of one row's values; the default stays in a core's first-level cache
  bool in_outputs = true;            // in the row of an output that is written later anyhow
  std::vector<std::string_view> reserved = {};  // words of the dialect's prelude
};

// stored: roots that something outside the group needs.
Schedule make_schedule(const fusion::LoopProgram& program, const fusion::Group& group,
                       const std::vector<ir::Ref>& stored, const Keeping& keeping);

}  // namespace vitrine::codegen
