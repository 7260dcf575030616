// What the texts of all kernels for a GPU have in common: parameters and their alignment, places in tensors,
// runs of neighbours that one access moves, values as expressions of one element, sums.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/expr_text.h"
#include "core/codegen/cuda/load_text.h"
#include "core/codegen/cuda/shape.h"
#include "core/codegen/schedule/kernel_text.h"
#include "core/codegen/schedule/size_memory.h"

namespace vitrine::codegen::cuda {

std::string memory_type(ir::DType t);
std::string lane_type(ir::DType t);
// A number of the host's by value, as a pointer like the others; what Kernel::by_value says.
std::string pointer_to_value(const Argument& argument);
// Sizes that change become parameters behind the pointers, 8 bytes each; a narrow one is declared as such, so
// that places are counted in 32 bits. kernel: as SizeMemory::resolve has it.
void resolve_sizes(SizeMemory& sizes, const std::string& kernel, Kernel& out);
std::vector<int32_t> value_bytes(const std::vector<Argument>& arguments);
// Of a reduction: where it starts, one step, the functor of the same.
std::string start_text(const ScheduledValue& v);
std::string joined(const ScheduledValue& v, const std::string& a, const std::string& b);
const char* functor(const ScheduledValue& v);

class ThreadText : protected KernelText {
 protected:
  ThreadText(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
             const LaunchShape& shape, size_t launch, SizeMemory* sizes);
  virtual ~ThreadText() = default;

  // The whole kernel: what content() writes, once for aligned pointers and once for others where runs need
  // it, between the head and the parameters.
  Kernel kernel();
  virtual void content() = 0;
  // The kernel and the function that it calls. head: of the kernel, up to its name.
  virtual void functions(const std::string& head);
  // Whether the argument is a pointer that the kernel gets.
  virtual bool is_given(const Argument& a) const {
    (void)a;
    return true;
  }
  // What stands before the functions, of which there may be two.
  virtual void outside() {}
  // Pointers behind the arguments, each after a comma.
  virtual std::string more_parameters(bool with_types) const {
    (void)with_types;
    return "";
  }
  // Neighbours that one access of a full load moves.
  virtual int run_of(const Load& load) const {
    return waits_turned(load) ? turned_vector(s_, load, shape_.turned) : in_run(load) ? vector() : 1;
  }
  // Whether these are read or written a run at a time, so that the pointer's alignment counts.
  virtual bool in_run(const Load& load) const { return loads_.together(load); }
  virtual bool in_run(const ScheduledValue& value) const;

  static std::string num(int64_t n) { return std::to_string(n); }
  // A number that follows from the sizes of tensors, which may be an argument.
  std::string sized(const ir::Sym& n) const { return sizes_ ? SizeMemory::mark(n) : num(n); }
  static std::string pointer(const Argument& a) { return (a.written ? "out_" : "in_") + a.name; }
  static std::string part(const ScheduledValue& v) { return "part_" + v.name; }
  static ir::DType lane_of(const ScheduledValue& v);
  static bool reduces(const ScheduledValue& v) {
    return v.statement->reduce != fusion::Statement::Reduce::none;
  }
  const Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }
  const ScheduledValue& value(int i) const { return s_.values[static_cast<size_t>(i)]; }
  const Load& load(int i) const { return s_.loads[static_cast<size_t>(i)]; }
  const ir::Sym& inner() const { return s_.dims.back(); }
  int vector() const { return shape_.vector; }
  // The type in which every place fits.
  const char* index_type() const { return index_type_; }

  // r -> i0, i1, ... where there are several of them; column -> c0, c1, ..., the innermost keeps the name c.
  void decode_row(size_t dims);
  void decode_column();
  std::string column_name() const { return s_.dims.size() - s_.rows < 2 ? "c" : "column"; }
  template <class F>
  void each_of_run(F&& f) {
    if (vector() == 1 && !arrays_of_one_) return f();
    line("#pragma unroll");
    open("for (int k = 0; k < " + num(at_ends_ ? 1 : vector()) + "; ++k) {");
    f();
    close();
  }

  // What is one a row and known before phase `p`: its line, then what store(value) writes for it.
  template <class F>
  void values_of_row(int p, F&& store) {
    for (const OperandSource& s : s_.once(p)) {
      if (s.kind == OperandSource::Kind::load) {
        const Load& l = load(s.index);
        line(lane_type(l.dtype) + " " + l.name + " = " + loads_.element(l, true) + ";", l.node);
        continue;
      }
      const ScheduledValue& v = value(s.index);
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store(v);
    }
  }

  // The values of one element of a kernel of one phase; `fetches`: what fetched() loads is in registers by
  // then.
  void values_of_element(bool fetches);

  // Values: as memory would hold them where they are an operator's result.
  static std::string narrowed(const std::string& text, ir::DType t);
  Typed named(const OperandSource& s) const;
  Typed operand(const ScheduledValue& v, int i) const { return named(v.sources[static_cast<size_t>(i)]); }
  std::string value_text(const ScheduledValue& v) const;
  // The value of one element by its name; `stored`: also in its memory's form, where that is narrower, so
  // that it is rounded once. put_text(): that into memory.
  void define(const ScheduledValue& v, bool stored);
  std::string put_text(const std::string& to, const ScheduledValue& v) const;
  // 1 / sum, where exponentials are divided by it.
  void define_inverse(const ScheduledValue& sum);
  std::vector<int> reductions(size_t phase) const;
  // Outputs that this phase is the first to compute.
  bool stores_here(size_t phase, int value) const;
  int first_phase(int value) const;
  void comment(size_t phase);
  // Sums of a whole block, two of a kind at a time: they wait for the others once. Those of a cluster each
  // have memory of their own for what its blocks send, so that nobody waits until it has been read.
  void fold_pairs(const std::vector<int>& values);
  // What a group's sum is, once each thread has its own.
  std::string folded_text(const ScheduledValue& v) const;

