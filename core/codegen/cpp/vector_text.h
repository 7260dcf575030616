// What the texts of all kernels for a CPU have in common: names, types, values as expressions over vectors,
// sums, and the frame around the body.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/cpp/emit.h"
#include "core/codegen/cpp/load_text.h"
#include "core/codegen/schedule/kernel_text.h"

namespace vitrine::codegen::cpp {

// The type of an element in memory, and of an element of a vector in memory of the kernel's own.
std::string memory_type(ir::DType t);
std::string lane_memory(ir::DType lane);

class VectorText : protected KernelText {
 protected:
  VectorText(const fusion::LoopProgram& program, const fusion::Unit& unit, const Schedule& s,
             const Target& target, size_t launch);

  void begin_kernel();
  // Opens the function and declares the arguments: tensors, then partial sums.
  void open_function();
  // Header and prelude before the body, sizes that change as arguments.
  void assemble();

  static ir::DType lane_of(const ScheduledValue& v);
  const ScheduledValue& value(int i) const { return s_.values[static_cast<size_t>(i)]; }
  const Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }
  std::string vector_type(ir::DType lane) const;
  std::string vector_type(const ScheduledValue& v) const { return vector_type(lane_of(v)); }
  static std::string pointer(const Argument& a) { return (a.written ? "out_" : "in_") + a.name; }
  static std::string part(const ScheduledValue& v) { return "part_" + v.name; }
  // A number of the text that another size may change.
  std::string size(const ir::Sym& n) const;
  std::string offset(const ir::Sym& n) const;
  std::string times(const std::string& i, const ir::Sym& stride) const;
  // Whether the text is one for all lengths of a row: its end is then not written out, but rest(row).
  bool any_length() const { return target_.sizes && lanes_ > 1; }
  // Declares `row`, which has `n` elements.
  void declare_row(const ir::Sym& n);
  const ir::Sym& inner() const { return s_.dims.back(); }

  // The value of `v` from its operands' names, as memory would hold it where it is an operator's result.
  std::string value_text(const ScheduledValue& v) const { return value_text(v, v.statement->expr); }
  // The same, where it is known to be another expression.
  std::string value_text(const ScheduledValue& v, const fusion::ExprPtr& expr) const;
  // Of a reduction: where it starts, one step, the values of a vector's lanes together.
  static std::string start_text(const ScheduledValue& v);
  static std::string joined(const ScheduledValue& v, const std::string& a, const std::string& b);
  static std::string folded(const ScheduledValue& v, const std::string& vector);
  static bool reduces(const ScheduledValue& v) {
    return v.statement->reduce != fusion::Statement::Reduce::none;
  }
  // Sums of parts are large numbers, and each addition rounds by an ulp of the sum so far. More parts than
  // these are therefore added in groups, and the groups then.
  static constexpr int64_t kPartsOfGroup = 8;
  bool parts_in_groups(const ScheduledValue& v) const {
    return v.statement->reduce == fusion::Statement::Reduce::sum && ir::is_float(lane_of(v)) &&
           s_.parts > kPartsOfGroup;
  }
  // Of a value whose every step is kept: the type that it is added up in, as PyTorch does.
  bool scans(const ScheduledValue& v) const {
    return scan_ != fusion::Statement::Reduce::none && v.store >= 0;
  }
  ir::DType running_type(const ScheduledValue& v) const;
  static std::string as_type(const std::string& text, ir::DType from, ir::DType to);
  std::string start_of_scan(const ScheduledValue& v) const;

  std::vector<int> reductions(size_t phase) const;
  // "// pass 2 of 3 over the row: sum", where there are several.
  void comment(size_t phase);
  int first_phase(int value) const;
  // Vector operations of the phases for one vector of elements.
  int cost_of_vector() const;

  const fusion::LoopProgram& program_;
  const fusion::Unit& unit_;
  const Schedule& s_;
  const Target& target_;
  const int lanes_;
  const size_t launch_;  // which of the schedule's launches this is
  const fusion::Statement::Reduce scan_;
  const IndexText index_;
  const LoadText loads_;

 private:
  Typed named(const OperandSource& source) const;
  Typed operand(const ScheduledValue& v, int i) const;
  std::string space() const;
  std::string space_text() const;
};

}  // namespace vitrine::codegen::cpp
