#include "core/codegen/cpp/vector_text.h"

#include <algorithm>
#include <limits>

#include "core/codegen/cpp/prelude.h"
#include "core/codegen/schedule/naming.h"
#include "core/codegen/schedule/shared_offsets.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

using fusion::Statement;
using ir::DType;

std::string memory_type(DType t) {
  return t == DType::b1 ? "bool" : std::string(ir::dtype_name(t));
}
std::string lane_memory(DType lane) {
  return lane == DType::b1 ? "i32" : std::string(ir::dtype_name(lane));
}

VectorText::VectorText(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
                       const Target& target, size_t launch)
    : program_(program),
      unit_(unit),
      s_(s),
      target_(target),
      lanes_(target.lanes),
      launch_(launch),
      scan_(program.loops[unit.loops.front()].scans),
      index_(
          s, [this](const ir::Sym& n) { return size(n); }, [this](const ir::Sym& n) { return offset(n); }),
      loads_(s, index_, [this](const OperandSource& from) { return named(from); }) {}

void VectorText::begin_kernel() {
  kernel_.name = kernel_name(program_, unit_);
  kernel_.space = space();
  kernel_.family = s_.reduces ? "reduction" : "pointwise";
  kernel_.nodes = fusion::nodes_of(program_, unit_);
  const ir::Sym elements = s_.row_count() * s_.columns();
  for (size_t i = 0; i < s_.values.size(); ++i)
    if (s_.computes(launch_, static_cast<int>(i))) kernel_.flops += elements;
  for (size_t i = 0; i < s_.arguments.size(); ++i)
    if (s_.touches(launch_, static_cast<int>(i)))
      kernel_.bytes += argument_bytes(program_, s_, s_.arguments[i]);
  kernel_.checks = s_.gathers();
}
int VectorText::cost_of_vector() const {
  int cost = 0;
  for (const Phase& p : s_.phases) {
    cost += 2 * static_cast<int>(p.loads.size()) + 2;
    for (int v : p.values) cost += std::max(1, value(v).cost / 2);
  }
  return cost;
}

std::string VectorText::space() const {
  if (s_.block > 0) return ir::text(s_.columns());
  return ir::text(s_.row_count()) + " × " + ir::text(s_.columns());
}
std::string VectorText::space_text() const {
  const auto shown = [&](const ir::Sym& n) { return target_.sizes ? size(n) : ir::text(n); };
  if (s_.block > 0) return shown(s_.columns());
  return shown(s_.row_count()) + " × " + shown(s_.columns());
}
std::string VectorText::vector_type(DType lane) const {
  char letter = lane == DType::f64 ? 'd' : lane == DType::i64 ? 'l' : lane == DType::f32 ? 'v' : 'n';
  return letter + std::to_string(lanes_);
}
DType VectorText::lane_of(const ScheduledValue& v) {
  return fusion::lane_dtype(v.statement->dtype);
}
std::string VectorText::size(const ir::Sym& n) const {
  return target_.sizes ? SizeMemory::mark(n) : std::to_string(static_cast<int64_t>(n));
}
// One that no size changes may still be another one in the next kernel.
std::string VectorText::offset(const ir::Sym& n) const {
  if (!target_.marks_offsets || n.symbolic()) return size(n);
  const std::string marked = mark_offset(n.hint());
  return target_.sizes ? SizeMemory::mark_integer(n, marked, "") : marked;
}
void VectorText::declare_row(const ir::Sym& n) {
  const std::string fixed = "fixed<" + std::to_string(n.hint()) + ">";
  line("const auto row = " + (target_.sizes ? SizeMemory::mark_integer(n, fixed, "any") : fixed) + ";");
}
std::string VectorText::times(const std::string& i, const ir::Sym& stride) const {
  return stride.same(1) ? i : i + " * " + size(stride);
}

void VectorText::open_function() {
  open("extern \"C\" void vitrine_kernel(void* const* args, i64 begin, i64 end) {");
  if (target_.sizes) line(std::string(1, SizeMemory::kDeclaration));
  size_t at = 0;
  for (const Argument& a : s_.arguments) {
    std::string type = memory_type(a.dtype);
    line((a.written ? type + "* out_" : "const " + type + "* in_") + a.name + " = " +
         (a.written ? "(" : "(const ") + type + "*)args[" + std::to_string(at++) + "];");
  }
  for (int i : s_.parts == 1 ? std::vector<int>() : s_.sums()) {
    const std::string type = lane_memory(lane_of(value(i)));
    line(type + "* " + part(value(i)) + " = (" + type + "*)args[" + std::to_string(at++) + "];",
         value(i).node);
  }
  if (kernel_.checks)
    line("i64* bad = (i64*)args[" + std::to_string(at + 1) + "];  // becomes 1: an index is out of range");
}

