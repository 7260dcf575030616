#include "core/codegen/cuda/emit.h"

#include <algorithm>
#include <limits>

#include "core/codegen/cuda/emit_across.h"
#include "core/codegen/cuda/emit_part.h"
#include "core/codegen/cuda/load_text.h"
#include "core/codegen/cuda/online.h"
#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/thread_text.h"
#include "core/codegen/naming.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using cpp::Argument;
using cpp::Load;
using cpp::Phase;
using cpp::Source;
using cpp::Value;
using fusion::Statement;
using ir::Dims;
using ir::DType;
using ir::NodeId;

namespace {

constexpr int kLaneBytes = 16;

std::string num(int64_t n) {
  return std::to_string(n);
}

class Emitter {
 public:
  Emitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& s,
          const Shape& shape)
      : program_(program),
        unit_(unit),
        s_(s),
        shape_(shape),
        index_(s, num),
        loads_(s, index_, shape.vector, [this](const Source& from) { return named(from); }) {}

  Kernel emit() {
    kernel_.name = kernel_name(program_, unit_);
    kernel_.space =
        s_.rows == 0 || s_.block > 0 ? num(s_.columns()) : num(s_.row_count()) + " × " + num(s_.columns());
    kernel_.family = s_.reduces ? "reduction" : "pointwise";
    kernel_.nodes = fusion::nodes_of(program_, unit_);
    kernel_.grid = {shape_.blocks, shape_.threads,
                    program_.graph->node(kernel_.nodes.front()).type().device.index};
    kernel_.work = s_.row_count() * s_.columns();
    kernel_.checks = s_.picks();
    count_costs();
    find_kept();
    body();
    assemble();
    return std::move(kernel_);
  }

 private:
  void count_costs() {
    int64_t per_element = 0;
    for (const Value& v : s_.values)
      per_element += v.per_row && v.statement->reduce == Statement::Reduce::none ? 0 : 1;
    kernel_.flops = kernel_.work * per_element;
    for (const Argument& a : s_.arguments) kernel_.bytes += argument_bytes(program_, s_, a);
  }

  // Loads that more than one phase reads stay in registers, so that memory is passed over once.
  void find_kept() {
    kept_.assign(s_.loads.size(), false);
    if (!s_.reduces || !shape_.registers) return;
    for (size_t l = 0; l < s_.loads.size(); ++l) {
      if (s_.loads[l].kind != Load::Kind::memory) continue;
      int phases = 0;
      for (const Phase& p : s_.phases)
        phases += std::find(p.loads.begin(), p.loads.end(), static_cast<int>(l)) != p.loads.end();
      kept_[l] = phases > 1;
    }
  }

