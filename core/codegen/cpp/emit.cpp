#include "core/codegen/cpp/emit.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/codegen/cpp/expr_text.h"
#include "core/codegen/cpp/prelude.h"
#include "core/codegen/naming.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

using fusion::Statement;
using ir::Dims;
using ir::DType;
using ir::NodeId;

namespace {

std::string memory_type(DType t) {
  return t == DType::b1 ? "bool" : std::string(ir::dtype_name(t));
}

class Emitter {
 public:
  Emitter(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
          const Target& target)
      : program_(program),
        unit_(unit),
        s_(s),
        lanes_(target.lanes),
        stream_bytes_(target.stream_bytes),
        sizes_(target.sizes) {}

  Kernel emit() {
    kernel_.name = kernel_name(program_, unit_);
    kernel_.space = space();
    kernel_.family = s_.reduces ? "reduction" : "pointwise";
    kernel_.nodes = fusion::nodes_of(program_, unit_);
    costs();
    body();
    assemble();
    return std::move(kernel_);
  }

 private:
  // ---- names and facts -------------------------------------------------------------------------------
  std::string space() const {
    const fusion::Group& g = unit_.group;
    Dims rows(g.dims.begin(), g.dims.begin() + static_cast<int64_t>(g.rows));
    if (s_.block > 0) return std::to_string(s_.columns());
    return std::to_string(s_.row_count()) + " × " + std::to_string(s_.columns());
  }
  std::string space_text() const {
    if (s_.block > 0) return size(s_.columns());
    return size(s_.row_count()) + " × " + size(s_.columns());
  }
  void costs() {
    int64_t elements = s_.row_count() * s_.columns(), per_element = 0;
    for (const Value& v : s_.values)
      per_element += v.per_row && v.statement->reduce == Statement::Reduce::none ? 0 : 1;
    kernel_.flops = elements * per_element;
    int cost = 0;
    for (const Phase& p : s_.phases) {
      cost += 2 * static_cast<int>(p.loads.size()) + 2;
      for (int v : p.values) cost += std::max(1, s_.values[static_cast<size_t>(v)].cost / 2);
    }
    for (const Argument& a : s_.arguments)
      kernel_.bytes += program_.graph->node(a.root.node).outputs[static_cast<size_t>(a.root.output)].bytes();
    // A chunk is worth handing to a thread from some 30,000 vector operations on.
    int64_t item = std::max<int64_t>(1, (s_.block > 0 ? s_.block : s_.columns()) * cost / lanes_);
    kernel_.grain = std::max<int64_t>(1, 30'000 / item);
    kernel_.work = s_.block > 0 ? (elements + s_.block - 1) / s_.block : s_.row_count();
  }

  std::string vector_type(DType lane) const {
    char letter = lane == DType::f64 ? 'd' : lane == DType::i64 ? 'l' : lane == DType::f32 ? 'v' : 'n';
    return letter + std::to_string(lanes_);
  }
  static DType lane_of(const Value& v) { return fusion::lane_dtype(v.statement->dtype); }
  const Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }

  // A number of the text that another size may change.
  std::string size(int64_t n) const { return sizes_ ? SizeMemory::mark(n) : std::to_string(n); }

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

  void body() {
    open("extern \"C\" void vitrine_kernel(void* const* args, i64 begin, i64 end) {");
    if (sizes_) line(std::string(1, SizeMemory::kDeclaration));
    for (size_t i = 0; i < s_.arguments.size(); ++i) {
      const Argument& a = s_.arguments[i];
      std::string type = memory_type(a.dtype);
      line((a.written ? type + "* out_" : "const " + type + "* in_") + a.name + " = " +
           (a.written ? "(" : "(const ") + type + "*)args[" + std::to_string(i) + "];");
    }
    if (s_.block > 0)
      flat();
    else
      rows();
    if (streams_) line("__builtin_ia32_sfence();  // before another thread is told");
    close();
  }

