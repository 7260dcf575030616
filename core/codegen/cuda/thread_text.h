// What the texts of all kernels for a GPU have in common: parameters and their alignment, places in tensors,
// runs of neighbours that one access moves, values as expressions of one element, sums.
#pragma once

#include <string>

#include "core/codegen/cuda/emit.h"
#include "core/codegen/cuda/expr_text.h"
#include "core/codegen/kernel_text.h"

namespace vitrine::codegen::cuda {

std::string memory_type(ir::DType t);
std::string lane_type(ir::DType t);
// Of a reduction: where it starts, one step, the functor of the same.
std::string start_text(const cpp::Value& v);
std::string joined(const cpp::Value& v, const std::string& a, const std::string& b);
const char* functor(const cpp::Value& v);

class ThreadText : protected KernelText {
 protected:
  ThreadText(const fusion::LoopProgram& program, const fusion::Unit& unit, const cpp::Schedule& s,
             const Shape& shape, size_t launch);
  virtual ~ThreadText() = default;

  // The whole kernel: what content() writes, once for aligned pointers and once for others where runs need
  // it, between the head and the parameters.
  Kernel kernel();
  virtual void content() = 0;

  static std::string num(int64_t n) { return std::to_string(n); }
  static std::string pointer(const cpp::Argument& a) { return (a.written ? "out_" : "in_") + a.name; }
  static std::string part(const cpp::Value& v) { return "part_" + v.name; }
  static ir::DType lane_of(const cpp::Value& v);
  static bool reduces(const cpp::Value& v) { return v.statement->reduce != fusion::Statement::Reduce::none; }
  const cpp::Argument& argument(int i) const { return s_.arguments[static_cast<size_t>(i)]; }
  const cpp::Value& value(int i) const { return s_.values[static_cast<size_t>(i)]; }
  const cpp::Load& load(int i) const { return s_.loads[static_cast<size_t>(i)]; }
  int64_t inner() const { return s_.dims.back(); }
  int vector() const { return shape_.vector; }
  // The type in which every place fits.
  const char* index_type() const;

  // Places: " + i * 64", nothing for a dim that does not move.
  static std::string term(const std::string& i, int64_t stride);
  static std::string trimmed(const std::string& sum) { return sum.empty() ? "0" : sum.substr(3); }
  // r -> i0, i1, ... where there are several of them; column -> c0, c1, ..., the innermost keeps the name c.
  void decode_row(size_t dims);
  void decode_column();
  std::string column_name() const { return s_.dims.size() - s_.rows < 2 ? "c" : "column"; }
  std::string column_offset(const ir::Dims& strides) const;
  // Whether a run of neighbours along `dim` lies together, and begins at a multiple of its length.
  bool together(const ir::Dims& strides, int64_t offset, size_t dim) const;
  template <class F>
  void each_of_run(F&& f) {
    if (vector() == 1 && !arrays_of_one_) return f();
    line("#pragma unroll");
    open("for (int k = 0; k < " + num(vector()) + "; ++k) {");
    f();
    close();
  }

  // Values: as memory would hold them where they are an operator's result.
  static std::string narrowed(const std::string& text, ir::DType t);
  Typed operand(const cpp::Value& v, int i) const;
  std::string value_text(const cpp::Value& v) const;
  std::vector<int> reductions(size_t phase) const;
  // Outputs that this phase is the first to compute.
  bool stores_here(size_t phase, int value) const;
  int first_phase(int value) const;
  void comment(size_t phase);

  const fusion::LoopProgram& program_;
  const fusion::Unit& unit_;
  const cpp::Schedule& s_;
  const Shape& shape_;
  const size_t launch_;         // which of the schedule's launches this is
  bool arrays_of_one_ = false;  // a run is an array even where it is one element

 private:
  void count_costs();
  std::string parameters(bool with_types) const;
};

}  // namespace vitrine::codegen::cuda
