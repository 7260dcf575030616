// What PyTorch's schema says of one operator overload, read once: parameters with defaults, what it writes,
// which returns alias which arguments, and why it may not be recordable.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/table.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

struct OverloadParam {
  std::string name;
  PyObject* py_name = nullptr;        // interned, lives as long as the process
  PyObject* default_value = nullptr;  // nullptr: required
  ir::Arg default_arg;
  bool keyword_only = false, written = false;
  bool number = false;  // a Scalar: the operator converts it to an element type, or refuses
};

enum class ReturnKind : uint8_t { tensor, tensor_list, other };
struct OverloadReturn {
  ReturnKind kind = ReturnKind::other;
  int same_as = -1;  // the argument that is written and handed back
};

struct Overload {
  PyObject* object = nullptr;  // the torch.ops overload, lives as long as the process
  // Calls the kernel that is written in other operators, where that is the one of every backend; or nullptr.
  PyObject* composite = nullptr;
  std::string name;  // "aten.add.Tensor"
  const ops::OpRow* row = nullptr;
  std::vector<OverloadParam> params;  // keyword-only ones last
  size_t positional = 0;
  std::vector<OverloadReturn> returns;
  bool view = false;            // a return shares an argument's storage and nothing is written
  bool writes = false;          // an argument is written
  bool inplace_view = false;    // changes an argument's sizes or storage
  bool data_dependent = false;  // returns a number that depends on data
  bool dynamic_shape = false;   // the output's shape depends on data
  bool random = false;          // draws from a generator
  bool aten = false;            // PyTorch's own
  bool lift_fresh = false;      // makes a constant part of the program
  int hidden_write_flag = -1;   // parameter that switches the schema's unannotated writes on, or -1
  std::vector<int> hidden_writes;
  bool has_tensor_return() const;
  bool returns_other() const;  // a value that is neither a tensor nor a list of tensors
};

// Cached by overload object. Errors: a Python error is set and nullptr comes back.
const Overload* overload_of(PyObject* overload);

}  // namespace vitrine::torch_api