  // A kernel over a flat range: work items are blocks of it.
  void flat() {
    int64_t n = s_.columns(), whole = n / lanes_ * lanes_;
    for (size_t i = 0; i < s_.loads.size(); ++i)
      if (s_.loads[i].per_row) load_once(s_.loads[i]);
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

  void rows() {
    scratch();
    open("for (i64 r = begin; r < end; ++r) {");
    decode();
    pointers();
    for (size_t i = 0; i < s_.loads.size(); ++i)
      if (s_.loads[i].per_row) load_once(s_.loads[i]);
    for (size_t p = 0; p < s_.phases.size(); ++p) {
      row_values(static_cast<int>(p));
      phase(static_cast<int>(p));
    }
    row_values(static_cast<int>(s_.phases.size()));
    close();
  }
  void scratch() {
    int64_t columns = (s_.columns() + lanes_ - 1) / lanes_ * lanes_ + lanes_;
    // An array's length is a number; one text serves many sizes.
    if (sizes_) columns = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(columns)));
    for (const Value& v : s_.values)
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
  // "r * 768" or "i0 * 98304 + i1 * 64", plus the offset.
  std::string row_offset(const Dims& strides, int64_t offset) const {
    std::string out;
    for (size_t k = 0; k < s_.rows; ++k) {
      if (strides[k] == 0) continue;
      std::string i = s_.rows == 1 ? "r" : "i" + std::to_string(k);
      out += " + " + i + (strides[k] == 1 ? "" : " * " + size(strides[k]));
    }
    if (offset != 0) out += " + " + size(offset);
    return out;
  }
  void pointers() {
    for (const Load& l : s_.loads) {
      if (l.per_row) continue;
      const Argument& a = argument(l.argument);
      line("const " + memory_type(a.dtype) + "* p_" + l.name + " = " + pointer(a) +
               row_offset(l.strides, l.offset) + ";",
           l.node);
    }
    for (const Value& v : s_.values)
      if (v.store >= 0 && !v.per_row)
        line(memory_type(argument(v.store).dtype) + "* q_" + v.name + " = " + pointer(argument(v.store)) +
                 row_offset(v.store_strides, 0) + ";",
             v.node);
  }
  static std::string pointer(const Argument& a) { return (a.written ? "out_" : "in_") + a.name; }

  void load_once(const Load& l) {
    const Argument& a = argument(l.argument);
    std::string at =
        s_.block > 0 ? (l.offset ? " + " + size(l.offset) : "") : row_offset(l.strides, l.offset);
    line(vector_type(fusion::lane_dtype(a.dtype)) + " " + l.name + " = load1(" + pointer(a) + at + ");",
         l.node);
  }

  // ---- values ----------------------------------------------------------------------------------------
  Typed operand(const Value& v, int i) const {
    const Source& s = v.sources[static_cast<size_t>(i)];
    if (s.kind == Source::Kind::load) {
      const Load& l = s_.loads[static_cast<size_t>(s.index)];
      return {l.name, fusion::lane_dtype(argument(l.argument).dtype), true};
    }
    const Value& from = s_.values[static_cast<size_t>(s.index)];
    return {from.name, lane_of(from), true};
  }
  std::string value_text(const Value& v) const {
    const Statement& s = *v.statement;
    DType lane = lane_of(v);
    Typed t = expr_text(s.expr, s.compute, lane, [&](int i) { return operand(v, i); });
    if (const Value* sum = exponential_sum(v))
      t = {operand(v, s.expr->args[0]->operand).text + " * " + sum->inverse, lane, false};
    // Every operator's result is what memory would hold: narrow integers wrap, short floats are rounded, as
    // eager does between operators. Sums inside one operator stay in f32.
    return s.is_result() ? narrowed(t.text, s.dtype) : t.text;
  }
  // For exp(x - max) / sum: the sum, which is 1 or more, so that a product with its inverse does not overflow
  // where the quotient would not. nullptr: any other value.
  const Value* exponential_sum(const Value& v) const {
    const fusion::Expr& e = *v.statement->expr;
    if (e.kind != fusion::Expr::Kind::call || e.name != "/" || v.per_row ||
        v.statement->compute != DType::f32)
      return nullptr;
    auto value = [&](const Value& of, const fusion::ExprPtr& a) -> const Value* {
      if (a->kind != fusion::Expr::Kind::operand) return nullptr;
      const Source& s = of.sources[static_cast<size_t>(a->operand)];
      return s.kind == Source::Kind::value ? &s_.values[static_cast<size_t>(s.index)] : nullptr;
    };
    auto calls = [](const Value* of, const char* name) {
      return of && of->statement->expr->kind == fusion::Expr::Kind::call && of->statement->expr->name == name;
    };
    const Value *up = value(v, e.args[0]), *sum = value(v, e.args[1]);
    if (!up || !sum || sum->statement->reduce != Statement::Reduce::sum || lane_of(*sum) != DType::f32 ||
        lane_of(*up) != DType::f32)
      return nullptr;
    const Value* exp = value(*sum, sum->statement->expr);
    const Value* difference = calls(exp, "exp") ? value(*exp, exp->statement->expr->args[0]) : nullptr;
    // a - 1 * max
    if (!calls(difference, "-")) return nullptr;
    fusion::ExprPtr right = difference->statement->expr->args[1];
    if (right->kind == fusion::Expr::Kind::call && right->name == "*") right = right->args[1];
    const Value* max = value(*difference, right);
    return max && max->statement->reduce == Statement::Reduce::max ? sum : nullptr;
  }

