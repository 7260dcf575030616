#include "core/codegen/cuda/emit_part.h"

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

using cpp::Argument;
using cpp::Load;
using cpp::Phase;
using cpp::Value;
using ir::Dims;

namespace {

class Part : ThreadText {
 public:
  Part(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& s,
       const Shape& shape, size_t launch)
      : ThreadText(program, unit, s, shape, launch) {}

  Kernel emit() { return kernel(); }

 private:
  // ---- parts of rows ---------------------------------------------------------------------------------
  bool walks() const { return launch_ < s_.phases.size(); }
  // Columns of a part: whole turns of the block.
  int64_t part_columns() const {
    const int64_t turn = int64_t{1} * shape_.group * vector();
    return (s_.columns() + s_.parts * turn - 1) / (s_.parts * turn) * turn;
  }
  std::string once() const { return walks() ? "part == 0 && lane == 0" : "lane == 0"; }
  // One phase of a part of each row, after the sums of the phases before.
  void content() override {
    const std::string type = index_type();
    line("const int lane = threadIdx.x;");
    line(type + " r = blockIdx.x" + (walks() ? " / " + num(s_.parts) + ";" : ";"));
    if (walks()) line("const int part = blockIdx.x % " + num(s_.parts) + ";");
    decode_row(s_.rows);
    row_loads();
    row_values(0, once());
    for (size_t p = 0; p < launch_; ++p) {
      for (int i : reductions(p)) add_parts(value(i));
      row_values(static_cast<int>(p) + 1, once());
    }
    if (walks()) walk(launch_);
  }
  void add_parts(const Value& v) {
    start(v);
    line("for (int t = lane; t < " + num(s_.parts) + "; t += " + num(shape_.group) + ") acc_" + v.name +
             " = " + joined(v, "acc_" + v.name, part(v) + "[r * " + num(s_.parts) + " + t]") + ";",
         v.node);
    define_sum(v, folded(v), once());
  }

  // ---- values ---------------------------------------------------------------------------------------
  std::string row_offset(const Dims& strides, int64_t offset) const {
    std::string out;
    for (size_t k = 0; k < s_.rows; ++k)
      out += term(s_.rows == 1 ? "r" : "i" + num(static_cast<int64_t>(k)), strides[k]);
    return out + (offset ? " + " + num(offset) : "");
  }
  void row_values(int p, const std::string& condition) {
    for (const Value& v : s_.values) {
      if (!v.per_row || reduces(v) || v.phase != p) continue;
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store_once(v, static_cast<size_t>(p), condition);
    }
  }
  // known: the phase before which the value is known; with parts, the launch of that phase stores it.
  void store_once(const Value& v, size_t known, const std::string& condition) {
    if (v.store < 0 || (s_.parts > 1 && known != launch_)) return;
    line("if (" + condition + ") put(" + pointer(argument(v.store)) + "[" +
             trimmed(row_offset(v.store_strides, 0)) + "], " + v.name + ");",
         v.node);
  }
  void row_loads() {
    for (const Load& l : s_.loads)
      if (l.per_row)
        line(lane_type(argument(l.argument).dtype) + " " + l.name + " = wide(" +
                 pointer(argument(l.argument)) + "[" + trimmed(row_offset(l.strides, l.offset)) + "]);",
             l.node);
  }

  // A run of a load, as a Pack where it lies together.
  void load_run(const Load& l) {
    const Argument& a = argument(l.argument);
    if (together(l.strides, l.offset, s_.dims.size() - 1))
      line("Pack<" + memory_type(a.dtype) + ", " + num(vector()) + "> p_" + l.name +
               " = load_pack<aligned, " + num(vector()) + ">(" + pointer(a) +
               row_offset(l.strides, l.offset) + column_offset(l.strides) + ");",
           l.node);
  }
  // One element of the run.
  std::string element(const Load& l) const {
    const Argument& a = argument(l.argument);
    if (together(l.strides, l.offset, s_.dims.size() - 1)) return "wide(p_" + l.name + ".v[k])";
    std::string at = row_offset(l.strides, l.offset) + column_offset(l.strides);
    if (vector() > 1) at += term("k", l.strides.back());
    return "wide(" + pointer(a) + "[" + trimmed(at) + "])";
  }

