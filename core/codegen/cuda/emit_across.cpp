#include "core/codegen/cuda/emit_across.h"

#include <algorithm>
#include <set>

#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

using ir::Dims;

namespace {

class Across : ThreadText {
 public:
  Across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
         const LaunchShape& shape, size_t launch, SizeMemory* sizes)
      : ThreadText(program, unit, s, shape, launch, sizes),
        lane_dim_(s.rows - 1),
        rows_(s.dims[s.rows - 1]),
        tile_(int64_t{1} * shape.group * shape.vector),
        tiles_(ir::ceildiv(rows_, tile_)),
        in_tiles_(tiles_.symbolic() || tiles_.hint() > 1),
        deep_(shape.threads / shape.group),
        walks_(s.parts == 1 || launch < s.phases.size()) {
    arrays_of_one_ = true;
  }

  Kernel emit() { return kernel(); }

 private:
  void content() override {
    place();
    row_loads();
    row_pass(0);
    const size_t before = s_.parts == 1 ? s_.phases.size() : launch_;
    for (size_t p = 0; p < before; ++p) {
      s_.parts == 1 ? phase(p) : add_parts(p);
      row_pass(p + 1);
    }
    if (s_.parts > 1 && walks_) {
      phase(launch_);
      for (int i : reductions(launch_)) put_part(value(i));
    }
  }

  // ---- places ----------------------------------------------------------------------------------------
  bool exact() const { return ir::divides(tile_, rows_); }
  void place() {
    const std::string type = index_type();
    line("const int lane = threadIdx.x % " + num(shape_.group) + ", level = threadIdx.x / " +
         num(shape_.group) + ";");
    std::string rest = "blockIdx.x";
    line(type + " row = (" + type + ")(" + (in_tiles_ ? rest + " % " + sized(tiles_) : "0") + ") * " +
         num(tile_) + " + lane * " + num(vector()) + ";");
    if (in_tiles_) rest += " / " + sized(tiles_);
    if (!exact()) {
      line("const bool inside = row < " + sized(rows_) + ";");
      line("if (!inside) row = 0;  // works along, for the others wait for it");
    }
    if (s_.parts > 1 && walks_) {
      line("const int part = " + rest + " % " + sized(s_.parts) + ";");
      rest += " / " + sized(s_.parts);
    }
    if (s_.rows > 1) line(type + " r = " + rest + ";");
    if (s_.rows == 2) line(type + " i0 = r;");
    decode_row(lane_dim_);
    if (s_.parts > 1)
      line(type + " place = " + (s_.rows > 1 ? "r * " + sized(rows_) + " + row" : "row") + ";");
  }
  std::string row_offset(const Dims& strides, const ir::Sym& offset) const {
    std::string out;
    for (size_t k = 0; k < lane_dim_; ++k) out += index_.term("i" + num(static_cast<int64_t>(k)), strides[k]);
    return out + index_.term("row", strides[lane_dim_]) + (offset.same(0) ? "" : " + " + sized(offset));
  }
  std::string element_of(const Dims& strides, const ir::Sym& offset, bool columns) const {
    return "[" + sum_of(strides, offset, columns) + "]";
  }
  std::string sum_of(const Dims& strides, const ir::Sym& offset, bool columns) const {
    return IndexText::trimmed(row_offset(strides, offset) + (columns ? index_.column(strides) : "") +
                              index_.term("k", strides[lane_dim_]));
  }
  // Whether a run of neighbouring rows lies together, and begins at a multiple of its length.
  bool run(const Dims& strides, const ir::Sym& offset) const {
    if (vector() == 1 || !strides[lane_dim_].same(1) || !ir::divides(vector(), offset)) return false;
    for (size_t k = 0; k < strides.size(); ++k)
      if (k != lane_dim_ && !ir::divides(vector(), strides[k])) return false;
    return true;
  }
  bool in_run(const Load& l) const override { return run(l.strides, l.offset); }
  bool in_run(const ScheduledValue& v) const override { return run(v.store_strides, 0); }
  std::string run_place(const Load& l) const override {
    return row_offset(l.strides, l.offset) + index_.column(l.strides);
  }
  std::string size() const { return "[" + num(vector()) + "]"; }
  static std::string array(const ScheduledValue& v) { return (reduces(v) ? "acc_" : "row_") + v.name; }

