#include "core/codegen/cpp/emit.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/codegen/cpp/emit_across.h"
#include "core/codegen/cpp/vector_text.h"
#include "core/codegen/schedule/parts.h"
#include "core/codegen/schedule/segments.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

using ir::Dims;
using ir::DType;

namespace {

constexpr int64_t kTileColumns = 128;  // of a tile, which stays in a core's first-level cache

class Emitter : VectorText {
 public:
  Emitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
          const Target& target, size_t launch)
      : VectorText(program, unit, s, target, launch),
        segments_(segments_of(s, target.lanes, target.sizes != nullptr)) {}

  Kernel emit() {
    begin_kernel();
    costs();
    open_function();
    if (s_.block > 0)
      flat();
    else if (s_.parts > 1)
      rows_in_parts();
    else if (s_.turns)
      rows_in_tiles();
    else
      rows();
    if (streams_) line("__builtin_ia32_sfence();  // before another thread is told");
    close();
    assemble();
    return std::move(kernel_);
  }

 private:
  void costs() {
    const ir::Sym elements = s_.row_count() * s_.columns();
    const int64_t parts = walks() ? s_.parts : 1;
    // A chunk is worth handing to a thread from some 30,000 vector operations on.
    const ir::Sym columns = s_.block > 0 ? ir::Sym(s_.block) : ir::floordiv(s_.columns(), parts);
    const ir::Sym item = ir::floordiv(columns * cost_of_vector(), lanes_);
    kernel_.grain = ir::max(1, ir::floordiv(30'000, ir::max(1, item)));
    kernel_.work = s_.block > 0 ? ir::ceildiv(elements, s_.block) : s_.row_count() * parts;
    if (!s_.turns) return;
    kernel_.work = ir::floordiv(s_.row_count(), s_.dims[s_.rows - 1]) * tiles();
    kernel_.grain = ir::max(1, ir::floordiv(kernel_.grain, lanes_));
  }
  bool walks() const { return s_.parts == 1 || launch_ < s_.phases.size(); }

  // A kernel over a flat range: work items are blocks of it.
  void flat() {
    if (!segments_.empty()) return flat_in_segments();
    if (any_length()) return flat_of_any_length();
    int64_t n = s_.columns(), whole = n / lanes_ * lanes_;
    std::string block = std::to_string(s_.block);
    row_values(0);
    const Phase& p = s_.phases[0];
    bool tail = whole != n;
    if (tail) open("auto step = [&](i64 c, auto n) INLINE {");
    std::string from = kernel_.work > 1 ? "begin * " + block : "0";
    std::string to = size(whole);
    if (kernel_.work > 1) {
      if (!tail) line("i64 stop = end * " + block + " < " + to + " ? end * " + block + " : " + to + ";");
      to = "stop";
    }
    if (!tail) {
      if (whole > 0) {
        open("for (i64 c = " + from + "; c < " + to + "; c += " + std::to_string(lanes_) + ") {");
        phase_body(0, p, "all");
        close();
      }
      return;
    }
    phase_body(0, p, "n");
    close("};");
    if (whole > 0) {
      if (kernel_.work > 1)
        line("i64 stop = end * " + block + " < " + size(whole) + " ? end * " + block + " : " + size(whole) +
             ";");
      line("for (i64 c = " + from + "; c < " + to + "; c += " + std::to_string(lanes_) + ") step(c, all);");
    }
    std::string rest = "step(" + size(whole) + ", first<" + std::to_string(n - whole) + ">);";
    line(kernel_.work > 1 ? "if (end == " + size(kernel_.work) + ") " + rest : rest);
  }

  void flat_of_any_length() {
    const std::string block = std::to_string(s_.block), lanes = std::to_string(lanes_);
    row_values(0);
    open("auto step = [&](i64 c, auto n) INLINE {");
    phase_body(0, s_.phases[0], "n");
    close("};");
    declare_row(s_.columns());
    line("const i64 stop = end * " + block + " < row.n ? end * " + block + " : row.n;");
    line("i64 c = begin * " + block + ";");
    line("for (; c + " + lanes + " <= stop; c += " + lanes + ") step(c, all);");
    line("if (c < stop) step(c, rest(row));");
  }

  void flat_in_segments() {
    const std::string block = std::to_string(s_.block), n = size(s_.columns());
    row_values(0);
    line("const i64 start = begin * " + block + ", stop = end * " + block + " < " + n + " ? end * " + block +
         " : " + n + ";");
    for (const ColumnSegment& segment : segments_) {
      const std::string from = size(segment.from), to = size(segment.to);
      segment_body(segment);
      open("{");
      line("const i64 to = stop < " + to + " ? stop : " + to + ";");
      line("i64 c = start > " + from + " ? start : " + from + ";");
      run_to("to");
      close();
    }
  }
  void row_in_segments() {
    for (const ColumnSegment& segment : segments_) {
      segment_body(segment);
      if (any_length()) {
        open("{");
        line("i64 c = " + size(segment.from) + ";");
        run_to(size(segment.to));
        close();
        continue;
      }
      const int64_t rest = (segment.to - segment.from) % lanes_, whole = segment.to - rest;
      const std::string from = size(segment.from), to = size(whole), step = std::to_string(lanes_);
      if (whole > segment.from)
        line("for (i64 c = " + from + "; c < " + to + "; c += " + step + ") " + name(segment) + "(c, all);");
      if (rest > 0) line(name(segment) + "(" + to + ", first<" + std::to_string(rest) + ">);");
    }
  }
  std::string name(const ColumnSegment& segment) const {
    return "part" + std::to_string(&segment - segments_.data());
  }
  void segment_body(const ColumnSegment& segment) {
    segment_ = &segment;
    open("auto " + name(segment) + " = [&](i64 c, auto n) INLINE {");
    phase_body(0, s_.phases[0], "n");
    close("};");
  }
  // From c on, up to a column that is known when it runs.
  void run_to(const std::string& to) {
    const std::string step = std::to_string(lanes_), part = name(*segment_);
    line("for (; c + " + step + " <= " + to + "; c += " + step + ") " + part + "(c, all);");
    line("if (c < " + to + ") " + part + "(c, Some{" + to + " - c});");
  }

  void rows() {
    scratch();
    if (any_length()) declare_row(inner());
    open("for (i64 r = begin; r < end; ++r) {");
    decode();
    pointers();
    for (const ScheduledValue& v : s_.values)
      if (scans(v)) line(vector_type(running_type(v)) + " before = " + start_of_scan(v) + ";", v.node);
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      row_values(static_cast<int>(p));
      segments_.empty() ? phase(static_cast<int>(p)) : row_in_segments();
    }
    row_values(static_cast<int>(s_.phases.size()));
    close();
  }
  // By tiles of as many neighbouring rows as there are lanes. What lies along the rows is loaded so, for some
  // columns, and turned over in registers.
  void rows_in_tiles() {
    const std::string n = size(s_.dims[s_.rows - 1]), lanes = std::to_string(lanes_),
                      width = std::to_string(kTileColumns);
    declare_row(inner());
    for (const Load& l : s_.loads)
      if (s_.turned(l)) declare_tile(l);
    open("for (i64 item = begin; item < end; ++item) {");
    line("const i64 j = item % " + size(tiles()) + " * " + lanes + ", first_row = item / " + size(tiles()) +
         " * " + n + " + j;");
    line("const i64 height = " + n + " - j < " + lanes + " ? " + n + " - j : " + lanes + ";");
    open("for (i64 from = 0; from < row.n; from += " + width + ") {");
    line("const i64 to = from + " + width + " < row.n ? from + " + width + " : row.n;");
    for (const Load& l : s_.loads)
      if (s_.turned(l))
        line("turn(row_" + l.name + "(first_row) + " + times("from", l.strides.back()) + ", " +
                 size(l.strides.back()) + ", tile_" + l.name + ", " + width + ", to - from, height);",
             l.node);
    open("for (i64 r = first_row; r < first_row + height; ++r) {");
    decode();
    pointers();
    row_values(0);
    open("auto phase0 = [&](i64 c, auto n) INLINE {");
    phase_body(0, s_.phases[0], "n");
    close("};");
    line("i64 c = from;");
    line("for (; c + " + lanes + " <= to; c += " + lanes + ") phase0(c, all);");
    if (any_length() || inner() % lanes_ != 0) line("if (c < to) phase0(c, rest(row));");
    for (int i = 0; i < 3; ++i) close();
  }
  ir::Sym tiles() const { return ir::ceildiv(s_.dims[s_.rows - 1], lanes_); }
  void declare_tile(const Load& l) {
    line("alignas(64) " + lane_memory(fusion::lane_dtype(l.dtype)) + " tile_" + l.name + "[" +
             std::to_string(lanes_ * kTileColumns) + "];",
         l.node);
    open("auto row_" + l.name + " = [&](i64 r) INLINE {");
    decode();
    line("return " + loads_.row_pointer(l) + ";", l.node);
    close("};");
  }
  // One phase of a part of each row, after the sums of the phases before.
  void rows_in_parts() {
    if (any_length()) declare_row(inner());
    open("for (i64 item = begin; item < end; ++item) {");
    if (walks()) {
      line("i64 r = item / " + size(s_.parts) + ", part = item % " + size(s_.parts) + ";");
    } else {
      line("i64 r = item;");
    }
    decode();
    pointers();
    row_values(0);
    for (size_t p = 0; p < launch_; ++p) {
      for (int i : reductions(p)) add_parts(value(i));
      row_values(static_cast<int>(p) + 1);
    }
    if (walks()) phase(static_cast<int>(launch_));
    close();
  }
  void add_parts(const ScheduledValue& v) {
    const std::string parts = size(s_.parts), acc = "acc_" + v.name, sub = "sub_" + v.name;
    line(vector_type(v) + " " + acc + " = " + start_text(v) + ";", v.node);
    auto add = [&](const std::string& from, const std::string& to, const std::string& sum) {
      line("for (i64 t = " + from + "; t < " + to + "; ++t) " + sum + " = " +
               joined(v, sum, "load1(" + part(v) + " + r * " + parts + " + t)") + ";",
           v.node);
    };
    if (parts_in_groups(v)) {
      const std::string group = std::to_string(kPartsOfGroup);
      open("for (i64 first = 0; first < " + parts + "; first += " + group + ") {");
      line(vector_type(v) + " " + sub + " = " + start_text(v) + ";", v.node);
      add("first", "(first + " + group + " < " + parts + " ? first + " + group + " : " + parts + ")", sub);
      line(acc + " = " + joined(v, acc, sub) + ";", v.node);
      close();
    } else {
      add("0", parts, acc);
    }
    define_sum(v, acc);
  }
  void scratch() {
    if (s_.scratch_rows == 0) return;
    int64_t columns = (s_.columns() + lanes_ - 1) / lanes_ * lanes_ + lanes_;
    // An array's length is a number; one text serves many sizes.
    if (target_.sizes) columns = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(columns)));
    for (const ScheduledValue& v : s_.values)
      if (v.scratch >= 0)
        line("alignas(64) " + memory_type(lane_of(v)) + " row_" + v.name + "[" + std::to_string(columns) +
                 "];",
             v.node);
  }
  // r -> i0, i1, ... where the rows have several dims.
  void decode() {
    if (s_.rows < 2) return;
    std::string rest = "r";
    for (size_t k = s_.rows; k-- > 0;) {
      std::string n = size(s_.dims[k]);
      std::string i = "i" + std::to_string(k);
      if (k == 0) {
        line("i64 i0 = " + rest + ";");
        break;
      }
      line("i64 " + i + " = " + rest + " % " + n + ";");
      rest = rest == "r" ? "r / " + n : rest + " / " + n;
    }
  }
  void pointers() {
    for (const Load& l : s_.loads) {
      if (!l.per_row && !l.gathered_by_row && !s_.turned(l)) row_pointer(l);
    }
    for (const ScheduledValue& v : s_.values)
      if (v.store >= 0 && !v.per_row)
        line(memory_type(argument(v.store).dtype) + "* q_" + v.name + " = " + pointer(argument(v.store)) +
                 index_.row(v.store_strides, 0) + ";",
             v.node);
  }
  void row_pointer(const Load& l) {
    if (l.kind == Load::Kind::memory)
      line("const " + memory_type(l.dtype) + "* p_" + l.name + " = " + loads_.row_pointer(l) + ";", l.node);
  }

  // What is known of a row before phase `p`.
  void row_values(int p) {
    for (const OperandSource& s : s_.once(p)) {
      if (s.kind == OperandSource::Kind::load) {
        const Load& l = s_.loads[static_cast<size_t>(s.index)];
        line(vector_type(fusion::lane_dtype(l.dtype)) + " " + l.name + " = " + loads_.once(l) + ";", l.node);
        continue;
      }
      const ScheduledValue& v = value(s.index);
      line(vector_type(v) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store_once(v, static_cast<size_t>(p));
    }
    for (const Load& l : s_.loads)
      if (l.gathered_by_row && !l.per_row && l.phase == p) row_pointer(l);
  }
  // known: the first phase before which the value is known. With parts, the launch of that phase stores it.
  void store_once(const ScheduledValue& v, size_t known) {
    if (v.store < 0 || (s_.parts > 1 && known != launch_)) return;
    line(std::string(s_.parts > 1 && walks() ? "if (part == 0) " : "") + "store1(" +
             pointer(argument(v.store)) + index_.row(v.store_strides, 0) + ", " + v.name + ");",
         v.node);
  }

  // ---- phases ----------------------------------------------------------------------------------------
  void phase(int index) {
    const Phase& p = s_.phases[static_cast<size_t>(index)];
    if (p.values.empty()) return;
    std::vector<int> sums = reductions(static_cast<size_t>(index));
    comment(static_cast<size_t>(index));
    int ways = 1;
    if (!sums.empty()) ways = any_length() || inner() >= 8 * lanes_ ? 4 : inner() >= 2 * lanes_ ? 2 : 1;
    for (int i : sums) accumulators(s_.values[static_cast<size_t>(i)], ways);
    bool simple = ways == 1 && !any_length() && inner() % lanes_ == 0;
    std::string name = "phase" + std::to_string(index);
    std::string outer;  // indices of the outer column dims
    for (size_t k = s_.rows; k + 1 < s_.dims.size(); ++k)
      outer += "i64 c" + std::to_string(k - s_.rows) + ", ";
    if (!simple) {
      std::string list = outer + "i64 c, auto n";
      for (int i : sums)
        list += ", " + vector_type(lane_of(s_.values[static_cast<size_t>(i)])) + "& " + sum_name(i);
      open("auto " + name + " = [&](" + list + ") INLINE {");
      phase_body(index, p, "n");
      close("};");
    }
    int nested = 0;
    for (size_t k = s_.rows; k + 1 < s_.dims.size(); ++k, ++nested) {
      std::string c = "c" + std::to_string(k - s_.rows);
      const std::string n = size(s_.dims[k]);
      const bool split = s_.parts > 1 && k == split_dim(s_);
      open("for (i64 " + c + " = " + (split ? n + " * part / " + size(s_.parts) : "0") + "; " + c + " < " +
           (split ? n + " * (part + 1) / " + size(s_.parts) : n) + "; ++" + c + ") {");
    }
    if (simple) {
      columns_of_part(inner());
      open("for (i64 c = " + from() + "; c < " + to(inner()) + "; c += " + std::to_string(lanes_) + ") {");
      phase_body(index, p, "all");
      close();
    } else {
      run_phase(name, sums, ways);
    }
    while (nested-- > 0) close();
    for (int i : sums) fold(value(i), ways);
  }
  // The columns in whole turns that are this part's.
  bool splits_columns() const { return s_.parts > 1 && split_dim(s_) + 1 == s_.dims.size(); }
  void columns_of_part(const ir::Sym& whole) {
    if (!splits_columns()) return;
    const int64_t turn = int64_t{4} * lanes_;
    const ir::Sym length = ir::ceildiv(ir::ceildiv(whole, s_.parts), turn) * turn;
    const std::string n = size(whole), l = size(length);
    line("i64 from = part * " + l + ", to = from + " + l + " < " + n + " ? from + " + l + " : " + n + ";");
  }
  std::string from() const { return splits_columns() ? "from" : "0"; }
  std::string to(const ir::Sym& whole) const { return splits_columns() ? "to" : size(whole); }

  static std::string sum_name(int i) { return "acc" + std::to_string(i); }
  std::string acc(const ScheduledValue& v, int way) const {
    return "acc_" + v.name + "_" + static_cast<char>('a' + way);
  }

  void accumulators(const ScheduledValue& v, int ways) {
    std::string list;
    for (int w = 0; w < ways; ++w) list += (w ? ", " : "") + acc(v, w) + " = " + start_text(v);
    line(vector_type(v) + " " + list + ";", v.node);
  }
  // Calls of a phase: several vectors a turn into accumulators of their own, then the rest.
  void run_phase(const std::string& name, const std::vector<int>& sums, int ways) {
    std::string outer;
    for (size_t k = s_.rows; k + 1 < s_.dims.size(); ++k) outer += "c" + std::to_string(k - s_.rows) + ", ";
    auto call = [&](const std::string& at, const std::string& part, int way) {
      std::string list = outer + at + ", " + part;
      for (int i : sums) list += ", " + acc(s_.values[static_cast<size_t>(i)], way);
      return name + "(" + list + ");";
    };
    if (any_length()) return run_phase_of_any_length(call, ways);
    int64_t n = inner(), turn = static_cast<int64_t>(ways) * lanes_, whole = n / turn * turn;
    if (whole > 0) {
      columns_of_part(whole);
      open("for (i64 c = " + from() + "; c < " + to(whole) + "; c += " + std::to_string(turn) + ") {");
      for (int w = 0; w < ways; ++w) line(call(w ? "c + " + std::to_string(w * lanes_) : "c", "all", w));
      close();
    }
    int way = 0;
    if (whole == n) return;
    if (splits_columns()) open("if (part == " + size(s_.parts - 1) + ") {");
    for (; whole + lanes_ <= n; whole += lanes_) line(call(size(whole), "all", way++ % ways));
    if (whole < n) line(call(size(whole), "first<" + std::to_string(n - whole) + ">", way % ways));
    if (splits_columns()) close();
  }
  using PhaseCall = std::function<std::string(const std::string& at, const std::string& part, int way)>;
  void run_phase_of_any_length(const PhaseCall& call, int ways) {
    const std::string lanes = std::to_string(lanes_);
    const int64_t turn = static_cast<int64_t>(ways) * lanes_;
    const ir::Sym whole = splits_columns() ? ir::floordiv(inner(), turn) * turn : ir::Sym(0);
    open("{");
    columns_of_part(whole);
    line("i64 c = " + from() + ";");
    open("for (; c + " + std::to_string(turn) + " <= " + (splits_columns() ? "to" : "row.n") +
         "; c += " + std::to_string(turn) + ") {");
    for (int w = 0; w < ways; ++w) line(call(w ? "c + " + std::to_string(w * lanes_) : "c", "all", w));
    close();
    if (splits_columns()) {
      open("if (part == " + size(s_.parts - 1) + ") {");
      line("c = " + size(whole) + ";");
    }
    if (ways > 1) line("for (; c + " + lanes + " <= row.n; c += " + lanes + ") " + call("c", "all", 0));
    line("if (c < row.n) " + call("c", "rest(row)", ways > 1 ? 1 : 0));
    if (splits_columns()) close();
    close();
  }
  void fold(const ScheduledValue& v, int ways) {
    auto join = [&](const std::string& a, const std::string& b) { return joined(v, a, b); };
    std::string all = acc(v, 0);
    if (ways == 2) all = join(acc(v, 0), acc(v, 1));
    if (ways == 4) all = join(join(acc(v, 0), acc(v, 1)), join(acc(v, 2), acc(v, 3)));
    if (s_.parts == 1) return define_sum(v, "splat(" + folded(v, all) + ")");
    line("store1(" + part(v) + " + item, splat(" + folded(v, all) + "));", v.node);
  }
  void define_sum(const ScheduledValue& v, const std::string& sum) {
    line(vector_type(v) + " " + v.name + " = " +
             (v.statement->output >= 0 ? narrowed(sum, v.statement->dtype) : sum) + ";",
         v.node);
    bool inverted = std::any_of(s_.values.begin(), s_.values.end(),
                                [&](const ScheduledValue& w) { return s_.exponential_sum(w) == &v; });
    if (inverted) line(vector_type(v) + " " + v.inverse + " = 1.0f / " + v.name + ";", v.node);
    store_once(v, static_cast<size_t>(v.phase) + 1);
  }

  std::string scratch_at(const ScheduledValue& v) const {
    if (v.host >= 0) {
      const ScheduledValue& host = s_.values[static_cast<size_t>(v.host)];
      return "q_" + host.name + index_.column(host.store_strides);
    }
    std::string at = "row_" + v.name;
    ir::Sym stride = inner();
    std::string out;
    for (size_t k = s_.dims.size() - 1; k-- > s_.rows;) {
      out = " + c" + std::to_string(k - s_.rows) + " * " + size(stride) + out;
      stride *= s_.dims[k];
    }
    return at + out + " + c";
  }

  void phase_body(int index, const Phase& p, const std::string& part) {
    for (int i : p.loads) load(i, part);
    for (int i : p.from_scratch) {
      const ScheduledValue& v = s_.values[static_cast<size_t>(i)];
      line(vector_type(lane_of(v)) + " " + v.name + " = load(" + scratch_at(v) + ", " + part + ");", v.node);
    }
    for (size_t k = 0; k < p.values.size(); ++k) {
      for (const Phase::Late& late : p.late)
        if (late.before == k) load(late.load, part);
      compute(index, p.values[k], part);
    }
  }
  void load(int i, const std::string& part) {
    const auto at = static_cast<size_t>(i);
    if (segment_ && !segment_->loads[at]) return;
    const Load& l = segment_ ? *segment_->loads[at] : s_.loads[at];
    if (s_.turned(l))
      return line(vector_type(fusion::lane_dtype(l.dtype)) + " " + l.name + " = load(tile_" + l.name +
                      " + (r - first_row) * " + std::to_string(kTileColumns) + " + (c - from), " + part +
                      ");",
                  l.node);
    const bool row = s_.block == 0 || l.gathered_by_row;
    const std::string from = l.kind != Load::Kind::memory ? "" : row ? "p_" + l.name : loads_.row_pointer(l);
    line(vector_type(fusion::lane_dtype(l.dtype)) + " " + l.name + " = " + loads_.full(l, from, part) + ";",
         l.node);
  }
  void compute(int phase_index, int i, const std::string& part) {
    const ScheduledValue& v = s_.values[static_cast<size_t>(i)];
    const fusion::ExprPtr& expr = segment_ ? segment_->values[static_cast<size_t>(i)] : v.statement->expr;
    if (!expr) return;
    std::string type = vector_type(lane_of(v));
    if (reduces(v)) {
      bool lambda = part == "n";
      std::string sum = lambda ? sum_name(i) : acc(v, 0), next = joined(v, sum, value_text(v));
      line(sum + " = " + (lambda ? "keep(" + next + ", " + sum + ", n)" : next) + ";", v.node);
      return;
    }
    line(type + " " + v.name + " = " + value_text(v, expr) + ";", v.node);
    if (scans(v)) run_on(v, part);
    bool first = first_phase(i) == phase_index;
    if (v.kept() && v.host != i && first)
      line("store(" + scratch_at(v) + ", " + v.name + ", " + part + ");", v.node);
    if (v.store >= 0 && first) {
      const Argument& a = argument(v.store);
      std::string to = (s_.block > 0 ? pointer(a) : "q_" + v.name) + index_.column(v.store_strides);
      const ir::Sym stride = v.store_strides.back();
      if (stride.same(1) || s_.dims.back().same(1))
        line((streamed(i) ? "stream(" : "store(") + to + ", " + v.name + ", " + part + ");", v.node);
      else
        line("scatter(" + to + ", " + size(stride) + ", " + v.name + ", " + part + ");", v.node);
    }
  }
  // The value becomes that of all columns up to its own. Only where no rounding is seen, eager's order is
  // left.
  void run_on(const ScheduledValue& v, const std::string& part) {
    const DType lane = lane_of(v), type = running_type(v);
    const bool product = scan_ == fusion::Statement::Reduce::prod;
    const bool any_order = type != lane || !ir::is_float(lane);
    const std::string by = product ? "running_product" : any_order ? "prefix_sum" : "running_sum";
    line(v.name + " = " +
             as_type(by + "(" + as_type(v.name, lane, type) + ", before, " + part + ")", type, lane) + ";",
         v.node);
  }
  // Whole lines of memory that the kernel does not read itself: fresh buffers begin at a line.
  bool streamed(int value) {
    const ScheduledValue& v = s_.values[static_cast<size_t>(value)];
    const Argument& a = argument(v.store);
    bool whole_lines = v.store_strides.back().same(1) && (s_.block > 0 || ir::mod(inner(), lanes_).same(0)) &&
                       whole_segments() && (a.dtype == DType::f32 || a.dtype == DType::i32);
    bool hosts = std::any_of(s_.values.begin(), s_.values.end(),
                             [&](const ScheduledValue& w) { return w.host == value; });
    bool streams = target_.stream_bytes > 0 && kernel_.bytes.hint() >= target_.stream_bytes && whole_lines &&
                   !hosts && a.last_read < 0;
    streams_ = streams_ || streams;
    return streams;
  }
  bool whole_segments() const {
    return std::all_of(segments_.begin(), segments_.end(),
                       [&](const ColumnSegment& s) { return !any_length() && s.from % lanes_ == 0; });
  }
  bool streams_ = false;  // a store went past the cache
  const std::vector<ColumnSegment> segments_;
  const ColumnSegment* segment_ = nullptr;  // the one that is written
};

}  // namespace

Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const Target& target, size_t launch) {
  if (schedule.across) return emit_across(program, unit, schedule, target, launch);
  return Emitter(program, unit, schedule, target, launch).emit();
}

}  // namespace vitrine::codegen::cpp
