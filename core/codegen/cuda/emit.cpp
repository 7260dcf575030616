#include "core/codegen/cuda/emit.h"

#include <algorithm>

#include "core/codegen/cuda/emit_across.h"
#include "core/codegen/cuda/emit_both_ways.h"
#include "core/codegen/cuda/emit_part.h"
#include "core/codegen/cuda/emit_tile.h"
#include "core/codegen/cuda/load_text.h"
#include "core/codegen/cuda/online.h"
#include "core/codegen/cuda/thread_text.h"

namespace vitrine::codegen::cuda {

using cpp::Load;
using cpp::Phase;
using cpp::Source;
using cpp::Value;
using fusion::Statement;

namespace {

// Elements, or whole rows of a group of threads each.
class Emitter : ThreadText {
 public:
  Emitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& s,
          const Shape& shape)
      : ThreadText(program, unit, s, shape, 0) {
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
    for (const Source& s : s_.once(p)) {
      if (s.kind == Source::Kind::load) {
        const Load& l = load(s.index);
        line(lane_type(l.dtype) + " " + l.name + " = " + loads_.element(l, true) + ";", l.node);
        continue;
      }
      const Value& v = value(s.index);
      line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store_once(v, condition);
    }
    for (const Load& l : s_.loads)
      if (l.picked_by_row && !l.per_row && l.phase == p) line(loads_.row_begin(l), l.node);
  }
  void store_once(const Value& v, const std::string& condition) {
    if (v.store >= 0) put_row(v, condition);
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
      decode_row(s_.rows);
    } else {
      line(type + " c = i;");
    }
    row_values(0, "c == 0");
    const Phase& p = s_.phases[0];
    for (int l : p.loads) load_run(load(l));
    declare_stores(0);
    each_of_run([&] {
      for (int l : p.loads) load_element(0, l);
      values(0, p, "");
    });
    write_stores(0);
    if (shape_.items > 1) close();
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
    const Value& v = value(i);
    if (online_ && i == online_->max) return compute_online(*online_);
    if (reduces(v)) {
      const std::string acc = "acc_" + v.name;
      line(acc + " = " + joined(v, acc, value_text(v)) + ";", v.node);
      return;
    }
    line(lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
    if (v.kept() && !kept_at.empty()) line("row_" + v.name + kept_at + " = " + v.name + ";", v.node);
    if (!stores_here(phase, i)) return;
    put_element(v, s_.reduces && !exact_rows() ? "if (inside) " : "");
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
    decode_row(s_.rows);
    if (shape_.registers) declare_kept();
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      row_values(static_cast<int>(p), first_thread());
      online_ = shape_.registers ? std::nullopt : online_sum(s_, p);
      phase(p);
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

  void phase(size_t index) {
    const Phase& p = s_.phases[index];
    if (p.values.empty()) return;
    comment(index, online_ ? 2 : 1);
    if (online_) start(value(online_->sum));
    for (int i : reductions(index)) start(value(i));
    walk(index, p);
    if (online_) return fold_online(*online_);
    for (int i : reductions(index)) fold(value(i));
  }

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
  void walk(size_t index, const Phase& p) {
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
      if (!kept_[static_cast<size_t>(l)] || first_load(l) == index) load_run(load(l));
    declare_stores(index);
    each_of_run([&] {
      for (int l : p.loads) load_element(index, l);
      for (int i : p.from_scratch) {
        const Value& v = value(i);
        line(lane_type(v.statement->dtype) + " " + v.name + " = row_" + v.name + at() + ";", v.node);
      }
      values(index, p, shape_.registers ? at() : "");
    });
    if (exact_rows()) {
      write_stores(index);
    } else {
      const size_t before = text_.size();
      const int32_t lines = lines_;
      open("if (inside) {");
      write_stores(index);
      close();
      if (lines_ == lines + 2) text_.resize(before), lines_ = lines;  // nothing to write
    }
    close();
  }
  size_t first_load(int load) const {
    size_t p = 0;
    while (std::count(s_.phases[p].loads.begin(), s_.phases[p].loads.end(), load) == 0) ++p;
    return p;
  }
  void load_element(size_t index, int l) {
    const Load& from = load(l);
    if (known_of_run(from)) return;
    const std::string type = lane_type(from.dtype) + " " + from.name + " = ";
    if (!kept_[static_cast<size_t>(l)]) return line(type + element(from) + ";", from.node);
    if (first_load(l) != index) return line(type + "row_" + from.name + at() + ";", from.node);
    line(type + element(from) + ";", from.node);
    line("row_" + from.name + at() + " = " + from.name + ";", from.node);
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

  std::vector<bool> kept_;           // by load: stays in registers between phases
  std::optional<OnlineSum> online_;  // of the phase that is written
};

}  // namespace

Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit,
                   const cpp::Schedule& schedule, const Shape& shape, size_t launch) {
  if (schedule.both_ways()) return emit_both_ways(program, unit, schedule, shape, launch);
  if (schedule.across) return emit_across(program, unit, schedule, shape, launch);
  if (schedule.parts > 1) return emit_part(program, unit, schedule, shape, launch);
  if (shape.turned >= 0) return emit_tile(program, unit, schedule, shape);
  return Emitter(program, unit, schedule, shape).emit();
}

}  // namespace vitrine::codegen::cuda
