#include "core/codegen/cpp/emit_across.h"

#include <algorithm>
#include <functional>
#include <set>

#include "core/codegen/cpp/vector_text.h"
#include "core/codegen/schedule/parts.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

using fusion::Statement;
using ir::Dims;
using ir::DType;

namespace {

// Longer sums of floats are made of sums of so many, which keeps their rounding errors near those of
// PyTorch's sums in several levels: about the root of how many there are, where that is known.
constexpr int64_t kSubtotal = 32, kSubtotalOfMany = 64, kMany = 2048;

std::string num(int64_t n) {
  return std::to_string(n);
}

// Loads and values that an expression reads.
void sources_of(const fusion::ExprPtr& e, const ScheduledValue& v,
                const std::function<void(OperandSource)>& f) {
  if (e->kind == fusion::Expr::Kind::operand) f(v.sources[static_cast<size_t>(e->operand)]);
  for (const fusion::ExprPtr& a : e->args) sources_of(a, v, f);
}

class Across : VectorText {
 public:
  Across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
         const Target& target, size_t launch)
      : VectorText(program, unit, s, target, launch),
        lane_dim_(s.rows - 1),
        rows_(s.dims[s.rows - 1]),
        width_(tile_of(s, target.lanes, target.sizes != nullptr)),
        tiles_(ir::ceildiv(rows_, width_)),
        in_tiles_(tiles_.symbolic() || tiles_.hint() > 1),
        whole_(ir::floordiv(rows_, target.lanes) * target.lanes),
        walks_(s.parts == 1 || launch < s.phases.size()),
        parts_(walks_ ? s.parts : 1) {}

