// What a kernel of single floating-point numbers computes, as steps to take one by one: a machine that cannot
// compile for the CPU computes the few numbers of an optimizer (step counts, bias corrections) this way, and
// the GPU's kernels get them.
#pragma once

#include <memory>
#include <vector>

#include "core/codegen/schedule/schedule.h"

namespace vitrine::codegen {

struct ScalarCode {
  struct Load {
    int argument;
    ir::DType dtype;  // f32 or f64
    int64_t offset;   // in elements
  };
  struct Value {
    fusion::ExprPtr expr;
    std::vector<int> sources;  // by operand of the expression: loads, then values
    ir::DType compute, dtype;  // f32 or f64: computed in the one, rounded to the other
    int store;                 // argument, or -1
  };
  std::vector<Load> loads;
  std::vector<Value> values;
  size_t arguments = 0, members = 1;  // of each member in turn

  // pointers: members times arguments, of the tensors' first elements.
  void run(void* const* pointers) const;
};

// members: congruent. nullptr: one of them has several elements, or computes what is not listed here.
std::shared_ptr<const ScalarCode> scalar_code(const std::vector<Schedule>& members);

}  // namespace vitrine::codegen