  // A load that goes to registers as it is some time before it is used, and its run.
  bool fetched(const Load& load) const {
    return !load.per_row && load.affine() && (vector() == 1 || in_run(load));
  }
  virtual std::string run_place(const Load& load) const { return loads_.place(load); }
  std::string packs(const std::string& name, const Load& load, int64_t count) const;
  std::string read_pack(const Load& load) const;
  std::string fetched_element(const Load& load) const;
  // Columns from `begin`, `step` apart, before `end`, which this thread computes some runs at a time, so that
  // several loads are under way: write() one run of `phase`.
  void walk_batches(size_t phase, const std::string& begin, const std::string& end, int64_t step,
                    const std::function<void()>& write);
  // The elements at the ends of a row, as runs of one.
  void walk_ends(size_t phase, const std::function<void()>& write);
  int batch(size_t phase) const;  // runs
  // each(f): f() for run u of column c, where there is one.
  void read_batch(size_t phase, int64_t runs, const std::function<void(const std::function<void()>&)>& each);
  // Of shifted rows: how far, once a row; whether a run is all within its row; nothing for elements that are
  // not.
  void shift_row();
  // Of a walk: whether a load that was read before waits in shared memory; where.
  bool waits_shared(const Load& load) const;
  void declare_shared();
  // Of turned rows: whether a load waits in shared memory, turned; all of these are brought there.
  bool waits_turned(const Load& load) const { return s_.reduces && is_turned(load, shape_.turned); }
  void read_turned();
  bool clustered() const { return shape_.cluster > 1; }
  // Of a block of a cluster: its columns, from `first` to `end`.
  void declare_stretch();
  std::string sent(const ScheduledValue& v) const { return "sent_" + v.name; }
  size_t first_load(int load) const;  // phase
  void whole_run();
  void leave_out();
  // Whether the pointers begin at multiples of what is read and written at once; "": of single elements.
  std::string alignment_test() const;
  // of_kernel: the kernel's own, of which some are numbers by value.
  std::string parameters(bool with_types, bool of_kernel = false) const;

  // Two reductions in one: the pair of a value; how many elements a thread has seen, where that counts; the
  // first's x of one element.
  const Pair* first_of(int value) const;
  const Pair* second_of(int value) const;
  void count_of(const Pair& pair);
  void put_run(const Pair& pair);
  // acc, the second of `count` elements whose first is `own`, as if their first were `all`, which is that of
  // all `total` elements; what it is where these cannot be told apart.
  std::string settled(const Pair& pair, const std::string& acc, const std::string& own,
                      const std::string& count, const std::string& all, const std::string& total) const;
  void mend(const Pair& pair, const std::string& acc, const std::string& all);

  // Runs of neighbouring columns: a load as a Pack where it lies together, one element of the run; Packs for
  // what the phase is the first to compute, each element put there (or to memory), and written.
  void load_run(const Load& load);
  virtual std::string element(const Load& load) const;
  std::string computed_text(const ScheduledValue& v) const;  // not rounded
  bool stored_narrow(const ScheduledValue& v) const;
  const ScheduledValue* inverted(const ScheduledValue& v) const;  // the sum by whose inverse it is multiplied
  bool drawn_run(const Load& load) const;                         // its numbers are drawn a run at a time
  bool known_of_run(const Load& load) const;  // whether it is within its part of the nest is
  void declare_stores(size_t phase);
  void put_element(const ScheduledValue& v, const std::string& guard);
  void write_stores(size_t phase);
  std::string gathered(const ScheduledValue& v) const;  // " + index_at(index, 10) * 768"
  // One value of row r.
  void put_row(const ScheduledValue& v, const std::string& condition);

  const fusion::LoopProgram& program_;
  const fusion::Unit& unit_;
  const Schedule& s_;
  const LaunchShape& shape_;
  const size_t launch_;      // which of the schedule's launches this is
  SizeMemory* const sizes_;  // null: all sizes are numbers of the text
  const IndexText index_;
  const LoadText loads_;
  const char* const index_type_;
  bool at_ends_ = false;        // what is written is of one element at an end of the row
  bool arrays_of_one_ = false;  // a run is an array even where it is one element

 private:
  std::set<const ScheduledValue*> folded_;  // in place already
  void count_costs();
  int run_of(const Argument& a) const;
  std::vector<const Pair*> pairs(size_t phase, Pair::Kind kind) const;
  void start_batch(size_t phase);
  void start_run(size_t phase);
  void end_run(size_t phase);
  void end_batch(size_t phase);
  void open_kernel(const std::string& head);
  void fetch_ahead();
  void fetch_matrices();
  // The first `blocks` ask for so many bytes each, `step` elements apart.
  void fetch_of_blocks(const Load& load, int64_t blocks, int64_t step, int64_t bytes);
  bool is_input(const Argument& a) const;
  std::string space(const std::function<std::string(const ir::Sym&)>& number) const;
  bool counts_narrow() const;
};

}  // namespace vitrine::codegen::cuda
