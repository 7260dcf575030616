#include "core/codegen/cpp/emit_horizontal.h"

#include <algorithm>

#include "core/codegen/cpp/vector_text.h"
#include "core/codegen/schedule/horizontal.h"
#include "core/fusion/types.h"

namespace vitrine::codegen::cpp {

namespace {

constexpr int64_t kBlock = 2048;  // elements of a work item

class HorizontalText : VectorText {
 public:
  HorizontalText(const fusion::LoopProgram& program, const fusion::Unit& unit,
                 const std::vector<Schedule>& members, const Target& target)
      : VectorText(program, unit, members.front(), target, 0), members_(members) {}

  Kernel emit() {
    begin_kernel();
    costs();
    const std::string count = std::to_string(members_.size()),
                      arguments = std::to_string(s_.arguments.size());
    open("extern \"C\" void vitrine_kernel(void* const* args, i64 begin, i64 end) {");
    line("// " + count + " times " + arguments + " tensors; how many elements, the first work item of each");
    line("const i64 *count = (const i64*)args[" + std::to_string(members_.size() * s_.arguments.size()) +
         "], *first = count + " + count + ";");
    line("i64 m = 0;");
    line("for (i64 many = " + std::to_string(half()) + "; many > 0; many /= 2)");
    line("  if (m + many < " + count + " && first[m + many] <= begin) m += many;");
    open("for (; begin < end; begin = first[++m]) {");
    line("void* const* own = args + m * " + arguments + ";");
    line("const i64 last = end < first[m + 1] ? end : first[m + 1];");
    line("const i64 to = (last - first[m]) * " + std::to_string(kBlock) +
         " < count[m] ? (last - first[m]) * " + std::to_string(kBlock) + " : count[m];");
    pointers();
    once();
    step();
    line("i64 done = (begin - first[m]) * " + std::to_string(kBlock) + ";");
    const std::string lanes = std::to_string(lanes_);
    line("for (; done + " + lanes + " <= to; done += " + lanes + ") step(done, all);");
    if (lanes_ > 1) line("if (done < to) step(done, Some{to - done});");
    close();
    close();
    assemble();
    share_lines(members_, kernel_);
    return std::move(kernel_);
  }

 private:
  void costs() {
    const MemberTable table = member_table(members_, kBlock);
    kernel_.numbers = table.numbers;
    kernel_.work = table.items;
    const int64_t vectors = std::max<int64_t>(1, table.elements.hint() / table.items.hint() / lanes_);
    kernel_.grain = std::max<int64_t>(1, 30'000 / (vectors * cost_of_vector()));
    const ir::Sym own = ir::max(1, s_.columns());
    kernel_.flops = ir::floordiv(kernel_.flops, own) * table.elements;
    for (size_t m = 1; m < members_.size(); ++m)
      for (const Argument& a : members_[m].arguments)
        kernel_.bytes += argument_bytes(program_, members_[m], a);
    kernel_.space = std::to_string(members_.size()) + " tensors of " + ir::text(table.elements);
  }
  // The largest power of two below their number: steps of the search.
  size_t half() const {
    size_t steps = 1;
    while (steps * 2 < members_.size()) steps *= 2;
    return steps;
  }
  void pointers() {
    for (size_t i = 0; i < s_.arguments.size(); ++i) {
      const Argument& a = s_.arguments[i];
      const std::string type = (a.written ? "" : "const ") + memory_type(a.dtype) + "*";
      line(type + " " + pointer(a) + " = (" + type + ")own[" + std::to_string(i) + "];");
    }
  }
  void once() {
    for (const OperandSource& s : s_.once(0)) {
      if (s.kind == OperandSource::Kind::load) {
        const Load& l = s_.loads[static_cast<size_t>(s.index)];
        line(vector_type(fusion::lane_dtype(l.dtype)) + " " + l.name + " = " + loads_.once(l) + ";", l.node);
      } else {
        line(vector_type(value(s.index)) + " " + value(s.index).name + " = " + value_text(value(s.index)) +
                 ";",
             value(s.index).node);
      }
    }
  }
  void step() {
    open("auto step = [&](i64 c, auto n) INLINE {");
    for (int i : s_.phases[0].loads) {
      const Load& l = s_.loads[static_cast<size_t>(i)];
      line(vector_type(fusion::lane_dtype(l.dtype)) + " " + l.name + " = " +
               loads_.full(l, loads_.row_pointer(l), "n") + ";",
           l.node);
    }
    for (int i : s_.phases[0].values) {
      const ScheduledValue& v = value(i);
      line(vector_type(v) + " " + v.name + " = " + value_text(v) + ";", v.node);
      if (v.store >= 0) line("store(" + pointer(argument(v.store)) + " + c, " + v.name + ", n);", v.node);
    }
    close("};");
  }

  const std::vector<Schedule>& members_;
};

}  // namespace

Kernel emit_horizontal(const fusion::LoopProgram& program, const fusion::Unit& unit,
                       const std::vector<Schedule>& members, const Target& target) {
  return HorizontalText(program, unit, members, target).emit();
}

}  // namespace vitrine::codegen::cpp
