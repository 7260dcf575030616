#include "core/codegen/cuda/emit.h"

#include <algorithm>

#include "core/codegen/cuda/emit_across.h"
#include "core/codegen/cuda/emit_both_ways.h"
#include "core/codegen/cuda/emit_part.h"
#include "core/codegen/cuda/emit_product.h"
#include "core/codegen/cuda/emit_tile.h"
#include "core/codegen/cuda/load_text.h"
#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

using fusion::Statement;

namespace {

// Elements, or whole rows of a group of threads each.
class Emitter : ThreadText {
 public:
  Emitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
          const LaunchShape& shape, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, 0, sizes) {
    // A row that a group keeps is no longer than its registers.
    const int64_t room =
        int64_t{1} * shape.items * shape.group * shape.vector - (shape.shifted ? shape.vector - 1 : 0);
    VITRINE_CHECK(!s.reduces || !shape.registers || !s.columns().symbolic() || s.columns() <= room,
                  "a row is longer than its registers");
    find_kept();
  }

  Kernel emit() { return kernel(); }

 private:
  // Loads that more than one phase reads stay in registers, so that memory is passed over once.
  void find_kept() {
    kept_.assign(s_.loads.size(), false);
    if (!s_.reduces || !shape_.registers) return;
    for (size_t l = 0; l < s_.loads.size(); ++l) {
      if (s_.loads[l].kind != Load::Kind::memory && s_.loads[l].kind != Load::Kind::drawn) continue;
      int phases = 0;
      for (const Phase& p : s_.phases)
        phases += std::find(p.loads.begin(), p.loads.end(), static_cast<int>(l)) != p.loads.end();
      kept_[l] = phases > 1;
    }
  }

  void content() override { s_.reduces ? rows() : elements(); }

  // ---- values ----------------------------------------------------------------------------------------
  // What is known of a row before phase `p`.
  void row_values(int p, const std::string& condition) {
    values_of_row(p, [&](const ScheduledValue& v) { store_once(v, condition); });
    for (const Load& l : s_.loads)
      if (l.gathered_by_row && !l.per_row && l.phase == p) line(loads_.row_begin(l), l.node);
  }
  void store_once(const ScheduledValue& v, const std::string& condition) {
    if (v.store >= 0) put_row(v, condition);
  }