  // ---- values of rows --------------------------------------------------------------------------------
  // What is one a row stays in registers, a run's length of it.
  void row_loads() {
    for (const Load& l : s_.loads) {
      if (!l.per_row) continue;
      line(lane_type(l.dtype) + " row_" + l.name + size() + ";", l.node);
      each_of_run([&] { line("row_" + l.name + "[k] = " + element_at(l, false) + ";", l.node); });
    }
  }
  // Names for what these values read of their row.
  void row_names(const std::vector<int>& values) {
    std::set<int> loads, known;
    for (int i : values)
      for (const OperandSource& s : value(i).used) {
        if (s.kind == OperandSource::Kind::load) {
          const Load& l = load(s.index);
          if (l.per_row && loads.insert(s.index).second)
            line("const " + lane_type(l.dtype) + " " + l.name + " = row_" + l.name + "[k];", l.node);
          continue;
        }
        const ScheduledValue& v = value(s.index);
        const bool here = std::find(values.begin(), values.end(), s.index) != values.end() && !reduces(v);
        if (v.per_row && !here && known.insert(s.index).second)
          line("const " + lane_type(v.statement->dtype) + " " + v.name + " = " + array(v) + "[k];", v.node);
      }
  }
  // Sums of the phase before `p`, and what follows from them before it.
  void row_pass(size_t p) {
    auto here = [&](const ScheduledValue& v) {
      return v.per_row && (reduces(v) ? v.phase + 1 : v.phase) == static_cast<int>(p);
    };
    for (const ScheduledValue& v : s_.values)
      if (here(v) && !reduces(v))
        line(lane_type(v.statement->dtype) + " row_" + v.name + size() + ";", v.node);
    std::vector<int> sums, values;
    for (size_t i = 0; i < s_.values.size(); ++i) {
      const ScheduledValue& v = s_.values[i];
      const bool rounded = reduces(v) && v.statement->output >= 0 &&
                           (v.store >= 0 || !narrowed("", v.statement->dtype).empty());
      if (here(v) && (rounded || !reduces(v))) (reduces(v) ? sums : values).push_back(static_cast<int>(i));
    }
    if (sums.empty() && values.empty()) return;
    each_of_run([&] {
      for (int i : sums) {
        const ScheduledValue& v = value(i);
        const std::string x = narrowed(array(v) + "[k]", v.statement->dtype);
        if (x != array(v) + "[k]") line(array(v) + "[k] = " + x + ";", v.node);
        put_rows(v, p, array(v) + "[k]");
      }
      row_names(values);
      for (int i : values) {
        const ScheduledValue& v = value(i);
        line("const " + lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
        line(array(v) + "[k] = " + v.name + ";", v.node);
        put_rows(v, p, v.name);
      }
    });
  }
  // With parts, by the first launch that knows the value; by one thread of the column.
  void put_rows(const ScheduledValue& v, size_t p, const std::string& x) {
    if (v.store < 0 || (s_.parts > 1 && p != launch_)) return;
    line(std::string("if (") + (exact() ? "" : "inside && ") +
             (s_.parts > 1 && walks_ ? "part == 0 && " : "") + "level == 0) put(" +
             pointer(argument(v.store)) + element_of(v.store_strides, 0, false) + ", " + x + ");",
         v.node);
  }

  // ---- phases ----------------------------------------------------------------------------------------
  const Pair* pair_of(const ScheduledValue& v) const {
    return second_of(static_cast<int>(&v - s_.values.data()));
  }
  void start(const ScheduledValue& v) {
    line(lane_type(v.statement->dtype) + " acc_" + v.name + size() + ";", v.node);
    each_of_run([&] { line("acc_" + v.name + "[k] = " + start_text(v) + ";", v.node); });
  }
  void fold(const ScheduledValue& v) {
    if (deep_ == 1) return;
    line("fold_across<" + num(shape_.group) + ", " + num(deep_) + ">(acc_" + v.name + ", " + functor(v) +
             "());",
         v.node);
  }
  void phase(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index);
    for (int i : reductions(index)) {
      start(value(i));
      if (const Pair* pair = second_of(i)) count_of(*pair);
    }
    walk(index, p);
    for (int i : reductions(index)) {
      if (first_of(i)) keep_own(value(i));
      if (const Pair* pair = second_of(i)) settle(*pair);
      fold(value(i));
    }
  }
  // What this thread has seen, besides the sum of all that share its rows.
  void keep_own(const ScheduledValue& v) {
    line(lane_type(v.statement->dtype) + " acc_own_" + v.name + size() + ";", v.node);
    each_of_run([&] { line("acc_own_" + v.name + "[k] = acc_" + v.name + "[k];", v.node); });
  }
  void settle(const Pair& pair) {
    const ScheduledValue &first = value(pair.first), &second = value(pair.second);
    const std::string acc = "acc_" + second.name + "[k]", all = "acc_" + first.name + "[k]";
    each_of_run([&] {
      line(acc + " = " +
               settled(pair, acc, "acc_own_" + first.name + "[k]", "n_" + second.name, all,
                       s_.parts > 1 ? columns_of("part") : sized(s_.columns())) +
               ";",
           second.node);
      if (s_.parts == 1) mend(pair, acc, all);
    });
  }
  // How many columns a part has.
  std::string columns_of(const std::string& part) const {
    const std::string length = sized(ir::ceildiv(s_.columns(), s_.parts)), all = sized(s_.columns());
    const std::string rest = all + " - " + part + " * " + length;
    return "(" + rest + " < 0 ? 0 : " + rest + " < " + length + " ? " + rest + " : " + length + ")";
  }
  // The elements of this thread: every so many of its rows' columns.
  void walk(size_t index, const Phase& p) {
    const std::string type = index_type(), c = column_name();
    std::string from = "level", to = sized(s_.columns());
    if (s_.parts > 1) {
      const std::string length = sized(ir::ceildiv(s_.columns(), s_.parts));
      line("const " + type + " end = (part + 1) * " + length + " < " + to + " ? (part + 1) * " + length +
           " : " + to + ";");
      from = "part * " + length + " + level";
      to = "end";
    }
    walk_batches(index, from, to, deep_, [&] {
      for (int i : p.values) declare_store(index, i);
      each_of_run([&] {
        row_names(p.values);
        for (int l : p.loads)
          line(lane_type(load(l).dtype) + " " + load(l).name + " = " +
                   (fetched(load(l)) ? fetched_element(load(l)) : element_at(load(l), true)) + ";",
               load(l).node);
        for (int i : p.values) compute(index, i);
      });
      for (int i : p.values) write_store(index, i);
    });
  }
  // columns: of a full load; else of one that stands still along its row.
  std::string element_at(const Load& l, bool columns) const {
    if (l.kind == Load::Kind::number) return "(i64)(" + sum_of(l.strides, l.offset, columns) + ")";
    return "wide(" + pointer(argument(l.argument)) + element_of(l.strides, l.offset, columns) + ")";
  }
  void compute(size_t index, int i) {
    const ScheduledValue& v = value(i);
    if (const Pair* pair = first_of(i)) return put_run(*pair);
    if (second_of(i)) return;
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name + "[k]";
      return line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
    }
    define(v, stores_here(index, i));
    if (!stores_here(index, i)) return;
    if (run(v.store_strides, 0)) return line(put_text("q_" + v.name + ".v[k]", v), v.node);
    line(std::string(exact() ? "" : "if (inside) ") +
             put_text(pointer(argument(v.store)) + element_of(v.store_strides, 0, true), v),
         v.node);
  }
  void declare_store(size_t index, int i) {
    const ScheduledValue& v = value(i);
    if (stores_here(index, i) && run(v.store_strides, 0))
      line("Pack<" + memory_type(argument(v.store).dtype) + ", " + num(vector()) + "> q_" + v.name + ";",
           v.node);
  }
  void write_store(size_t index, int i) {
    const ScheduledValue& v = value(i);
    if (!stores_here(index, i) || !run(v.store_strides, 0)) return;
    line(std::string(exact() ? "" : "if (inside) ") + "store_pack<aligned, " + num(vector()) + ">(" +
             pointer(argument(v.store)) + row_offset(v.store_strides, 0) + index_.column(v.store_strides) +
             ", q_" + v.name + ");",
         v.node);
  }

  // ---- parts -----------------------------------------------------------------------------------------
  void put_part(const ScheduledValue& v) {
    open(std::string("if (") + (exact() ? "" : "inside && ") + "level == 0) {");
    each_of_run([&] {
      line(part(v) + "[part * " + sized(s_.row_count()) + " + place + k] = acc_" + v.name + "[k];", v.node);
    });
    close();
  }
  void add_parts(size_t p) {
    for (int i : reductions(p)) {
      const ScheduledValue& v = value(i);
      const Pair* pair = second_of(i);
      const std::string acc = "acc_" + v.name + "[k]", at = "[t * " + sized(s_.row_count()) + " + place + k]";
      const std::string all = pair ? "acc_" + value(pair->first).name + "[k]" : "";
      start(v);
      line("#pragma unroll 4");
      open("for (int t = level; t < " + sized(s_.parts) + "; t += " + num(deep_) + ") {");
      each_of_run([&] {
        std::string more = part(v) + at;
        if (pair)
          more = settled(*pair, more, part(value(pair->first)) + at,
                         lane_type(v.statement->dtype) + columns_of("t"), all, sized(s_.columns()));
        line(acc + " = " + joined(v, acc, more) + ";", v.node);
      });
      close();
      if (pair && pair->kind == Pair::Kind::exponentials) each_of_run([&] { mend(*pair, acc, all); });
      fold(v);
    }
  }

  const size_t lane_dim_;
  const ir::Sym rows_;   // neighbouring rows
  const int64_t tile_;   // of a block
  const ir::Sym tiles_;  // blocks that they take
  const bool in_tiles_;  // several, or it is not known
  const int deep_;       // threads that share a row
  const bool walks_;     // this launch runs through memory
};

}  // namespace

Kernel emit_across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const LaunchShape& shape, size_t launch, SizeMemory* sizes) {
  return Across(program, unit, schedule, shape, launch, sizes).emit();
}

}  // namespace vitrine::codegen::cuda