  // Values of a row that are known before phase `p`.
  void row_values(int p) {
    for (const Value& v : s_.values) {
      if (!v.per_row || v.statement->reduce != Statement::Reduce::none || v.phase != p) continue;
      line(vector_type(lane_of(v)) + " " + v.name + " = " + value_text(v) + ";", v.node);
      store_once(v);
    }
  }
  void store_once(const Value& v) {
    if (v.store >= 0)
      line("store1(" + pointer(argument(v.store)) + row_offset(v.store_strides, 0) + ", " + v.name + ");",
           v.node);
  }

  // ---- phases ----------------------------------------------------------------------------------------
  std::vector<int> reductions(const Phase& p) const {
    std::vector<int> out;
    for (int i : p.values)
      if (s_.values[static_cast<size_t>(i)].statement->reduce != Statement::Reduce::none) out.push_back(i);
    return out;
  }
  int64_t inner() const { return s_.dims.back(); }

  // "// pass 2 of 3 over the row: sum", where there are several.
  void comment(int index, const Phase& p, const std::vector<int>& sums) {
    if (s_.phases.size() < 2) return;
    std::string what;
    for (int i : sums) what += (what.empty() ? "" : ", ") + s_.values[static_cast<size_t>(i)].name;
    for (int i : p.values)
      if (s_.values[static_cast<size_t>(i)].store >= 0 && !s_.values[static_cast<size_t>(i)].per_row &&
          first_phase(i) == index)
        what += (what.empty() ? "" : ", ") + s_.values[static_cast<size_t>(i)].name;
    line("// pass " + std::to_string(index + 1) + " of " + std::to_string(s_.phases.size()) +
         " over the row: " + what);
  }

  void phase(int index) {
    const Phase& p = s_.phases[static_cast<size_t>(index)];
    if (p.values.empty()) return;
    std::vector<int> sums = reductions(p);
    comment(index, p, sums);
    int64_t vectors = inner() / lanes_;
    int ways = sums.empty() ? 1 : vectors >= 8 ? 4 : vectors >= 2 ? 2 : 1;
    for (int i : sums) accumulators(s_.values[static_cast<size_t>(i)], ways);
    bool simple = ways == 1 && inner() % lanes_ == 0;
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
      open("for (i64 " + c + " = 0; " + c + " < " + size(s_.dims[k]) + "; ++" + c + ") {");
    }
    if (simple) {
      open("for (i64 c = 0; c < " + size(inner()) + "; c += " + std::to_string(lanes_) + ") {");
      phase_body(index, p, "all");
      close();
    } else {
      run_phase(name, sums, ways);
    }
    while (nested-- > 0) close();
    for (int i : sums) fold(s_.values[static_cast<size_t>(i)], ways);
  }
  static std::string sum_name(int i) { return "acc" + std::to_string(i); }
  std::string acc(const Value& v, int way) const {
    return "acc_" + v.name + "_" + static_cast<char>('a' + way);
  }

