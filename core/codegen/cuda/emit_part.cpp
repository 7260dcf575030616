#include "core/codegen/cuda/emit_part.h"

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

class PartEmitter : ThreadText {
 public:
  PartEmitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
              const LaunchShape& shape, size_t launch, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, launch, sizes) {}

  Kernel emit() { return kernel(); }

 private:
  // ---- parts of rows ---------------------------------------------------------------------------------
  bool walks() const { return launch_ < s_.phases.size(); }
  // Columns of a part: whole turns of the block.
  ir::Sym part_columns() const {
    const int64_t turn = int64_t{1} * shape_.group * vector();
    return ir::ceildiv(s_.columns(), s_.parts * turn) * turn;
  }
  std::string once() const { return walks() ? "part == 0 && lane == 0" : "lane == 0"; }
  // One phase of a part of each row, after the sums of the phases before.
  void content() override {
    const std::string type = index_type();
    line("const int lane = threadIdx.x;");
    line(type + " r = blockIdx.x" + (walks() ? " / " + sized(s_.parts) + ";" : ";"));
    if (walks()) line("const int part = blockIdx.x % " + sized(s_.parts) + ";");
    decode_row(s_.rows);
    row_values(0, once());
    for (size_t p = 0; p < launch_; ++p) {
      for (int i : reductions(p)) add_parts(value(i));
      row_values(static_cast<int>(p) + 1, once());
    }
    if (walks()) walk(launch_);
  }
  void add_parts(const ScheduledValue& v) {
    const Pair* pair = pair_of(v);
    const std::string acc = "acc_" + v.name, at = "[r * " + sized(s_.parts) + " + t]";
    std::string more = part(v) + at;
    if (pair)
      more = settled(*pair, more, part(value(pair->first)) + at, columns_of("t", v), value(pair->first).name,
                     sized(s_.columns()));
    line(lane_type(v.statement->dtype) + " " + acc + " = " + start_text(v) + ";", v.node);
    line("for (int t = lane; t < " + sized(s_.parts) + "; t += " + num(shape_.group) + ") " + acc + " = " +
             joined(v, acc, more) + ";",
         v.node);
    if (pair) mend(*pair, acc, value(pair->first).name);
    define_sum(v, folded(v), once());
  }
  const Pair* pair_of(const ScheduledValue& v) const {
    return second_of(static_cast<int>(&v - s_.values.data()));
  }
  // How many columns a part has.
  std::string columns_of(const std::string& part, const ScheduledValue& v) const {
    const std::string length = sized(part_columns()), all = sized(s_.columns());
    const std::string rest = all + " - " + part + " * " + length;
    return lane_type(v.statement->dtype) + "(" + rest + " < 0 ? 0 : " + rest + " < " + length + " ? " + rest +
           " : " + length + ")";
  }

  // ---- values ---------------------------------------------------------------------------------------
  void row_values(int p, const std::string& condition) {
    values_of_row(p, [&](const ScheduledValue& v) { store_once(v, static_cast<size_t>(p), condition); });
  }
  // known: the phase before which the value is known; with parts, the launch of that phase stores it.
  void store_once(const ScheduledValue& v, size_t known, const std::string& condition) {
    if (v.store < 0 || (s_.parts > 1 && known != launch_)) return;
    put_row(v, condition);
  }
  void compute(size_t phase, int i) {
    const ScheduledValue& v = value(i);
    const auto index = static_cast<int>(&v - s_.values.data());
    if (const Pair* pair = first_of(index)) return put_run(*pair);
    if (second_of(index)) return;
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name;
      return line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
    }
    define(v, stores_here(phase, i));
    if (stores_here(phase, i)) put_element(v, "");
  }

  // The columns of this thread, and the sums of the block's.
  void walk(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index);
    for (int i : reductions(index)) start(value(i));
    const std::string type = index_type(), run = vector() == 1 ? "" : " * " + num(vector()),
                      length = sized(part_columns()), all = sized(s_.columns());
    line("const " + type + " end = part * " + length + " + " + length + " < " + all + " ? part * " + length +
         " + " + length + " : " + all + ";");
    walk_batches(index, "part * " + length + " + lane" + run, "end", int64_t{1} * shape_.group * vector(),
                 [&] {
                   for (int l : p.loads)
                     if (!fetched(load(l))) load_run(load(l));
                   declare_stores(index);
                   each_of_run([&] {
                     for (int l : p.loads)
                       line(lane_type(load(l).dtype) + " " + load(l).name + " = " +
                                (fetched(load(l)) ? fetched_element(load(l)) : element(load(l))) + ";",
                            load(l).node);
                     for (int i : p.values) compute(index, i);
                   });
                   write_stores(index);
                 });
    for (int i : reductions(index)) leave(value(i));
  }
  // The block's sum, where the next launch finds it.
  void leave(const ScheduledValue& v) {
    if (const Pair* pair = pair_of(v)) {
      const std::string acc = "acc_" + v.name, first = value(pair->first).name;
      line(acc + " = " +
               settled(*pair, acc, "acc_" + first, "n_" + v.name, "acc_all_" + first, columns_of("part", v)) +
               ";",
           v.node);
    }
    line("const " + lane_type(v.statement->dtype) + " acc_all_" + v.name + " = " + folded(v) + ";", v.node);
    line("if (lane == 0) " + part(v) + "[blockIdx.x] = acc_all_" + v.name + ";", v.node);
  }
  void start(const ScheduledValue& v) {
    line(lane_type(v.statement->dtype) + " acc_" + v.name + " = " + start_text(v) + ";", v.node);
    if (const Pair* pair = pair_of(v)) count_of(*pair);
  }
  std::string folded(const ScheduledValue& v) const {
    return "fold_block<" + num(shape_.group) + ">(acc_" + v.name + ", " + functor(v) + "())";
  }
  void define_sum(const ScheduledValue& v, const std::string& sum, const std::string& condition) {
    line(lane_type(v.statement->dtype) + " " + v.name + " = " +
             (v.statement->output >= 0 ? narrowed(sum, v.statement->dtype) : sum) + ";",
         v.node);
    define_inverse(v);
    store_once(v, static_cast<size_t>(v.phase) + 1, condition);
  }
};

}  // namespace

Kernel emit_part(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                 const LaunchShape& shape, size_t launch, SizeMemory* sizes) {
  return PartEmitter(program, unit, schedule, shape, launch, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
