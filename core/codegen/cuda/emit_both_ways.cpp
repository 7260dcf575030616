#include "core/codegen/cuda/emit_both_ways.h"

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

namespace {

class BothWays : ThreadText {
 public:
  BothWays(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
           const LaunchShape& shape, size_t launch, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, launch, sizes) {}

  Kernel emit() { return kernel(); }

 private:
  void content() override { launch_ == 0 ? go_through_rows() : add_up(); }

  bool block_a_row() const { return shape_.rows_a_block() == 1; }
  bool exact_columns() const {
    return s_.columns().same(int64_t{1} * shape_.items * shape_.group * vector());
  }
  ir::Sym step() const { return shape_.blocks * shape_.rows_a_block(); }

  // ---- loads -----------------------------------------------------------------------------------------
  bool waits(const Load& l) const { return fetched(l) && !l.stands_still(s_.rows); }
  std::string packs(const char* prefix, const Load& l) const {
    return ThreadText::packs(prefix + l.name, l, shape_.items);
  }
  // Columns of this thread, a run at a time: what f writes for them.
  template <class F>
  void each_run(F&& f) {
    const std::string run = vector() == 1 ? "" : " * " + num(vector());
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
    line(std::string(index_type()) + " " + column_name() + " = (u * " + num(shape_.group) + " + lane)" + run +
         ";");
    if (!exact_columns()) line("if (" + column_name() + " >= " + sized(s_.columns()) + ") break;");
    decode_column();
    f();
    close();
  }
  // Packs of what `wanted` says; of row r, which is decoded.
  template <class W>
  void read_packs(const char* prefix, W&& wanted) {
    bool any = false;
    for (const Load& l : s_.loads) any |= wanted(l);
    if (!any) return;
    each_run([&] {
      for (const Load& l : s_.loads)
        if (wanted(l)) line(prefix + l.name + "[u] = " + read_pack(l), l.node);
    });
  }
  std::string of_row(const Load& l) const {
    return pointer(argument(l.argument)) + "[" + IndexText::trimmed(index_.row(l.strides, l.offset)) + "];";
  }
  // fetch(r): row r's values set out for registers, where they lie until that row's turn.
  void declare_fetch() {
    for (const Load& l : s_.loads) {
      if (waits(l)) line(packs("n_", l), l.node);
      if (l.per_row) line(memory_type(l.dtype) + " n_" + l.name + ";", l.node);
    }
    open(std::string("auto fetch = [&](") + index_type() + " r) {");
    decode_row(s_.rows);
    for (const Load& l : s_.loads)
      if (l.per_row) line("n_" + l.name + " = " + of_row(l), l.node);
    read_packs("n_", [&](const Load& l) { return waits(l); });
    close("};");
  }
  void take_row() {
    for (const Load& l : s_.loads)
      if (l.per_row)
        line(lane_type(l.dtype) + " " + l.name + " = " +
                 (shape_.ahead ? "wide(n_" + l.name + ");" : loads_.element(l, true) + ";"),
             l.node);
    for (const Load& l : s_.loads)
      if (waits(l)) line(packs("p_", l), l.node);
    if (!shape_.ahead) return read_packs("p_", [&](const Load& l) { return waits(l); });
    line("#pragma unroll");
    open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
    for (const Load& l : s_.loads)
      if (waits(l)) line("p_" + l.name + "[u] = n_" + l.name + "[u];", l.node);
    close();
    line("if (r + " + sized(step()) + " < " + sized(s_.row_count()) + ") fetch(r + " + sized(step()) + ");");
  }