  void accumulators(const Value& v, int ways) {
    DType lane = lane_of(v);
    std::string start = "splat(" +
                        std::string(lane == DType::f32   ? "0.0f"
                                    : lane == DType::f64 ? "0.0"
                                    : lane == DType::i64 ? "0l"
                                                         : "0") +
                        ")";
    if (v.statement->reduce != Statement::Reduce::sum) {
      bool max = v.statement->reduce == Statement::Reduce::max;
      double inf = std::numeric_limits<double>::infinity();
      if (ir::is_float(lane))
        start = constant_text(max ? -inf : inf, lane);
      else if (lane == DType::i64)
        start = max ? "splat(-9223372036854775807l - 1)" : "splat(9223372036854775807l)";
      else
        start = max ? "splat(-2147483647 - 1)" : "splat(2147483647)";
    }
    std::string list;
    for (int w = 0; w < ways; ++w) list += (w ? ", " : "") + acc(v, w) + " = " + start;
    line(vector_type(lane) + " " + list + ";", v.node);
  }
  // Calls of a phase: several vectors a turn into accumulators of their own, then the rest.
  void run_phase(const std::string& name, const std::vector<int>& sums, int ways) {
    int64_t n = inner(), turn = static_cast<int64_t>(ways) * lanes_, whole = n / turn * turn;
    std::string outer;
    for (size_t k = s_.rows; k + 1 < s_.dims.size(); ++k) outer += "c" + std::to_string(k - s_.rows) + ", ";
    auto call = [&](const std::string& at, const std::string& part, int way) {
      std::string list = outer + at + ", " + part;
      for (int i : sums) list += ", " + acc(s_.values[static_cast<size_t>(i)], way);
      return name + "(" + list + ");";
    };
    if (whole > 0) {
      open("for (i64 c = 0; c < " + size(whole) + "; c += " + std::to_string(turn) + ") {");
      for (int w = 0; w < ways; ++w) line(call(w ? "c + " + std::to_string(w * lanes_) : "c", "all", w));
      close();
    }
    int way = 0;
    for (; whole + lanes_ <= n; whole += lanes_) line(call(size(whole), "all", way++ % ways));
    if (whole < n) line(call(size(whole), "first<" + std::to_string(n - whole) + ">", way % ways));
  }
  void fold(const Value& v, int ways) {
    bool sum = v.statement->reduce == Statement::Reduce::sum;
    std::string f = sum ? "" : v.statement->reduce == Statement::Reduce::max ? "vmax" : "vmin";
    auto join = [&](const std::string& a, const std::string& b) {
      return sum ? "(" + a + " + " + b + ")" : f + "(" + a + ", " + b + ")";
    };
    std::string all = acc(v, 0);
    if (ways == 2) all = join(acc(v, 0), acc(v, 1));
    if (ways == 4) all = join(join(acc(v, 0), acc(v, 1)), join(acc(v, 2), acc(v, 3)));
    std::string fold = sum                                             ? "fold_add"
                       : v.statement->reduce == Statement::Reduce::max ? "fold_max"
                                                                       : "fold_min";
    std::string value = "splat(" + fold + "(" + all + "))";
    if (v.statement->output >= 0) value = narrowed(value, v.statement->dtype);
    line(vector_type(lane_of(v)) + " " + v.name + " = " + value + ";", v.node);
    bool inverted = std::any_of(s_.values.begin(), s_.values.end(),
                                [&](const Value& w) { return exponential_sum(w) == &v; });
    if (inverted) line(vector_type(lane_of(v)) + " " + v.inverse + " = 1.0f / " + v.name + ";", v.node);
    store_once(v);
  }

  // Element offset inside a row: "c", "c * 64", "c0 * 49 + c".
  std::string column(const Dims& strides, bool last_too) const {
    std::string out;
    for (size_t k = s_.rows; k < s_.dims.size(); ++k) {
      bool last = k + 1 == s_.dims.size();
      if (strides[k] == 0 || (last && !last_too)) continue;
      std::string i = last ? "c" : "c" + std::to_string(k - s_.rows);
      out += " + " + i + (strides[k] == 1 ? "" : " * " + size(strides[k]));
    }
    return out;
  }
  std::string scratch_at(const Value& v) const {
    if (v.host >= 0) {
      const Value& host = s_.values[static_cast<size_t>(v.host)];
      return "q_" + host.name + column(host.store_strides, true);
    }
    std::string at = "row_" + v.name;
    int64_t stride = inner();
    std::string out;
    for (size_t k = s_.dims.size() - 1; k-- > s_.rows;) {
      out = " + c" + std::to_string(k - s_.rows) + " * " + size(stride) + out;
      stride *= s_.dims[k];
    }
    return at + out + " + c";
  }

