// Records one operator: binds its arguments, refuses what has no place in a graph, and makes its results,
// fake tensors, and its node.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/ops/table.h"
#include "core/recording/fallback.h"
#include "core/recording/recording.h"
#include "core/recording/sized_attention.h"
#include "core/torch_api/number_range.h"

namespace vitrine::torch_api {

// A Python error is set, and means what it says.
struct Raised {};

struct BoundArg {
  PyObject* object = nullptr;  // borrowed
  ir::Arg arg;
  std::vector<int> tensors;  // traced tensors inside, in order
};

class OperatorCall {
 public:
  OperatorCall(Recording& recording, const Overload& op, PyObject* args, PyObject* kwargs)
      : recording_(recording), op_(op), args_(args), kwargs_(kwargs) {}

  PyRef run();

 private:
  void bind();
  void convert(BoundArg& to, const OverloadParam& param);
  int traced(PyObject* tensor);
  static bool is_scalar(PyObject* tensor);
  bool draws() const;
  PyRef call_pytorch();
  void output(int index);
  void note_writes();
  void follow();
  bool is_known_new() const;
  void fill_by_number();
  void add_node();

  // operator_refusals.cpp
  PyRef known_number();
  void refuse();
  [[noreturn]] void refuse_data_dependent() const;
  bool reads_input(size_t param) const;
  bool lacks_freedom() const;
  void refuse_inference_writes() const;
  void refuse_numbers(const ir::TensorType& out) const;
  Number number_of(const BoundArg& b) const;
  bool converts_operands(ir::DType target) const;
  bool fixed_shape() const;
  bool refuses_devices() const;
  bool writes_overlap() const;

  // operator_data.cpp
  bool takes_stand_in() const;
  int picking_mask() const;
  PyRef by_stand_in();
  PyRef by_mask();

  // operator_views.cpp
  bool is_handing_out() const;
  bool is_of_memory_of_expressions();
  PyRef handed_out();
  PyRef view();
  PyRef call_as_cpu();
  void adopt(PyObject* value);
  PyRef reshaped_in_place();

  // operator_expressions.cpp
  bool is_of_expressions() const;
  std::vector<ir::TensorType> types_by_rule(const ops::OpRow* row) const;
  bool is_other_type() const;
  PyRef view_by_rule();
  bool gives_what_it_writes() const;
  std::vector<FallbackArg> args_at_hints(std::deque<ir::TensorType>& types, std::deque<PyRef>& numbers) const;
  PyRef attention_of_expressions(const ops::SizedAttention& row);
  PyRef by_sized_rule();

  // operator_results.cpp
  PyRef question();
  bool is_check() const;
  PyRef fresh(const ir::TensorType& type);
  ops::ShapeArg shape_arg(const ir::Arg& arg, const std::vector<int>& tensors, size_t& next) const;
  std::vector<FallbackArg> fallback_args() const;
  PyRef by_rule();
  PyRef results(const std::vector<ir::TensorType>& types);
  ops::ShapeCall shape_call() const;
  PyRef recurrent_layer();
  static PyRef listed(const std::vector<PyRef>& made);
  static PyRef packed(const std::vector<PyRef>& made);
  bool fits(int param, const ir::TensorType& type) const;
  PyRef written_argument(int param);
  PyRef by_pytorch();
  static bool is_strided(PyObject* tensor);
  PyRef mirrored(PyObject* value, size_t which);

  Recording& recording_;
  const Overload& op_;
  PyObject *args_, *kwargs_;
  std::vector<BoundArg> bound_;
  std::vector<std::pair<int, ir::Ref>> outputs_;
  ir::Node node_;
  PyRef lifted_;
  std::optional<ir::Device> meta_device_;
};

}  // namespace vitrine::torch_api