  // ---- rows ------------------------------------------------------------------------------------------
  void go_through_rows() {
    const std::string type = index_type();
    std::string first = "blockIdx.x";
    if (block_a_row()) {
      line("const int lane = threadIdx.x;");
    } else {
      line("const int lane = threadIdx.x % " + num(shape_.group) + ", level = threadIdx.x / " +
           num(shape_.group) + ";");
      first += " * " + num(shape_.rows_a_block()) + " + level";
    }
    for (int i : s_.sums()) start_column_sum(value(i));
    for (const Load& l : s_.loads)
      if (fetched(l) && !waits(l) && asked_in_rows(l)) line(packs("p_", l), l.node);
    read_packs("p_", [&](const Load& l) { return fetched(l) && !waits(l) && asked_in_rows(l); });
    if (shape_.ahead) declare_fetch();
    line(type + " r = " + first + ";");
    if (shape_.ahead) line("if (r < " + sized(s_.row_count()) + ") fetch(r);");
    open("for (; r < " + sized(s_.row_count()) + "; r += " + sized(step()) + ") {");
    decode_row(s_.rows);
    take_row();
    for (size_t p = 0; p <= s_.phases.size(); ++p) {
      row_values(static_cast<int>(p));
      if (p < s_.phases.size()) phase(p);
    }
    close();
    for (int i : s_.sums()) leave(value(i));
  }
  bool asked_in_rows(const Load& l) const {
    return std::any_of(s_.phases.begin(), s_.phases.end(), [&](const Phase& p) {
      return std::any_of(p.loads.begin(), p.loads.end(), [&](int i) { return &load(i) == &l; });
    });
  }
  void row_values(int p) {
    for (const OperandSource& s : s_.once(p)) {
      if (s.kind == OperandSource::Kind::load) continue;
      const ScheduledValue& v = value(s.index);
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      if (v.store >= 0) put_row(v, "lane == 0");
    }
  }
  void phase(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index);
    for (int i : reductions(index))
      if (!value(i).per_column)
        line(lane_type(value(i).statement->dtype) + " acc_" + value(i).name + " = " + start_text(value(i)) +
                 ";",
             value(i).node);
    each_run([&] {
      for (int l : p.loads)
        if (!fetched(load(l))) load_run(load(l));
      declare_stores(index);
      each_of_run([&] {
        for (int l : p.loads) name_load(load(l));
        for (int i : p.values) compute(index, i);
      });
      write_stores(index);
    });
    std::vector<int> sums = reductions(index);
    std::erase_if(sums, [&](int i) { return value(i).per_column; });
    fold_pairs(sums);
    for (int i : sums) fold(value(i));
  }
  void name_load(const Load& l) {
    line(lane_type(l.dtype) + " " + l.name + " = " + (fetched(l) ? fetched_element(l) : element(l)) + ";",
         l.node);
  }
  void compute(size_t index, int i) {
    const ScheduledValue& v = value(i);
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name + (v.per_column ? at() : "");
      return line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
    }
    define(v, stores_here(index, i));
    if (stores_here(index, i)) put_element(v, "");
  }
  void fold(const ScheduledValue& v) {
    const std::string x = folded_text(v);
    line(lane_type(v.statement->dtype) + " " + v.name + " = " +
             (v.statement->output >= 0 ? narrowed(x, v.statement->dtype) : x) + ";",
         v.node);
    define_inverse(v);
    if (v.store >= 0) put_row(v, "lane == 0");
  }

  // ---- columns ---------------------------------------------------------------------------------------
  std::string at() const { return vector() == 1 ? "[u]" : "[u * " + num(vector()) + " + k]"; }
  void start_column_sum(const ScheduledValue& v) {
    const std::string size = num(int64_t{1} * shape_.items * vector());
    line(lane_type(v.statement->dtype) + " acc_" + v.name + "[" + size + "];", v.node);
    line("#pragma unroll");
    line("for (int k = 0; k < " + size + "; ++k) acc_" + v.name + "[k] = " + start_text(v) + ";", v.node);
  }
  void leave(const ScheduledValue& v) {
    if (!block_a_row())
      line("fold_across<" + num(shape_.group) + ", " + num(shape_.rows_a_block()) + ">(acc_" + v.name + ", " +
               functor(v) + "());",
           v.node);
    if (!block_a_row()) open("if (level == 0) {");
    each_run([&] {
      each_of_run([&] {
        line(part(v) + "[blockIdx.x * " + sized(s_.columns()) + " + " + column_name() +
                 (vector() == 1 ? "" : " + k") + "] = acc_" + v.name + at() + ";",
             v.node);
      });
    });
    if (!block_a_row()) close();
  }
  // The second launch: the walkers' sums of a few columns, and what follows from these.
  void add_up() {
    const std::string type = index_type(), c = column_name(), deep = num(shape_.rows_a_block());
    const bool exact = ir::divides(shape_.group, s_.columns());
    line("const int lane = threadIdx.x % " + num(shape_.group) + ", level = threadIdx.x / " +
         num(shape_.group) + ";");
    line(type + " " + c + " = blockIdx.x * " + num(shape_.group) + " + lane;");
    if (!exact) {
      line("const bool inside = " + c + " < " + sized(s_.columns()) + ";");
      line("if (!inside) " + c + " = 0;  // works along, for the others wait for it");
    }
    for (int i : s_.sums())
      line(lane_type(value(i).statement->dtype) + " acc_" + value(i).name + "[1] = {" + start_text(value(i)) +
               "};",
           value(i).node);
    line("#pragma unroll 8");
    open("for (int t = level; t < " + sized(s_.walkers) + "; t += " + deep + ") {");
    for (int i : s_.sums()) {
      const ScheduledValue& v = value(i);
      const std::string acc = "acc_" + v.name + "[0]";
      line(acc + " = " + joined(v, acc, part(v) + "[t * " + sized(s_.columns()) + " + " + c + "]") + ";",
           v.node);
    }
    close();
    for (int i : s_.sums())
      line("fold_across<" + num(shape_.group) + ", " + deep + ">(acc_" + value(i).name + ", " +
               functor(value(i)) + "());",
           value(i).node);
    line(std::string("if (level > 0") + (exact ? "" : " || !inside") + ") return;");
    decode_column();
    std::vector<bool> known(s_.loads.size(), false);
    for (const ScheduledValue& v : s_.values)
      if (v.per_column) column_value(v, known);
  }
  void column_value(const ScheduledValue& v, std::vector<bool>& known) {
    if (reduces(v)) {
      const std::string sum = "acc_" + v.name + "[0]";
      line(lane_type(v.statement->dtype) + " " + v.name + " = " +
               (v.statement->output >= 0 ? narrowed(sum, v.statement->dtype) : sum) + ";",
           v.node);
    } else {
      for (const OperandSource& s : v.used) {
        if (s.kind != OperandSource::Kind::load || known[static_cast<size_t>(s.index)]) continue;
        known[static_cast<size_t>(s.index)] = true;
        const Load& l = load(s.index);
        line(lane_type(l.dtype) + " " + l.name + " = " + loads_.element(l, l.per_row) + ";", l.node);
      }
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
    }
    if (v.store >= 0)
      line("put(" + pointer(argument(v.store)) + "[" + IndexText::trimmed(index_.column(v.store_strides)) +
               "], " + v.name + ");",
           v.node);
  }
};

}  // namespace

Kernel emit_both_ways(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                      const LaunchShape& shape, size_t launch, SizeMemory* sizes) {
  return BothWays(program, unit, schedule, shape, launch, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
