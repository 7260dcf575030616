#include "core/codegen/cuda/thread_text.h"

#include <algorithm>
#include <limits>

#include "core/codegen/cuda/prelude.h"
#include "core/codegen/index_text.h"
#include "core/codegen/naming.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

using cpp::Argument;
using cpp::Load;
using cpp::Source;
using cpp::Value;
using fusion::Statement;
using ir::Dims;
using ir::DType;

namespace {

constexpr int kLaneBytes = 16;

}  // namespace

std::string memory_type(DType t) {
  return t == DType::b1 ? "bool" : std::string(ir::dtype_name(t));
}
std::string lane_type(DType t) {
  return memory_type(fusion::lane_dtype(t));
}

ThreadText::ThreadText(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& s,
                       const Shape& shape, size_t launch)
    : program_(program), unit_(unit), s_(s), shape_(shape), launch_(launch) {}

Kernel ThreadText::kernel() {
  kernel_.name = kernel_name(program_, unit_);
  kernel_.space =
      s_.rows == 0 || s_.block > 0 ? num(s_.columns()) : num(s_.row_count()) + " × " + num(s_.columns());
  kernel_.family = s_.reduces ? "reduction" : "pointwise";
  kernel_.nodes = fusion::nodes_of(program_, unit_);
  kernel_.grid = {shape_.blocks, shape_.threads,
                  program_.graph->node(kernel_.nodes.front()).type().device.index};
  kernel_.work = s_.row_count() * s_.columns();
  count_costs();
  const std::string head = "extern \"C\" __global__ void __launch_bounds__(" + num(shape_.threads) + ") ";
  if (vector() == 1) {
    open(head + "vitrine_kernel(" + parameters(true) + ") {");
    content();
    close();
  } else {
    // Accesses of several neighbours need pointers at multiples of their size. Tensors nearly always are; a
    // slice of one may not be.
    open("template <bool aligned> __device__ void compute(" + parameters(true) + ") {");
    content();
    close();
    line("");
    open(head + "vitrine_kernel(" + parameters(true) + ") {");
    std::string test;
    for (const Argument& a : s_.arguments)
      test += (test.empty() ? "" : " && ") + ("is_aligned(" + pointer(a)) + ", " +
              num(std::min<int64_t>(kLaneBytes, vector() * ir::dtype_bytes(a.dtype))) + ")";
    line("if (" + test + ")");
    line("  compute<true>(" + parameters(false) + ");");
    line("else");
    line("  compute<false>(" + parameters(false) + ");");
    close();
  }
  put_before("// " + kernel_.name + ": " + kernel_.space +
             "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
             "// end of prelude\n\n");
  return std::move(kernel_);
}

void ThreadText::count_costs() {
  for (size_t i = 0; i < s_.values.size(); ++i)
    kernel_.flops += s_.computes(launch_, static_cast<int>(i)) ? kernel_.work : 0;
  for (size_t i = 0; i < s_.arguments.size(); ++i)
    if (s_.touches(launch_, static_cast<int>(i)))
      kernel_.bytes += argument_bytes(program_, s_, s_.arguments[i]);
}

std::string ThreadText::parameters(bool with_types) const {
  std::string out;
  for (const Argument& a : s_.arguments) {
    out += out.empty() ? "" : ", ";
    if (with_types) out += (a.written ? "" : "const ") + memory_type(a.dtype) + "* ";
    out += pointer(a);
  }
  if (s_.parts == 1) return out;
  for (int i : s_.sums())
    out += ", " + (with_types ? lane_type(value(i).statement->dtype) + "* " : "") + part(value(i));
  return out;
}

const char* ThreadText::index_type() const {
  int64_t most = s_.row_count() * std::max(s_.columns(), s_.parts);
  for (const Argument& a : s_.arguments) {
    const ir::TensorType& t = program_.graph->node(a.root.node).outputs[static_cast<size_t>(a.root.output)];
    int64_t reach = 0;
    for (size_t d = 0; d < t.sizes.size(); ++d) reach += (t.sizes[d] - 1) * std::abs(t.strides[d]);
    most = std::max(most, reach + t.offset);
  }
  return most < std::numeric_limits<int32_t>::max() / 2 ? "i32" : "i64";
}