  static DType lane_of(const Value& v) { return fusion::lane_dtype(v.statement->dtype); }
  const Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }
  static std::string pointer(const Argument& a) { return (a.written ? "out_" : "in_") + a.name; }
  int64_t inner() const { return s_.dims.back(); }
  int vector() const { return shape_.vector; }

  // ---- text ------------------------------------------------------------------------------------------
  void line(const std::string& text, NodeId node = -1) {
    text_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
    ++lines_;
    if (node >= 0)
      kernel_.lines.push_back(
          {lines_, lines_, indent_ * 2, indent_ * 2 + static_cast<int32_t>(text.size()), node});
  }
  void open(const std::string& text) {
    line(text);
    ++indent_;
  }
  void close(const std::string& text = "}") {
    --indent_;
    line(text);
  }

  std::string parameters(bool with_types) const {
    std::string out;
    for (const Argument& a : s_.arguments) {
      out += out.empty() ? "" : ", ";
      if (with_types) out += (a.written ? "" : "const ") + memory_type(a.dtype) + "* ";
      out += pointer(a);
    }
    return out;
  }

  // Accesses of several neighbours need pointers at multiples of their size. Tensors nearly always are; a
  // slice of one may not be.
  void body() {
    const std::string head = "extern \"C\" __global__ void __launch_bounds__(" + num(shape_.threads) + ") ";
    if (vector() == 1) {
      open(head + "vitrine_kernel(" + parameters(true) + ") {");
      content();
      return close();
    }
    open("template <bool aligned> __device__ void compute(" + parameters(true) + ") {");
    content();
    close();
    line("");
    open(head + "vitrine_kernel(" + parameters(true) + ") {");
    std::string test;
    for (const Argument& a : s_.arguments)
      if (moves_in_runs(a))
        test += (test.empty() ? "" : " && ") + ("is_aligned(" + pointer(a)) + ", " +
                num(std::min<int64_t>(kLaneBytes, vector() * ir::dtype_bytes(a.dtype))) + ")";
    if (test.empty()) test = "true";
    line("if (" + test + ")");
    line("  compute<true>(" + parameters(false) + ");");
    line("else");
    line("  compute<false>(" + parameters(false) + ");");
    close();
  }
  bool moves_in_runs(const Argument& a) const {
    return std::any_of(s_.loads.begin(), s_.loads.end(),
                       [&](const Load& l) {
                         return l.argument >= 0 && &argument(l.argument) == &a && !l.per_row &&
                                loads_.together(l);
                       }) ||
           std::any_of(s_.values.begin(), s_.values.end(), [&](const Value& v) {
             return v.store >= 0 && &argument(v.store) == &a && !v.per_row &&
                    loads_.together(v.store_strides, 0);
           });
  }
  void content() { s_.reduces ? rows() : elements(); }

  // ---- indices ---------------------------------------------------------------------------------------
  const char* index_type() const {
    int64_t most = 0;
    for (const Argument& a : s_.arguments) {
      const ir::TensorType& t = program_.graph->node(a.root.node).outputs[static_cast<size_t>(a.root.output)];
      int64_t reach = 0;
      for (size_t d = 0; d < t.sizes.size(); ++d) reach += (t.sizes[d] - 1) * std::abs(t.strides[d]);
      most = std::max(most, reach + t.offset);
    }
    return std::max(most, kernel_.work) < std::numeric_limits<int32_t>::max() / 2 ? "i32" : "i64";
  }
  // r -> i0, i1, ... where the rows have several dims.
  void decode_row() {
    if (s_.rows < 2) return;
    std::string rest = "r";
    for (size_t k = s_.rows; k-- > 0;) {
      const std::string i = std::string(index_type()) + " i" + num(static_cast<int64_t>(k));
      if (k == 0) return line(i + " = " + rest + ";");
      const std::string n = num(s_.dims[k]);
      line(i + " = " + rest + " % " + n + ";");
      rest = rest == "r" ? "r / " + n : rest + " / " + n;
    }
  }
  // c -> c0, c1, ... and the innermost one, which keeps the name c.
  void decode_column() {
    if (s_.dims.size() - s_.rows < 2) return;
    std::string rest = "column";
    for (size_t k = s_.dims.size(); k-- > s_.rows;) {
      const bool last = k + 1 == s_.dims.size();
      const std::string i =
          std::string(index_type()) + (last ? " c" : " c" + num(static_cast<int64_t>(k - s_.rows)));
      if (k == s_.rows) return line(i + " = " + rest + ";");
      const std::string n = num(s_.dims[k]);
      line(i + " = " + rest + " % " + n + ";");
      rest = rest == "column" ? "column / " + n : rest + " / " + n;
    }
  }
  std::string column_name() const { return s_.dims.size() - s_.rows < 2 ? "c" : "column"; }

  // ---- values ----------------------------------------------------------------------------------------
  Typed operand(const Value& v, int i) const { return named(v.sources[static_cast<size_t>(i)]); }
  Typed named(const Source& s) const {
    if (s.kind == Source::Kind::load) {
      const Load& l = s_.loads[static_cast<size_t>(s.index)];
      return {l.name, fusion::lane_dtype(l.dtype), true};
    }
    const Value& from = s_.values[static_cast<size_t>(s.index)];
    return {from.name, lane_of(from), true};
  }
  static std::string narrowed(const std::string& text, DType t) {
    if (t == DType::u8 || t == DType::i8 || t == DType::i16)
      return "i32(" + std::string(ir::dtype_name(t)) + "(" + text + "))";
    if (t == DType::f16 || t == DType::bf16)
      return "round_" + std::string(ir::dtype_name(t)) + "(" + text + ")";
    return text;
  }
  // Every operator's result is what memory would hold, as eager has it between operators.
  std::string value_text(const Value& v) const {
    const Statement& s = *v.statement;
    Typed t = expr_text(s.expr, s.compute, lane_of(v), [&](int i) { return operand(v, i); });
    return s.is_result() && !s_.only_moves(v) ? narrowed(t.text, s.dtype) : t.text;
  }
  // What is known of a row before phase `p`.
  void row_values(int p, const std::string& condition) {
    for (const Source& s : s_.once(p)) {
      if (s.kind == Source::Kind::load) {
        const Load& l = s_.loads[static_cast<size_t>(s.index)];
        line(lane_type(l.dtype) + " " + l.name + " = " + loads_.element(l, true) + ";", l.node);
        continue;
      }
      const Value& v = s_.values[static_cast<size_t>(s.index)];
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store_once(v, condition);
    }
    for (const Load& l : s_.loads)
      if (l.picked_by_row && !l.per_row && l.phase == p) line(loads_.row_begin(l), l.node);
  }
  void store_once(const Value& v, const std::string& condition) {
    if (v.store < 0) return;
    line("if (" + condition + ") put(" + pointer(argument(v.store)) + "[" +
             IndexText::trimmed(index_.row(v.store_strides, 0)) + "], " + v.name + ");",
         v.node);
  }
  // A run of a load, as a Pack where it lies together; whether it is within its part of the nest.
  void load_run(const Load& l) {
    if (known_of_run(l)) return line("bool " + l.name + " = " + loads_.inside(l, false) + ";", l.node);
    if (!loads_.together(l)) return;
    const Argument& a = argument(l.argument);
    const std::string pack = "Pack<" + memory_type(a.dtype) + ", " + num(vector()) + "> p_" + l.name,
                      read =
                          "load_pack<aligned, " + num(vector()) + ">(" + pointer(a) + loads_.place(l) + ");";
    if (l.within.empty()) return line(pack + " = " + read, l.node);
    line(pack + " = {};", l.node);
    line("if (" + loads_.inside(l, false) + ") p_" + l.name + " = " + read, l.node);
  }
  // One element of the run.
  std::string element(const Load& l) const {
    return loads_.together(l) ? "wide(p_" + l.name + ".v[k])" : loads_.element(l, false);
  }
  bool known_of_run(const Load& l) const {
    return l.kind == Load::Kind::truth && loads_.at_once(l) && vector() > 1;
  }

  // ---- pointwise -------------------------------------------------------------------------------------
  void elements() {
    const int64_t total = kernel_.work;
    const std::string type = index_type();
    const std::string run = vector() == 1 ? "" : " * " + num(vector());
    if (shape_.items > 1) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
      line(type + " i = ((" + type + ")(blockIdx.x * " + num(shape_.items) + " + u) * " +
           num(shape_.threads) + " + threadIdx.x)" + run + ";");
    } else {
      line(type + " i = ((" + type + ")blockIdx.x * " + num(shape_.threads) + " + threadIdx.x)" + run + ";");
    }
    line(std::string("if (i >= ") + num(total) + ") " + (shape_.items > 1 ? "break;" : "return;"));
    if (s_.rows > 0) {
      line(type + " c = i % " + num(inner()) + ";");
      line(type + " r = i / " + num(inner()) + ";");
      decode_row();
    } else {
      line(type + " c = i;");
    }
    row_values(0, "c == 0");
    const Phase& p = s_.phases[0];
    for (int l : p.loads) load_run(s_.loads[static_cast<size_t>(l)]);
    declare_stores(p, 0);
    each_of_run([&] {
      for (int l : p.loads) load_element(0, l);
      values(0, p, "");
    });
    write_stores(p, 0);
    if (shape_.items > 1) close();
  }
  template <class F>
  void each_of_run(F&& f) {
    if (vector() == 1) return f();
    line("#pragma unroll");
    open("for (int k = 0; k < " + num(vector()) + "; ++k) {");
    f();
    close();
  }

  // Outputs that this phase is the first to compute.
  bool stores_here(int phase, int value) const {
    const Value& v = s_.values[static_cast<size_t>(value)];
    return v.store >= 0 && !v.per_row && v.statement->reduce == Statement::Reduce::none &&
           first_phase(value) == phase;
  }
  int first_phase(int value) const {
    for (size_t p = 0; p < s_.phases.size(); ++p)
      if (std::find(s_.phases[p].values.begin(), s_.phases[p].values.end(), value) !=
          s_.phases[p].values.end())
        return static_cast<int>(p);
    return -1;
  }
  void declare_stores(const Phase& p, int phase) {
    for (int i : p.values) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      if (stores_here(phase, i) && loads_.together(v.store_strides, 0))
        line("Pack<" + memory_type(argument(v.store).dtype) + ", " + num(vector()) + "> q_" + v.name + ";",
             v.node);
    }
  }
  void write_stores(const Phase& p, int phase) {
    for (int i : p.values) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      if (stores_here(phase, i) && loads_.together(v.store_strides, 0))
        line("store_pack<aligned, " + num(vector()) + ">(" + pointer(argument(v.store)) +
                 index_.row(v.store_strides, 0) + index_.column(v.store_strides) + ", q_" + v.name + ");",
             v.node);
    }
  }
  void values(int phase, const Phase& p, const std::string& kept_at) {
    for (size_t k = 0; k < p.values.size(); ++k) {
      for (const Phase::Late& late : p.late)
        if (late.before == k) load_element(phase, late.load);
      compute(phase, p.values[k], kept_at);
    }
  }
  // A value of one element: into its name, the accumulator it feeds, or memory.
  void compute(int phase, int i, const std::string& kept_at) {
    const Value& v = s_.values[static_cast<size_t>(i)];
    if (online_ && i == online_->max) return compute_online(*online_);
    if (v.statement->reduce != Statement::Reduce::none) {
      const std::string acc = "acc_" + v.name;
      line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
      return;
    }
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
    if (v.kept() && !kept_at.empty()) line("row_" + v.name + kept_at + " = " + v.name + ";", v.node);
    if (!stores_here(phase, i)) return;
    if (loads_.together(v.store_strides, 0))
      return line("put(q_" + v.name + ".v[k], " + v.name + ");", v.node);
    std::string at = index_.row(v.store_strides, 0) + index_.column(v.store_strides);
    if (vector() > 1) at += index_.term("k", v.store_strides.back());
    const std::string guard = s_.reduces && !exact_rows() ? "if (inside) " : "";
    line(guard + "put(" + pointer(argument(v.store)) + "[" + IndexText::trimmed(at) + "], " + v.name + ");",
         v.node);
  }

  // ---- rows ------------------------------------------------------------------------------------------
  bool exact_rows() const { return s_.row_count() % shape_.rows_a_block() == 0; }
  bool exact_columns() const {
    return s_.columns() == int64_t{1} * shape_.items * shape_.group * vector() && shape_.registers;
  }
  std::string first_thread() const { return std::string(exact_rows() ? "" : "inside && ") + "lane == 0"; }

  void rows() {
    const std::string type = index_type();
    const int beside = shape_.rows_a_block();
    if (beside == 1) {
      line("const int lane = threadIdx.x;");
      line(type + " r = blockIdx.x;");
    } else {
      line("const int lane = threadIdx.x % " + num(shape_.group) + ";");
      line(type + " r = (" + type + ")blockIdx.x * " + num(beside) + " + threadIdx.x / " + num(shape_.group) +
           ";");
      if (!exact_rows()) {
        line("const bool inside = r < " + num(s_.row_count()) + ";");
        line("if (!inside) r = " + num(s_.row_count() - 1) +
             ";  // works along, for the others need its warp");
      }
    }
    decode_row();
    if (shape_.registers) declare_kept();
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      row_values(static_cast<int>(p), first_thread());
      online_ = shape_.registers ? std::nullopt : online_sum(s_, p);
      phase(static_cast<int>(p));
      if (online_) row_values(static_cast<int>(++p), first_thread());
      online_.reset();
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
    for (const Value& v : s_.values)
      if (v.kept()) line(lane_type(v.statement->dtype) + " row_" + v.name + size() + ";", v.node);
  }

  void phase(int index) {
    const Phase& p = s_.phases[static_cast<size_t>(index)];
    if (p.values.empty()) return;
    std::vector<int> sums;
    std::string what;
    for (int i : p.values) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      const bool sum = v.statement->reduce != Statement::Reduce::none;
      if (sum) sums.push_back(i);
      if (sum || stores_here(index, i)) what += (what.empty() ? "" : ", ") + v.name;
    }
    std::string number = num(index + 1);
    if (online_) number += " and " + num(index + 2), what += ", " + value(online_->sum).name;
    if (s_.phases.size() > 1)
      line("// pass " + number + " of " + num(static_cast<int64_t>(s_.phases.size())) + ": " + what);
    if (online_) start(value(online_->sum));
    for (int i : sums) start(value(i));
    walk(index, p);
    if (online_) return fold_online(*online_);
    for (int i : sums) fold(value(i));
  }
  const Value& value(int i) const { return s_.values[static_cast<size_t>(i)]; }

  // m = max(m, x), s = sum exp(x - m): s is rescaled when m grows. Equal infinities must not meet in a
  // difference; what eager makes of them follows at the end. A NaN stays in m and s.
  void compute_online(const OnlineSum& o) {
    const Value &max = value(o.max), &sum = value(o.sum);
    const std::string x = operand(max, max.statement->expr->operand).text, m = "acc_" + max.name,
                      s = "acc_" + sum.name;
    open("if (" + x + " > " + m + " || isnan(" + x + ")) {");
    line(s + " = " + s + " * expf(" + m + " - " + x + ") + 1.0f;", sum.node);
    line(m + " = " + x + ";", max.node);
    --indent_;
    open("} else {");
    line(s + " += " + x + " == " + m + " ? 1.0f : expf(" + x + " - " + m + ");", sum.node);
    close();
  }
  void fold_online(const OnlineSum& o) {
    const Value &max = value(o.max), &sum = value(o.sum);
    const std::string m = "acc_" + max.name, s = "acc_" + sum.name;
    fold(max);
    line("if (" + m + " != " + max.name + ") " + s + " *= expf(" + m + " - " + max.name + ");", sum.node);
    line("if (is_inf(" + max.name + ")) " + s + " = kNan;  // as the difference of infinities is", sum.node);
    fold(sum);
  }
  // The columns of this thread.
  void walk(int index, const Phase& p) {
    const std::string type = index_type(), run = vector() == 1 ? "" : " * " + num(vector());
    if (shape_.registers) {
      line("#pragma unroll");
      open("for (int u = 0; u < " + num(shape_.items) + "; ++u) {");
      line(type + " " + column_name() + " = (u * " + num(shape_.group) + " + lane)" + run + ";");
      if (!exact_columns()) line("if (" + column_name() + " >= " + num(s_.columns()) + ") break;");
    } else {
      line("#pragma unroll 4");
      open("for (" + type + " " + column_name() + " = lane" + run + "; " + column_name() + " < " +
           num(s_.columns()) + "; " + column_name() + " += " + num(int64_t{1} * shape_.group * vector()) +
           ") {");
    }
    decode_column();
    for (int l : p.loads)
      if (!kept_[static_cast<size_t>(l)] || first_load(l) == index)
        load_run(s_.loads[static_cast<size_t>(l)]);
    declare_stores(p, index);
    each_of_run([&] {
      for (int l : p.loads) load_element(index, l);
      for (int i : p.from_scratch) {
        const Value& v = s_.values[static_cast<size_t>(i)];
        line(lane_type(v.statement->dtype) + " " + v.name + " = row_" + v.name + at() + ";", v.node);
      }
      values(index, p, shape_.registers ? at() : "");
    });
    if (exact_rows()) {
      write_stores(p, index);
    } else {
      const size_t before = text_.size();
      const int32_t lines = lines_;
      open("if (inside) {");
      write_stores(p, index);
      close();
      if (lines_ == lines + 2) text_.resize(before), lines_ = lines;  // nothing to write
    }
    close();
  }
  int first_load(int load) const {
    for (size_t p = 0; p < s_.phases.size(); ++p)
      if (std::find(s_.phases[p].loads.begin(), s_.phases[p].loads.end(), load) != s_.phases[p].loads.end())
        return static_cast<int>(p);
    return -1;
  }
  void load_element(int index, int l) {
    const Load& load = s_.loads[static_cast<size_t>(l)];
    if (known_of_run(load)) return;
    const std::string type = lane_type(load.dtype) + " " + load.name + " = ";
    if (!kept_[static_cast<size_t>(l)]) return line(type + element(load) + ";", load.node);
    if (first_load(l) == index) {
      line(type + element(load) + ";", load.node);
      line("row_" + load.name + at() + " = " + load.name + ";", load.node);
    } else {
      line(type + "row_" + load.name + at() + ";", load.node);
    }
  }

  void start(const Value& v) {
    line(lane_type(v.statement->dtype) + " acc_" + v.name + " = " + start_text(v) + ";", v.node);
  }
  void fold(const Value& v) {
    VITRINE_CHECK(shape_.group <= 32 || shape_.rows_a_block() == 1,
                  "rows share the memory they are folded in");
    std::string x = std::string(shape_.group > 32 ? "fold_block<" : "fold_group<") + num(shape_.group) +
                    ">(acc_" + v.name + ", " + functor(v) + "())";
    if (shape_.group == 1) x = "acc_" + v.name;
    if (v.statement->output >= 0) x = narrowed(x, v.statement->dtype);
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + x + ";", v.node);
    store_once(v, first_thread());
  }

  void assemble() {
    auto count = [](const std::string& t) {
      return static_cast<int32_t>(std::count(t.begin(), t.end(), '\n'));
    };
    const std::string head = "// " + kernel_.name + ": " + kernel_.space +
                             "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
                             "// end of prelude\n\n";
    for (LineOrigin& o : kernel_.lines) {
      o.line += count(head);
      o.end_line += count(head);
    }
    kernel_.text = head + text_;
  }

  const fusion::LoopProgram& program_;
  const fusion::Unit& unit_;
  const cpp::Schedule& s_;
  const Shape& shape_;
  const IndexText index_;
  const LoadText loads_;
  Kernel kernel_;
  std::vector<bool> kept_;           // by load: stays in registers between phases
  std::optional<OnlineSum> online_;  // of the phase that is written
  std::string text_;
  int32_t lines_ = 0, indent_ = 0;
};

}  // namespace

Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit,
                   const cpp::Schedule& schedule, const Shape& shape, size_t launch) {
  if (schedule.across) return emit_across(program, unit, schedule, shape, launch);
  if (schedule.parts > 1) return emit_part(program, unit, schedule, shape, launch);
  return Emitter(program, unit, schedule, shape).emit();
}

}  // namespace vitrine::codegen::cuda