  Kernel emit() {
    begin_kernel();
    kernel_.work = ir::floordiv(s_.row_count(), rows_) * parts_ * tiles_;
    const ir::Sym vectors = ir::floordiv(ir::min(width_, rows_) * ir::floordiv(s_.columns(), parts_), lanes_);
    kernel_.grain = ir::max(1, ir::floordiv(30'000, ir::max(1, vectors * cost_of_vector())));
    open_function();
    if (any_length()) declare_row(rows_);
    open("for (i64 item = begin; item < end; ++item) {");
    decode();
    pointers();
    row_pass(0);
    const size_t last = s_.phases.size();
    for (size_t p = 0; p < (s_.parts == 1 ? last : launch_); ++p) {
      s_.parts == 1 ? walk(p) : add_parts(p);
      row_pass(p + 1);
    }
    if (s_.parts > 1 && walks_) {
      walk(launch_);
      put_parts(launch_);
    }
    close();
    close();
    assemble();
    return std::move(kernel_);
  }

 private:
  // ---- places ----------------------------------------------------------------------------------------
  void decode() {
    std::string rest = "item";
    auto take = [&](const std::string& name, const ir::Sym& n) {
      line("i64 " + name + " = " + rest + " % " + size(n) + ";");
      rest += " / " + size(n);
    };
    if (in_tiles_) {
      line("i64 j0 = item % " + size(tiles_) + " * " + num(width_) + ";");
      rest += " / " + size(tiles_);
      line("i64 stop = " + size(whole_) + " - j0 < " + num(width_) + " ? " + size(whole_) +
           " - j0 : " + num(width_) + ";");
    }
    if (parts_ > 1) take("part", parts_);
    if (s_.parts > 1) line("i64 place = " + place(rest) + ";");
    for (size_t k = lane_dim_; k-- > 1;) take("i" + num(static_cast<int64_t>(k)), s_.dims[k]);
    if (lane_dim_ > 0) line("i64 i0 = " + rest + ";");
  }
  // Where partial sums of this tile begin.
  std::string place(const std::string& rest) const {
    const std::string first = in_tiles_ ? "j0" : "0";
    return lane_dim_ == 0 ? first : rest + " * " + size(rows_) + (in_tiles_ ? " + j0" : "");
  }
  std::string tile_offset(const Dims& strides, const ir::Sym& offset) const {
    std::string out;
    for (size_t k = 0; k < lane_dim_; ++k)
      if (!strides[k].same(0)) out += " + " + times("i" + num(static_cast<int64_t>(k)), strides[k]);
    if (in_tiles_ && !strides[lane_dim_].same(0)) out += " + " + times("j0", strides[lane_dim_]);
    return out + (offset.same(0) ? "" : " + " + index_.offset(offset));
  }
  std::string column_offset(const Dims& strides) const {
    std::string out;
    for (size_t k = s_.rows; k < s_.dims.size(); ++k)
      if (!strides[k].same(0)) out += " + " + times("c" + num(static_cast<int64_t>(k - s_.rows)), strides[k]);
    return out;
  }
  std::string lane_offset(const Dims& strides) const {
    return strides[lane_dim_].same(0) ? "" : " + " + times("j", strides[lane_dim_]);
  }
  void pointers() {
    for (const Load& l : s_.loads)
      line("const " + memory_type(argument(l.argument).dtype) + "* p_" + l.name + " = " +
               pointer(argument(l.argument)) + tile_offset(l.strides, l.offset) + ";",
           l.node);
    for (const ScheduledValue& v : s_.values)
      if (v.store >= 0)
        line(memory_type(argument(v.store).dtype) + "* q_" + v.name + " = " + pointer(argument(v.store)) +
                 tile_offset(v.store_strides, 0) + ";",
             v.node);
  }

  // ---- vectors of a tile -----------------------------------------------------------------------------
  // The body for every vector of the tile, and for what is left at the end of all.
  void each_vector(const std::string& name, const std::function<void(const std::string&)>& body) {
    const std::string stop = in_tiles_ ? "stop" : size(whole_), step = num(lanes_);
    const ir::Sym rest = rows_ - whole_;
    if (!any_length() && rest.same(0)) {
      open("for (i64 j = 0; j < " + stop + "; j += " + step + ") {");
      body("all");
      return close();
    }
    open("auto " + name + " = [&](i64 j, auto n) INLINE {");
    body("n");
    close("};");
    if (any_length() || whole_ > 0)
      line("for (i64 j = 0; j < " + stop + "; j += " + step + ") " + name + "(j, all);");
    if (any_length())
      return line("if (" + (in_tiles_ ? "stop < " + num(width_) + " && " : "") + "row.n % " + step + ") " +
                  name + "(" + stop + ", rest(row));");
    line(std::string(in_tiles_ ? "if (stop < " + num(width_) + ") " : "") + name + "(" + stop + ", first<" +
         num(rest) + ">);");
  }
  void each_array_vector(const std::string& text, ir::NodeId node) {
    line("for (i64 j = 0; j < " + num(width_) + "; j += " + num(lanes_) + ") " + text, node);
  }
  void load(const Load& l, const std::string& n) {
    const std::string at = "p_" + l.name + column_offset(l.strides) + lane_offset(l.strides);
    const ir::Sym stride = l.strides[lane_dim_];
    const std::string get = stride.same(1)   ? "load(" + at + ", " + n + ")"
                            : stride.same(0) ? "load1(" + at + ")"
                                             : "gather(" + at + ", " + size(stride) + ", " + n + ")";
    line(vector_type(fusion::lane_dtype(argument(l.argument).dtype)) + " " + l.name + " = " + get + ";",
         l.node);
  }
  void put(const ScheduledValue& v, const Dims& strides, const std::string& n,
           const std::string& guard = "") {
    const std::string at = "q_" + v.name + column_offset(strides) + lane_offset(strides);
    const ir::Sym stride = strides[lane_dim_];
    line(guard + (stride.same(1) ? "store(" + at + ", " + v.name + ", " + n + ");"
                                 : "scatter(" + at + ", " + size(stride) + ", " + v.name + ", " + n + ");"),
         v.node);
  }
  static std::string array(const ScheduledValue& v) { return (reduces(v) ? "acc_" : "row_") + v.name; }
  void declare_array(const std::string& name, const ScheduledValue& v) { declare_array(name, v, lane_of(v)); }
  void declare_array(const std::string& name, const ScheduledValue& v, DType lane) {
    line("alignas(64) " + lane_memory(lane) + " " + name + "[" + num(width_) + "];", v.node);
  }
  void from_array(const ScheduledValue& v) {
    line(vector_type(v) + " " + v.name + " = load(" + array(v) + " + j, all);", v.node);
  }
  // What is one a row and read by these values: loads again, values from their arrays.
  void row_sources(const std::vector<int>& values, const std::string& n, std::set<int> known = {}) {
    std::set<int> loads;
    for (int i : values)
      sources_of(value(i).statement->expr, value(i), [&](OperandSource s) {
        const bool loaded = s.kind == OperandSource::Kind::load;
        if (loaded ? !s_.loads[static_cast<size_t>(s.index)].per_row : !value(s.index).per_row) return;
        if (!(loaded ? loads : known).insert(s.index).second) return;
        loaded ? load(s_.loads[static_cast<size_t>(s.index)], n) : from_array(value(s.index));
      });
  }

  // ---- values of rows --------------------------------------------------------------------------------
  // What is known of each row before phase `p`: sums of the phase before, and what follows from them.
  void row_pass(size_t p) {
    std::vector<int> sums, values;
    for (int i : s_.sums())
      if (p > 0 && value(i).phase == static_cast<int>(p) - 1) sums.push_back(i);
    for (size_t i = 0; i < s_.values.size(); ++i)
      if (s_.values[i].per_row && !reduces(s_.values[i]) && s_.values[i].phase == static_cast<int>(p))
        values.push_back(static_cast<int>(i));
    auto rounds = [&](int i) { return narrowed("", value(i).statement->dtype).size() > 0; };
    std::erase_if(
        sums, [&](int i) { return value(i).statement->output < 0 || (!rounds(i) && value(i).store < 0); });
    if (sums.empty() && values.empty()) return;
    for (int i : values) declare_array(array(value(i)), value(i));
    each_vector("known" + num(static_cast<int64_t>(p)), [&](const std::string& n) {
      for (int i : sums) {
        const ScheduledValue& v = value(i);
        line(vector_type(v) + " " + v.name + " = " +
                 narrowed("load(" + array(v) + " + j, all)", v.statement->dtype) + ";",
             v.node);
        if (rounds(i)) line("store(" + array(v) + " + j, " + v.name + ", all);", v.node);
        put_row(v, p, n);
      }
      std::set<int> known(sums.begin(), sums.end());
      known.insert(values.begin(), values.end());
      row_sources(values, n, known);
      for (int i : values) {
        const ScheduledValue& v = value(i);
        line(vector_type(v) + " " + v.name + " = " + value_text(v) + ";", v.node);
        line("store(" + array(v) + " + j, " + v.name + ", all);", v.node);
        put_row(v, p, n);
      }
    });
  }
  // With parts, by the first launch that knows the value, once.
  void put_row(const ScheduledValue& v, size_t p, const std::string& n) {
    if (v.store < 0 || (s_.parts > 1 && p != launch_)) return;
    put(v, v.store_strides, n, parts_ > 1 ? "if (part == 0) " : "");
  }

  // ---- phases ----------------------------------------------------------------------------------------
  bool in_subtotals(const ScheduledValue& v) const {
    return v.statement->reduce == Statement::Reduce::sum && ir::is_float(lane_of(v)) &&
           (s_.columns().symbolic() || s_.columns() / parts_ > kSubtotal);
  }
  int64_t subtotal() const {
    return s_.columns().symbolic() || s_.columns() / parts_ > kMany ? kSubtotalOfMany : kSubtotal;
  }
  void walk(size_t p) {
    if (s_.phases[p].values.empty()) return;
    const std::vector<int> sums = reductions(p);
    comment(p);
    std::vector<int> settled;
    for (int i : s_.phases[p].values)
      if (scans(value(i))) start_scan(value(i));
    for (int i : sums) {
      const ScheduledValue& v = value(i);
      start(v, array(v));
      if (!in_subtotals(v)) continue;
      start(v, "sub_" + v.name);
      settled.push_back(i);
    }
    const bool subtotals = !settled.empty();
    const std::string settle = "settle" + num(static_cast<int64_t>(p)),
                      added = "added" + num(static_cast<int64_t>(p));
    if (subtotals) define_settle(settle, added, settled);
    for (size_t k = s_.rows; k < s_.dims.size(); ++k) {
      const std::string c = "c" + num(static_cast<int64_t>(k - s_.rows)), n = size(s_.dims[k]);
      const bool split = parts_ > 1 && k == split_dim(s_);
      open("for (i64 " + c + " = " + (split ? n + " * part / " + size(parts_) : "0") + "; " + c + " < " +
           (split ? n + " * (part + 1) / " + size(parts_) : n) + "; ++" + c + ") {");
    }
    each_vector("phase" + num(static_cast<int64_t>(p)), [&](const std::string& n) { body(p, n); });
    if (subtotals) line("if (++" + added + " == " + num(subtotal()) + ") " + settle + "();");
    for (size_t k = s_.rows; k < s_.dims.size(); ++k) close();
    if (subtotals) line(settle + "();");
  }
  void start(const ScheduledValue& v, const std::string& name) {
    declare_array(name, v);
    each_array_vector("store(" + name + " + j, " + start_text(v) + ", all);", v.node);
  }
  void start_scan(const ScheduledValue& v) {
    declare_array("acc_" + v.name, v, running_type(v));
    each_array_vector("store(acc_" + v.name + " + j, " + start_of_scan(v) + ", all);", v.node);
  }
  // The value becomes that of all columns up to its own.
  void run_on(const ScheduledValue& v) {
    const DType lane = lane_of(v), type = running_type(v);
    const std::string run = "run_" + v.name, acc = "acc_" + v.name + " + j";
    line(vector_type(type) + " " + run + " = load(" + acc + ", all)" +
             (scan_ == Statement::Reduce::prod ? " * " : " + ") + as_type(v.name, lane, type) + ";",
         v.node);
    line("store(" + acc + ", " + run + ", all);", v.node);
    line(v.name + " = " + as_type(run, type, lane) + ";", v.node);
  }
  void define_settle(const std::string& name, const std::string& added, const std::vector<int>& sums) {
    line("i64 " + added + " = 0;");
    open("auto " + name + " = [&]() INLINE {");
    open("for (i64 j = 0; j < " + num(width_) + "; j += " + num(lanes_) + ") {");
    for (int i : sums) {
      const ScheduledValue& v = value(i);
      line("store(" + array(v) + " + j, load(" + array(v) + " + j, all) + load(sub_" + v.name +
               " + j, all), all);",
           v.node);
      line("store(sub_" + v.name + " + j, " + start_text(v) + ", all);", v.node);
    }
    close();
    line(added + " = 0;");
    close("};");
  }
  void body(size_t p, const std::string& n) {
    const Phase& phase = s_.phases[p];
    for (int l : phase.loads) load(s_.loads[static_cast<size_t>(l)], n);
    for (int i : phase.from_scratch) {
      const ScheduledValue &v = value(i), &host = value(v.host);
      line(vector_type(v) + " " + v.name + " = load(q_" + host.name + column_offset(host.store_strides) +
               lane_offset(host.store_strides) + ", " + n + ");",
           v.node);
    }
    row_sources(phase.values, n);
    for (int i : phase.values) compute(p, i, n);
  }
  void compute(size_t p, int i, const std::string& n) {
    const ScheduledValue& v = value(i);
    if (reduces(v)) {
      const std::string to = (in_subtotals(v) ? "sub_" + v.name : array(v)) + " + j";
      return line("store(" + to + ", " + joined(v, "load(" + to + ", all)", value_text(v)) + ", all);",
                  v.node);
    }
    line(vector_type(v) + " " + v.name + " = " + value_text(v) + ";", v.node);
    if (scans(v)) run_on(v);
    if (first_phase(i) != static_cast<int>(p)) return;
    if (v.host >= 0 && v.host != i) {
      const ScheduledValue& host = value(v.host);
      line("store(q_" + host.name + column_offset(host.store_strides) + lane_offset(host.store_strides) +
               ", " + v.name + ", " + n + ");",
           v.node);
    }
    if (v.store >= 0) put(v, v.store_strides, n);
  }

  // ---- parts -----------------------------------------------------------------------------------------
  void put_parts(size_t p) {
    const std::string at = " + part * " + size(s_.row_count()) + " + place + j";
    for (int i : reductions(p)) {
      const ScheduledValue& v = value(i);
      each_vector("into_" + v.name, [&](const std::string& n) {
        line("store(" + part(v) + at + ", load(" + array(v) + " + j, all), " + n + ");", v.node);
      });
    }
  }
  void add_parts(size_t p) {
    for (int i : reductions(p)) {
      const ScheduledValue& v = value(i);
      const bool groups = parts_in_groups(v);
      const std::string settle = "settle_" + v.name, added = "added_" + v.name;
      start(v, array(v));
      if (groups) start(v, "sub_" + v.name);
      if (groups) define_settle(settle, added, {i});
      open("for (i64 t = 0; t < " + size(s_.parts) + "; ++t) {");
      each_vector("more_" + v.name, [&](const std::string& n) {
        const std::string to = (groups ? "sub_" + v.name : array(v)) + " + j";
        line("store(" + to + ", " +
                 joined(v, "load(" + to + ", all)",
                        "load(" + part(v) + " + t * " + size(s_.row_count()) + " + place + j, " + n + ")") +
                 ", all);",
             v.node);
      });
      if (groups) line("if (++" + added + " == " + num(kPartsOfGroup) + ") " + settle + "();", v.node);
      close();
      if (groups) line(settle + "();", v.node);
    }
  }

  const size_t lane_dim_;
  const ir::Sym rows_;   // neighbouring
  const int64_t width_;  // of a tile
  const ir::Sym tiles_;
  const bool in_tiles_;  // several, or it is not known
  const ir::Sym whole_;  // rows in whole vectors
  const bool walks_;     // this launch runs through memory
  const int64_t parts_;  // of this launch
};

}  // namespace

Kernel emit_across(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const Target& target, size_t launch) {
  return Across(program, unit, schedule, target, launch).emit();
}

}  // namespace vitrine::codegen::cpp
