#include "core/codegen/cuda/emit_horizontal.h"

#include <algorithm>

#include "core/codegen/cuda/prelude.h"
#include "core/codegen/cuda/thread_text.h"
#include "core/codegen/schedule/horizontal.h"
#include "core/codegen/schedule/index_text.h"
#include "core/codegen/schedule/naming.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cuda {

namespace {

constexpr int kThreads = 256, kRuns = 4;  // a thread's turns
constexpr int64_t kArgumentBytes = 4096;  // of a kernel, on every GPU

// Neighbours that every tensor moves at once, at most 16 bytes.
LaunchShape horizontal_shape(const Schedule& s) {
  int64_t widest = 1;
  for (const Load& l : s.loads)
    if (!l.per_row) widest = std::max(widest, ir::dtype_bytes(l.dtype));
  for (const ScheduledValue& v : s.values)
    if (v.store >= 0)
      widest = std::max(widest, ir::dtype_bytes(s.arguments[static_cast<size_t>(v.store)].dtype));
  LaunchShape shape;
  shape.threads = kThreads;
  shape.vector = s.columns() == 1 ? 1 : static_cast<int>(std::clamp<int64_t>(16 / widest, 1, 8));
  shape.items = kRuns;
  return shape;
}
int64_t block_of(const LaunchShape& shape) {
  return int64_t{1} * shape.threads * shape.vector * shape.items;
}

class HorizontalText : ThreadText {
 public:
  HorizontalText(const fusion::LoopProgram& program, const fusion::Unit& unit,
                 const std::vector<Schedule>& members, const LaunchShape& shape)
      : ThreadText(program, unit, members.front(), shape, 0, nullptr), members_(members) {}

  Kernel emit() {
    costs();
    const std::string count = num(static_cast<int64_t>(members_.size())), block = num(block_of(shape_));
    line("// " + count + " times these tensors: how many elements each has, its first block of threads.");
    line("struct Members { void* own[" + count + "][" + num(static_cast<int64_t>(s_.arguments.size())) +
         "]; i64 count[" + count + "], first[" + num(static_cast<int64_t>(members_.size()) + 1) + "]; };");
    line("");
    element();
    line("");
    open("extern \"C\" __global__ void __launch_bounds__(" + num(kThreads) +
         ") vitrine_kernel(const __grid_constant__ Members members) {");
    line("follow();");
    line("int m = 0;");
    line("for (int many = " + num(half()) + "; many > 0; many /= 2)");
    line("  if (m + many < " + count + " && members.first[m + many] <= blockIdx.x) m += many;");
    line("const i64 from = (blockIdx.x - members.first[m]) * " + block + ";");
    line("const i64 to = from + " + block + " < members.count[m] ? from + " + block + " : members.count[m];");
    pointers();
    once();
    runs();
    close();
    put_before("// " + kernel_.name + ": " + kernel_.space +
               "\n// prelude: types, loads and stores, functions\n" + prelude_text(text_) +
               "// end of prelude\n\n");
    share_lines(members_, kernel_);
    return std::move(kernel_);
  }