Typed VectorText::operand(const ScheduledValue& v, int i) const {
  return named(v.sources[static_cast<size_t>(i)]);
}
Typed VectorText::named(const OperandSource& s) const {
  if (s.kind == OperandSource::Kind::load) {
    const Load& l = s_.loads[static_cast<size_t>(s.index)];
    return {l.name, fusion::lane_dtype(l.dtype), true};
  }
  return {value(s.index).name, lane_of(value(s.index)), true};
}
std::string VectorText::value_text(const ScheduledValue& v, const fusion::ExprPtr& expr) const {
  const Statement& s = *v.statement;
  DType lane = lane_of(v);
  Typed t = expr_text(expr, s.compute, lane, [&](int i) { return operand(v, i); }, target_.sizes != nullptr);
  if (const ScheduledValue* sum = s_.exponential_sum(v))
    t = {operand(v, s.expr->args[0]->operand).text + " * " + sum->inverse, lane, false};
  // Every operator's result is what memory would hold: narrow integers wrap, short floats are rounded, as
  // eager does between operators. Sums inside one operator stay in f32.
  return s.is_result() && !s_.only_moves(v) ? narrowed(t.text, s.dtype) : t.text;
}

// A whole number in every lane.
static std::string splat_text(const std::string& number, DType lane) {
  const char* kind = lane == DType::f32 ? ".0f" : lane == DType::f64 ? ".0" : lane == DType::i64 ? "l" : "";
  return "splat(" + number + kind + ")";
}
std::string VectorText::start_text(const ScheduledValue& v) {
  const DType lane = lane_of(v);
  const bool wide = lane == DType::i64, whole = !ir::is_float(lane);
  const double inf = std::numeric_limits<double>::infinity();
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      if (!whole) return constant_text(-inf, lane);
      return wide ? "splat(-9223372036854775807l - 1)" : "splat(-2147483647 - 1)";
    case Statement::Reduce::min:
      if (!whole) return constant_text(inf, lane);
      return wide ? "splat(9223372036854775807l)" : "splat(2147483647)";
    default:
      return splat_text(v.statement->reduce == Statement::Reduce::prod ? "1" : "0", lane);
  }
}
std::string VectorText::joined(const ScheduledValue& v, const std::string& a, const std::string& b) {
  auto side = [](const std::string& t) { return t.find(' ') == std::string::npos ? t : "(" + t + ")"; };
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      return "vmax(" + a + ", " + b + ")";
    case Statement::Reduce::min:
      return "vmin(" + a + ", " + b + ")";
    case Statement::Reduce::prod:
      return side(a) + " * " + side(b);
    default:
      return side(a) + " + " + side(b);
  }
}
std::string VectorText::folded(const ScheduledValue& v, const std::string& vector) {
  static constexpr const char* kFolds[] = {"", "fold_add", "fold_mul", "fold_max", "fold_min"};
  return std::string(kFolds[static_cast<size_t>(v.statement->reduce)]) + "(" + vector + ")";
}
DType VectorText::running_type(const ScheduledValue& v) const {
  const DType lane = lane_of(v);
  return v.statement->dtype == DType::f32 ? DType::f64 : lane;
}
std::string VectorText::as_type(const std::string& text, DType from, DType to) {
  return from == to ? text : "to_" + std::string(ir::dtype_name(to)) + "(" + text + ")";
}
std::string VectorText::start_of_scan(const ScheduledValue& v) const {
  return splat_text(scan_ == Statement::Reduce::prod ? "1" : "0", running_type(v));
}
std::vector<int> VectorText::reductions(size_t phase) const {
  std::vector<int> out;
  for (int i : s_.phases[phase].values)
    if (reduces(value(i))) out.push_back(i);
  return out;
}

void VectorText::comment(size_t phase) {
  if (s_.phases.size() < 2) return;
  std::string what;
  for (int i : reductions(phase)) what += (what.empty() ? "" : ", ") + value(i).name;
  for (int i : s_.phases[phase].values)
    if (value(i).store >= 0 && !value(i).per_row && first_phase(i) == static_cast<int>(phase))
      what += (what.empty() ? "" : ", ") + value(i).name;
  line("// pass " + std::to_string(phase + 1) + " of " + std::to_string(s_.phases.size()) +
       " over the row: " + what);
}
int VectorText::first_phase(int value) const {
  for (size_t p = 0; p < s_.phases.size(); ++p)
    if (std::find(s_.phases[p].values.begin(), s_.phases[p].values.end(), value) != s_.phases[p].values.end())
      return static_cast<int>(p);
  return -1;
}

void VectorText::assemble() {
  put_before("// " + kernel_.name + ": " + space_text() + "\n// prelude: vectors of " +
             std::to_string(lanes_) + " lanes, loads and stores, functions\n" + prelude_text(text_, lanes_) +
             "// end of prelude\n\n");
  if (!target_.sizes) return;
  const size_t given = s_.arguments.size() + (s_.parts > 1 ? s_.sums().size() : 0);
  auto resolved =
      target_.sizes->resolve(unit_.label + (launch_ ? "." + std::to_string(launch_) : ""), kernel_.text);
  std::string declared;
  for (size_t i = 0; i < resolved.names.size(); ++i) {
    const std::string type = resolved.names[i].real ? "f64" : "i64";
    declared += (i ? " " : "") + ("const " + type + " " + resolved.names[i].text) + " = ((const " + type +
                "*)args[" + std::to_string(given) + "])[" + std::to_string(i) + "];";
  }
  resolved.put(SizeMemory::kDeclaration, declared);
  kernel_.text = std::move(resolved.text);
  kernel_.numbers = std::move(resolved.numbers);
  measure_lines();
}

}  // namespace vitrine::codegen::cpp