  void declare_stores(const Phase& p, size_t phase) {
    for (int i : p.values) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      if (stores_here(phase, i) && together(v.store_strides, 0, s_.dims.size() - 1))
        line("Pack<" + memory_type(argument(v.store).dtype) + ", " + num(vector()) + "> q_" + v.name + ";",
             v.node);
    }
  }
  void write_stores(const Phase& p, size_t phase) {
    for (int i : p.values) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      if (stores_here(phase, i) && together(v.store_strides, 0, s_.dims.size() - 1))
        line("store_pack<aligned, " + num(vector()) + ">(" + pointer(argument(v.store)) +
                 row_offset(v.store_strides, 0) + column_offset(v.store_strides) + ", q_" + v.name + ");",
             v.node);
    }
  }
  void compute(size_t phase, int i) {
    const Value& v = value(i);
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name;
      return line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
    }
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
    if (!stores_here(phase, i)) return;
    if (together(v.store_strides, 0, s_.dims.size() - 1))
      return line("put(q_" + v.name + ".v[k], " + v.name + ");", v.node);
    std::string at = row_offset(v.store_strides, 0) + column_offset(v.store_strides);
    if (vector() > 1) at += term("k", v.store_strides.back());
    line("put(" + pointer(argument(v.store)) + "[" + trimmed(at) + "], " + v.name + ");", v.node);
  }

  // The columns of this thread, and the sums of the block's.
  void walk(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index);
    for (int i : reductions(index)) start(value(i));
    const std::string type = index_type(), run = vector() == 1 ? "" : " * " + num(vector()),
                      length = num(part_columns()), all = num(s_.columns());
    line("const " + type + " end = part * " + length + " + " + length + " < " + all + " ? part * " + length +
         " + " + length + " : " + all + ";");
    line("#pragma unroll 4");
    open("for (" + type + " " + column_name() + " = part * " + length + " + lane" + run + "; " +
         column_name() + " < end; " + column_name() + " += " + num(int64_t{1} * shape_.group * vector()) +
         ") {");
    decode_column();
    for (int l : p.loads) load_run(load(l));
    declare_stores(p, index);
    each_of_run([&] {
      for (int l : p.loads)
        line(lane_type(load(l).dtype) + " " + load(l).name + " = " + element(load(l)) + ";", load(l).node);
      for (int i : p.values) compute(index, i);
    });
    write_stores(p, index);
    close();
    for (int i : reductions(index)) {
      const Value& v = value(i);
      line("const " + lane_type(v.statement->dtype) + " all_" + v.name + " = " + folded(v) + ";", v.node);
      line("if (lane == 0) " + part(v) + "[blockIdx.x] = all_" + v.name + ";", v.node);
    }
  }
  void start(const Value& v) {
    line(lane_type(v.statement->dtype) + " acc_" + v.name + " = " + start_text(v) + ";", v.node);
  }
  std::string folded(const Value& v) const {
    return "fold_block<" + num(shape_.group) + ">(acc_" + v.name + ", " + functor(v) + "())";
  }
  void define_sum(const Value& v, const std::string& sum, const std::string& condition) {
    line(lane_type(v.statement->dtype) + " " + v.name + " = " +
             (v.statement->output >= 0 ? narrowed(sum, v.statement->dtype) : sum) + ";",
         v.node);
    store_once(v, static_cast<size_t>(v.phase) + 1, condition);
  }
};

}  // namespace

Kernel emit_part(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& schedule,
                 const Shape& shape, size_t launch) {
  return Part(program, unit, schedule, shape, launch).emit();
}

}  // namespace vitrine::codegen::cuda