  void phase_body(int index, const Phase& p, const std::string& part) {
    for (int i : p.loads) {
      const Load& l = s_.loads[static_cast<size_t>(i)];
      const Argument& a = argument(l.argument);
      std::string from = s_.block > 0 ? pointer(a) + (l.offset ? " + " + size(l.offset) : "") : "p_" + l.name;
      std::string type = vector_type(fusion::lane_dtype(a.dtype));
      int64_t stride = l.strides.back();
      std::string at = from + column(l.strides, true);
      std::string get = stride == 1   ? "load(" + at + ", " + part + ")"
                        : stride == 0 ? "load1(" + at + ")"
                                      : "gather(" + at + ", " + size(stride) + ", " + part + ")";
      line(type + " " + l.name + " = " + get + ";", l.node);
    }
    for (int i : p.from_scratch) {
      const Value& v = s_.values[static_cast<size_t>(i)];
      line(vector_type(lane_of(v)) + " " + v.name + " = load(" + scratch_at(v) + ", " + part + ");", v.node);
    }
    for (int i : p.values) compute(index, i, part);
  }
  void compute(int phase_index, int i, const std::string& part) {
    const Value& v = s_.values[static_cast<size_t>(i)];
    std::string type = vector_type(lane_of(v));
    if (v.statement->reduce != Statement::Reduce::none) {
      bool lambda = part == "n";
      std::string sum = lambda ? sum_name(i) : acc(v, 0);
      std::string x = value_text(v);
      std::string next = v.statement->reduce == Statement::Reduce::sum
                             ? sum + " + " + (x.find(' ') == std::string::npos ? x : "(" + x + ")")
                         : v.statement->reduce == Statement::Reduce::max ? "vmax(" + sum + ", " + x + ")"
                                                                         : "vmin(" + sum + ", " + x + ")";
      line(sum + " = " + (lambda ? "keep(" + next + ", " + sum + ", n)" : next) + ";", v.node);
      return;
    }
    line(type + " " + v.name + " = " + value_text(v) + ";", v.node);
    bool first = first_phase(i) == phase_index;
    if (v.kept() && v.host != i && first)
      line("store(" + scratch_at(v) + ", " + v.name + ", " + part + ");", v.node);
    if (v.store >= 0 && first) {
      const Argument& a = argument(v.store);
      std::string to = (s_.block > 0 ? pointer(a) : "q_" + v.name) + column(v.store_strides, true);
      int64_t stride = v.store_strides.back();
      if (stride == 1 || s_.dims.back() == 1)
        line((streamed(i) ? "stream(" : "store(") + to + ", " + v.name + ", " + part + ");", v.node);
      else
        line("scatter(" + to + ", " + size(stride) + ", " + v.name + ", " + part + ");", v.node);
    }
  }
  // Whole lines of memory that the kernel does not read itself: fresh buffers begin at a line.
  bool streamed(int value) {
    const Value& v = s_.values[static_cast<size_t>(value)];
    const Argument& a = argument(v.store);
    bool whole_lines = v.store_strides.back() == 1 && (s_.block > 0 || inner() % lanes_ == 0) &&
                       (a.dtype == DType::f32 || a.dtype == DType::i32);
    bool hosts =
        std::any_of(s_.values.begin(), s_.values.end(), [&](const Value& w) { return w.host == value; });
    bool streams =
        stream_bytes_ > 0 && kernel_.bytes >= stream_bytes_ && whole_lines && !hosts && a.last_read < 0;
    streams_ = streams_ || streams;
    return streams;
  }
  int first_phase(int value) const {
    for (size_t p = 0; p < s_.phases.size(); ++p)
      if (std::find(s_.phases[p].values.begin(), s_.phases[p].values.end(), value) !=
          s_.phases[p].values.end())
        return static_cast<int>(p);
    return -1;
  }

  // Header, prelude, body; lines are then counted from the whole text.
  void assemble() {
    std::string head = "// " + kernel_.name + ": " + space_text() + "\n";
    std::string prelude = prelude_text(text_, lanes_);
    auto count = [](const std::string& t) {
      return static_cast<int32_t>(std::count(t.begin(), t.end(), '\n'));
    };
    head += "// prelude: vectors of " + std::to_string(lanes_) + " lanes, loads and stores, functions\n" +
            prelude + "// end of prelude\n\n";
    for (LineOrigin& o : kernel_.lines) {
      o.line += count(head);
      o.end_line += count(head);
    }
    kernel_.text = head + text_;
    if (!sizes_) return;
    auto resolved =
        sizes_->resolve(unit_.label, kernel_.text, "args[" + std::to_string(s_.arguments.size()) + "]");
    kernel_.text = std::move(resolved.text);
    kernel_.numbers = std::move(resolved.numbers);
    measure_lines();
  }

  // Where the lines of nodes end, now that the text is as it stays.
  void measure_lines() {
    std::vector<int32_t> lengths;
    for (size_t at = 0, end; at < kernel_.text.size(); at = end + 1) {
      end = std::min(kernel_.text.find('\n', at), kernel_.text.size());
      lengths.push_back(static_cast<int32_t>(end - at));
    }
    for (LineOrigin& o : kernel_.lines) o.end_col = lengths.at(static_cast<size_t>(o.line) - 1);
  }

  const fusion::LoopProgram& program_;
  const fusion::Unit& unit_;
  const Schedule& s_;
  int lanes_;
  int64_t stream_bytes_;
  SizeMemory* sizes_;
  bool streams_ = false;  // a store went past the cache
  Kernel kernel_;
  std::string text_;
  int32_t lines_ = 0, indent_ = 0;
};

}  // namespace

Kernel emit_kernel(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& schedule,
                   const Target& target) {
  return Emitter(program, unit, schedule, target).emit();
}

}  // namespace vitrine::codegen::cpp