 private:
  void content() override {}
  void costs() {
    const MemberTable table = member_table(members_, block_of(shape_));
    kernel_.numbers = table.numbers;
    kernel_.packed = true;
    const std::vector<int32_t> values = value_bytes(s_.arguments);
    for (size_t m = 0; m < members_.size(); ++m)
      kernel_.by_value.insert(kernel_.by_value.end(), values.begin(), values.end());
    kernel_.work = table.elements;
    kernel_.name = kernel_name(program_, unit_);
    kernel_.family = "pointwise";
    kernel_.nodes = fusion::nodes_of(program_, unit_);
    kernel_.grid = {table.items, kThreads, program_.graph->node(kernel_.nodes.front()).type().device.index};
    kernel_.space = num(static_cast<int64_t>(members_.size())) + " tensors of " + ir::text(table.elements);
    kernel_.flops = table.elements * static_cast<int64_t>(s_.values.size());
    for (const Schedule& s : members_)
      for (const Argument& a : s.arguments) kernel_.bytes += argument_bytes(program_, s, a);
  }
  // The largest power of two below their number: steps of the search.
  int64_t half() const {
    int64_t steps = 1;
    while (steps * 2 < static_cast<int64_t>(members_.size())) steps *= 2;
    return steps;
  }
  void pointers() {
    for (size_t i = 0; i < s_.arguments.size(); ++i) {
      const Argument& a = s_.arguments[i];
      const std::string type = (a.written ? "" : "const ") + memory_type(a.dtype) + "*";
      line(type + " " + pointer(a) + " = (" + type + (a.by_value ? ")&members.own[m][" : ")members.own[m][") +
           num(static_cast<int64_t>(i)) + "];");
    }
  }
  void once() {
    for (const OperandSource& s : s_.once(0)) {
      if (s.kind == OperandSource::Kind::load) {
        const Load& l = load(s.index);
        line("const " + lane_type(l.dtype) + " " + l.name + " = wide(" + pointer(argument(l.argument)) +
                 "[0]);",
             l.node);
      } else {
        const ScheduledValue& v = value(s.index);
        line("const " + lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      }
    }
  }
  // What one run of neighbours needs: pointers that move along, and what stands still.
  std::string given(bool with_types) const {
    std::string out;
    auto add = [&](const std::string& type, const std::string& name) {
      out += (with_types ? type : "") + name + ", ";
    };
    for (size_t i = 0; i < s_.arguments.size(); ++i)
      if (moves(static_cast<int>(i)))
        add((s_.arguments[i].written ? "" : "const ") + memory_type(s_.arguments[i].dtype) + "* ",
            pointer(s_.arguments[i]));
    for (const OperandSource& s : s_.once(0)) {
      const bool loaded = s.kind == OperandSource::Kind::load;
      add(lane_type(loaded ? load(s.index).dtype : value(s.index).statement->dtype) + " ",
          loaded ? load(s.index).name : value(s.index).name);
    }
    return out + (with_types ? "i64 c" : "c");
  }
  // N neighbours from c on: read, computed one by one, written.
  void element() {
    open("template <int N> __device__ void compute(" + given(true) + ") {");
    for (int i : s_.phases[0].loads) {
      const Load& l = load(i);
      line("const Pack<" + memory_type(l.dtype) + ", N> p_" + l.name + " = load_pack<true, N>(" +
               pointer(argument(l.argument)) + " + c);",
           l.node);
    }
    for (int i : s_.phases[0].values)
      if (value(i).store >= 0)
        line("Pack<" + memory_type(argument(value(i).store).dtype) + ", N> q_" + value(i).name + ";",
             value(i).node);
    line("#pragma unroll");
    open("for (int k = 0; k < N; ++k) {");
    for (int i : s_.phases[0].loads)
      line("const " + lane_type(load(i).dtype) + " " + load(i).name + " = wide(p_" + load(i).name + ".v[k]);",
           load(i).node);
    for (int i : s_.phases[0].values) {
      const ScheduledValue& v = value(i);
      line("const " + lane_type(v.statement->dtype) + " " + v.name + " = " + value_text(v) + ";", v.node);
      if (v.store >= 0) line("put(q_" + v.name + ".v[k], " + v.name + ");", v.node);
    }
    close();
    for (int i : s_.phases[0].values)
      if (value(i).store >= 0)
        line("store_pack<true, N>(" + pointer(argument(value(i).store)) + " + c, q_" + value(i).name + ");",
             value(i).node);
    close();
  }
  // Whole runs where all pointers allow them, then one by one.
  void runs() {
    line("i64 done = from;");
    if (vector() > 1) {
      std::string test;
      for (size_t i = 0; i < s_.arguments.size(); ++i)
        if (moves(static_cast<int>(i)))
          test += (test.empty() ? "" : " && ") + ("is_aligned(" + pointer(s_.arguments[i])) + ", " +
                  num(vector() * ir::dtype_bytes(s_.arguments[i].dtype)) + ")";
      const std::string run = num(vector());
      open("if (" + test + ") {");
      line("done = from + (to - from) / " + run + " * " + run + ";");
      line("#pragma unroll 2");
      line("for (i64 c = from + threadIdx.x * " + run + "; c < done; c += " + num(kThreads * vector()) +
           ") compute<" + run + ">(" + given(false) + ");");
      close();
    }
    line("for (i64 c = done + threadIdx.x; c < to; c += " + num(kThreads) + ") compute<1>(" + given(false) +
         ");");
  }
  bool moves(int argument) const {
    return std::any_of(s_.loads.begin(), s_.loads.end(),
                       [&](const Load& l) { return l.argument == argument && !l.per_row; }) ||
           std::any_of(s_.values.begin(), s_.values.end(),
                       [&](const ScheduledValue& v) { return v.store == argument; });
  }

  const std::vector<Schedule>& members_;
};

}  // namespace

size_t most_horizontal(const Schedule& schedule) {
  const auto words = static_cast<int64_t>(schedule.arguments.size()) + 2;
  return static_cast<size_t>(std::max<int64_t>(1, (kArgumentBytes / 8 - 1) / words));
}

Kernel emit_horizontal(const fusion::LoopProgram& program, const fusion::Unit& unit,
                       const std::vector<Schedule>& members) {
  return HorizontalText(program, unit, members, horizontal_shape(members.front())).emit();
}

}  // namespace vitrine::codegen::cuda