std::string ThreadText::term(const std::string& i, int64_t stride) {
  return stride == 0 ? "" : " + " + i + (stride == 1 ? "" : " * " + num(stride));
}
void ThreadText::decode_row(size_t dims) {
  if (dims < 2) return;
  std::string rest = "r";
  for (size_t k = dims; k-- > 0;) {
    const std::string i = std::string(index_type()) + " i" + num(static_cast<int64_t>(k));
    if (k == 0) return line(i + " = " + rest + ";");
    const std::string n = num(s_.dims[k]);
    line(i + " = " + rest + " % " + n + ";");
    rest = rest == "r" ? "r / " + n : rest + " / " + n;
  }
}
void ThreadText::decode_column() {
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
std::string ThreadText::column_offset(const Dims& strides) const {
  std::string out;
  for (size_t k = s_.rows; k < s_.dims.size(); ++k)
    out += term(k + 1 == s_.dims.size() ? "c" : "c" + num(static_cast<int64_t>(k - s_.rows)), strides[k]);
  return out;
}
bool ThreadText::together(const Dims& strides, int64_t offset, size_t dim) const {
  if (vector() == 1 || strides[dim] != 1 || offset % vector() != 0) return false;
  for (size_t k = 0; k < strides.size(); ++k)
    if (k != dim && strides[k] % vector() != 0) return false;
  return true;
}

Typed ThreadText::operand(const Value& v, int i) const {
  const Source& s = v.sources[static_cast<size_t>(i)];
  if (s.kind == Source::Kind::load)
    return {load(s.index).name, fusion::lane_dtype(argument(load(s.index).argument).dtype), true};
  return {value(s.index).name, lane_of(value(s.index)), true};
}
DType ThreadText::lane_of(const Value& v) {
  return fusion::lane_dtype(v.statement->dtype);
}
std::string ThreadText::narrowed(const std::string& text, DType t) {
  if (t == DType::u8 || t == DType::i8 || t == DType::i16)
    return "i32(" + std::string(ir::dtype_name(t)) + "(" + text + "))";
  if (t == DType::f16 || t == DType::bf16)
    return "round_" + std::string(ir::dtype_name(t)) + "(" + text + ")";
  return text;
}
std::string ThreadText::value_text(const Value& v) const {
  const Statement& s = *v.statement;
  Typed t = expr_text(s.expr, s.compute, lane_of(v), [&](int i) { return operand(v, i); });
  return s.is_result() ? narrowed(t.text, s.dtype) : t.text;
}

std::string start_text(const Value& v) {
  const DType lane = fusion::lane_dtype(v.statement->dtype);
  const double inf = std::numeric_limits<double>::infinity();
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      if (ir::is_float(lane)) return constant_text(-inf, lane);
      return lane == DType::i64 ? "-9223372036854775807ll - 1" : "-2147483647 - 1";
    case Statement::Reduce::min:
      if (ir::is_float(lane)) return constant_text(inf, lane);
      return lane == DType::i64 ? "9223372036854775807ll" : "2147483647";
    default:
      return constant_text(v.statement->reduce == Statement::Reduce::prod ? 1 : 0, lane);
  }
}
std::string joined(const Value& v, const std::string& a, const std::string& b) {
  auto side = [](const std::string& t) { return t.find(' ') == std::string::npos ? t : "(" + t + ")"; };
  switch (v.statement->reduce) {
    case Statement::Reduce::max:
      return "maximum(" + a + ", " + b + ")";
    case Statement::Reduce::min:
      return "minimum(" + a + ", " + b + ")";
    case Statement::Reduce::prod:
      return a + " * " + side(b);
    default:
      return a + " + " + side(b);
  }
}
const char* functor(const Value& v) {
  static constexpr const char* kFunctors[] = {"", "Sum", "Product", "Max", "Min"};
  return kFunctors[static_cast<size_t>(v.statement->reduce)];
}
std::vector<int> ThreadText::reductions(size_t phase) const {
  std::vector<int> out;
  for (int i : s_.phases[phase].values)
    if (reduces(value(i))) out.push_back(i);
  return out;
}

bool ThreadText::stores_here(size_t phase, int i) const {
  const Value& v = value(i);
  return v.store >= 0 && !v.per_row && !reduces(v) && first_phase(i) == static_cast<int>(phase);
}
int ThreadText::first_phase(int value) const {
  for (size_t p = 0; p < s_.phases.size(); ++p)
    if (std::find(s_.phases[p].values.begin(), s_.phases[p].values.end(), value) != s_.phases[p].values.end())
      return static_cast<int>(p);
  return -1;
}
void ThreadText::comment(size_t phase) {
  if (s_.phases.size() < 2) return;
  std::string what;
  for (int i : s_.phases[phase].values)
    if (reduces(value(i)) || stores_here(phase, i)) what += (what.empty() ? "" : ", ") + value(i).name;
  line("// pass " + num(static_cast<int64_t>(phase) + 1) + " of " +
       num(static_cast<int64_t>(s_.phases.size())) + ": " + what);
}

}  // namespace vitrine::codegen::cuda