  // ---- pointwise -------------------------------------------------------------------------------------
  void elements() {
    const Phase& p = s_.phases[0];
    const bool ahead = std::any_of(p.loads.begin(), p.loads.end(), [&](int l) { return waits(load(l)); });
    if (ahead) {
      for (int l : p.loads)
        if (waits(load(l))) line(packs("p_" + load(l).name, load(l), shape_.items), load(l).node);
      each_item([&] {
        for (int l : p.loads)
          if (waits(load(l))) line("p_" + load(l).name + "[u] = " + read_pack(load(l)), load(l).node);
      });
    }
    each_item([&] {
      row_values(0, "c == 0");
      for (int l : p.loads)
        if (!waits(load(l))) load_run(load(l));
      declare_stores(0);
      each_of_run([&] {
        for (int l : p.loads) load_element(0, l);
        values(0, p, "");
      });
      write_stores(0);
    });
  }
  // Elements that lie alone are read some at a time before any is written: the compiler does not know that
  // what is written is not read next.
  bool waits(const Load& l) const {
    if (s_.reduces) return !shape_.registers && fetched(l);
    return vector() == 1 && shape_.items > 2 && shape_.turn == 0 && fetched(l);
  }
  // What f writes for element i, which is c of row r.
  template <class F>
  void each_item(F&& f) {
    const ir::Sym total = kernel_.work;
    const std::string type = index_type();
    const std::string run = vector() == 1 ? "" : " * " + num(vector());
    if (shape_.turn > 0) {
      line("const " + type + " first = ((" + type + ")blockIdx.x * " + num(shape_.threads) +
           " + threadIdx.x)" + run + ";");
      line("const " + type + " at = first % " + sized(shape_.turn) + ", group = first / " +
           sized(shape_.turn) + ";");
      draw_turns();
      line("#pragma unroll");
      open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
      line(type + " i = (group * " + num(shape_.items) + " + u) * " + sized(shape_.turn) + " + at;");
    } else if (shape_.items > 1) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
      line(type + " i = ((" + type + ")(blockIdx.x * " + num(shape_.items) + " + u) * " +
           num(shape_.threads) + " + threadIdx.x)" + run + ";");
    } else {
      line(type + " i = ((" + type + ")blockIdx.x * " + num(shape_.threads) + " + threadIdx.x)" + run + ";");
    }
    line(std::string("if (i >= ") + sized(total) + ") " + (shape_.items > 1 ? "break;" : "return;"));
    if (s_.rows > 0) {
      line(type + " c = i % " + sized(inner()) + ";");
      line(type + " r = i / " + sized(inner()) + ";");
      decode_row(s_.rows);
    } else {
      line(type + " c = i;");
    }
    f();
    if (shape_.items > 1) close();
  }
  // What one call of the generator gives for each element of a run and those `turn` further on.
  void draw_turns() {
    for (const Load& l : s_.loads) {
      if (l.kind != Load::Kind::drawn) continue;
      line("Four p_" + l.name + "[" + num(vector()) + "];", l.node);
      const std::string from = l.draw.from ? "(offset + " + sized(l.draw.from) + ")" : "offset";
      line("#pragma unroll");
      line("for (int k = 0; k < " + num(vector()) + "; ++k) p_" + l.name + "[k] = philox(seed, " + from +
               " / 4 + group, at + k);",
           l.node);
    }
  }
  void values(size_t phase, const Phase& p, const std::string& kept_at) {
    for (size_t k = 0; k < p.values.size(); ++k) {
      for (const Phase::Late& late : p.late)
        if (late.before == k) load_element(phase, late.load);
      compute(phase, p.values[k], kept_at);
    }
  }
  // A value of one element: into its name, the accumulator it feeds, or memory.
  void compute(size_t phase, int i, const std::string& kept_at) {
    const ScheduledValue& v = value(i);
    if (const Pair* pair = first_of(i)) return put_run(*pair);
    if (second_of(i)) return;
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name;
      line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
      return;
    }
    define(v, stores_here(phase, i));
    if (v.kept() && !kept_at.empty()) line("row_" + v.name + kept_at + " = " + v.name + ";", v.node);
    if (!stores_here(phase, i)) return;
    put_element(v, s_.reduces && !exact_rows() ? "if (inside) " : "");
  }

  // ---- rows ------------------------------------------------------------------------------------------
  bool exact_rows() const { return ir::divides(shape_.rows_a_block(), s_.row_count()); }
  bool exact_columns() const {
    return s_.columns().same(int64_t{1} * shape_.items * shape_.group * vector()) && shape_.registers &&
           !shape_.shifted;
  }
  std::string first_thread() const {
    return std::string(exact_rows() ? "" : "inside && ") + (clustered() ? "part == 0 && " : "") + "lane == 0";
  }

  void rows() {
    const std::string type = index_type();
    const int beside = shape_.rows_a_block();
    if (beside == 1) {
      line("const int lane = threadIdx.x;");
      if (clustered()) line("const int part = blockIdx.x % " + num(shape_.cluster) + ";");
      line(type + " r = blockIdx.x" + (clustered() ? " / " + num(shape_.cluster) : "") + ";");
    } else {
      line("const int lane = threadIdx.x % " + num(shape_.group) + ";");
      line(type + " r = (" + type + ")blockIdx.x * " + num(beside) + " + threadIdx.x / " + num(shape_.group) +
           ";");
      if (!exact_rows()) {
        line("const bool inside = r < " + sized(s_.row_count()) + ";");
        line("if (!inside) r = " + sized(s_.row_count() - 1) +
             ";  // works along, for the others need its warp");
      }
    }
    decode_row(s_.rows);
    shift_row();
    if (clustered()) declare_stretch();
    declare_shared();
    if (shape_.registers) declare_kept();
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      row_values(static_cast<int>(p), first_thread());
      phase(p);
    }
    row_values(static_cast<int>(s_.phases.size()), first_thread());
  }
  std::string size() const {
    return "[" + num(shape_.items) + (vector() > 1 ? "][" + num(vector()) : "") + "]";
  }
  std::string at() const { return vector() > 1 ? "[u][k]" : "[u]"; }
  void declare_kept() {
    for (size_t l = 0; l < s_.loads.size(); ++l)
      if (kept_[l])
        line(lane_type(s_.loads[l].dtype) + " row_" + s_.loads[l].name + size() + ";", s_.loads[l].node);
    for (const ScheduledValue& v : s_.values)
      if (v.kept()) line(lane_type(v.statement->dtype) + " row_" + v.name + size() + ";", v.node);
  }

  void phase(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index);
    for (int i : reductions(index)) start(value(i));
    shape_.registers ? walk_registers(index) : walk_memory(index);
    fold_pairs(reductions(index));
    if (clustered() && !begun_ && !reductions(index).empty()) {
      line("await_cluster();");
      begun_ = true;
    }
    for (int i : reductions(index)) {
      if (const Pair* pair = second_of(i)) settle(*pair);
      fold(value(i));
    }
  }
  void settle(const Pair& pair) {
    const ScheduledValue &first = value(pair.first), &second = value(pair.second);
    const std::string acc = "acc_" + second.name;
    line(acc + " = " +
             settled(pair, acc, "acc_" + first.name, "n_" + second.name, first.name, sized(s_.columns())) +
             ";",
         second.node);
    mend(pair, acc, first.name);
  }

  // The columns of this thread: those that it keeps, or a walk through memory.
  void walk_registers(size_t index) {
    const std::string type = index_type(), run = vector() == 1 ? "" : " * " + num(vector());
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
    line(type + " " + column_name() + " = (u * " + num(shape_.group) + " + lane)" + run +
         (shape_.shifted ? " - shift;" : ";"));
    if (!exact_columns()) line("if (" + column_name() + " >= " + sized(s_.columns()) + ") break;");
    decode_column();
    whole_run();
    one_run(index);
    close();
  }
  void walk_memory(size_t index) {
    const std::string first = vector() == 1 ? "lane" : "lane * " + num(vector());
    const int64_t step = int64_t{1} * shape_.group * vector();
    const std::string from = clustered()   ? "first + "
                             : shape_.ends ? "head + "
                                           : "",
                      to = clustered()   ? "end"
                           : shape_.ends ? "tail"
                                         : sized(s_.columns());
    walk_batches(index, from + first, to, step, [&] { one_run(index); });
    if (shape_.ends) walk_ends(index, [&] { one_run(index); });
  }
  void one_run(size_t index) {
    const Phase& p = s_.phases[index];
    for (int l : p.loads)
      if (shape_.registers ? !kept_[static_cast<size_t>(l)] || first_load(l) == index : !fetched(load(l)))
        load_run(load(l));
    declare_stores(index);
    each_of_run([&] {
      leave_out();
      for (int l : p.loads) load_element(index, l);
      for (int i : p.from_scratch) {
        const ScheduledValue& v = value(i);
        line(lane_type(v.statement->dtype) + " " + v.name + " = row_" + v.name + at() + ";", v.node);
      }
      values(index, p, shape_.registers ? at() : "");
    });
    if (exact_rows()) return write_stores(index);
    const size_t before = text_.size();
    const int32_t lines = lines_;
    open("if (inside) {");
    write_stores(index);
    close();
    if (lines_ == lines + 2) text_.resize(before), lines_ = lines;  // nothing to write
  }
  void load_element(size_t index, int l) {
    const Load& from = load(l);
    if (known_of_run(from)) return;
    const std::string type = lane_type(from.dtype) + " " + from.name + " = ";
    if (waits(from)) return line(type + fetched_element(from) + ";", from.node);
    if (!kept_[static_cast<size_t>(l)]) return line(type + element(from) + ";", from.node);
    if (first_load(l) != index) return line(type + "row_" + from.name + at() + ";", from.node);
    line(type + element(from) + ";", from.node);
    line("row_" + from.name + at() + " = " + from.name + ";", from.node);
  }

  void start(const ScheduledValue& v) {
    line(lane_type(v.statement->dtype) + " acc_" + v.name + " = " + start_text(v) + ";", v.node);
    if (const Pair* pair = second_of(static_cast<int>(&v - s_.values.data()))) count_of(*pair);
  }
  void fold(const ScheduledValue& v) {
    VITRINE_CHECK(shape_.group <= 32 || shape_.rows_a_block() == 1,
                  "rows share the memory they are folded in");
    std::string x = folded_text(v);
    if (v.statement->output >= 0) x = narrowed(x, v.statement->dtype);
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + x + ";", v.node);
    define_inverse(v);
    store_once(v, first_thread());
  }

  std::vector<bool> kept_;  // by load: stays in registers between phases
  bool begun_ = false;      // all blocks of the cluster are known to run
};

}  // namespace

Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const LaunchShape& shape, size_t launch, SizeMemory* sizes) {
  if (schedule.both_ways()) return emit_both_ways(program, unit, schedule, shape, launch, sizes);
  if (schedule.across) return emit_across(program, unit, schedule, shape, launch, sizes);
  if (schedule.parts > 1) return emit_part(program, unit, schedule, shape, launch, sizes);
  if (shape.product > 0) return emit_product(program, unit, schedule, *few_rows(schedule), shape, sizes);
  if (shape.turned >= 0 && !schedule.reduces) return emit_tile(program, unit, schedule, shape, sizes);
  return Emitter(program, unit, schedule, shape, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
