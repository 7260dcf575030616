// What a Replayer needs of a recording: the calls with their arguments, tensors replaced by slots.
#pragma once

#include <functional>
#include <vector>

#include "core/torch_bridge/python_ref.h"

namespace vitrine::torch_bridge {

// A Python value with holes: a constant object, a slot, or a container of these.
struct Template {
  enum class Kind : uint8_t { constant, slot, tuple, list, dict, slice, named };
  Kind kind = Kind::constant;
  Py object;  // constant; the class of a named tuple
  int slot = -1;
  std::vector<Template> children;  // dict: key, value, key, value ...
  bool has_slot() const { return kind != Kind::constant; }
};

// slot: of a tensor that stands for one, or -1 for a tensor that stays as it is.
Template make_template(PyObject* value, const std::function<int(PyObject* tensor)>& slot);
// New reference, or nullptr with a Python error set.
PyObject* fill(const Template& t, const std::vector<Py>& slots);

struct ReplayCall {
  Py callable;
  Template args, kwargs;  // kwargs: a dict, or a constant null object for none
  // Where the tensors are in what the call returns, and the slot of each. {} alone: the result itself.
  std::vector<std::pair<std::vector<int>, int>> outputs;
};

struct ReplayProgram {
  std::vector<ReplayCall> calls;
  std::vector<int> input_slots, result_slots;
  std::vector<Py> constants;  // the ATen graph's, in order
  int slots = 0;
};

// Every tensor inside tuples and lists (and dict values) with the path to it, in order.
void each_leaf(PyObject* value, std::vector<int>& path,
               const std::function<void(PyObject* tensor, const std::vector<int>& path)>& f);
PyObject* leaf_at(PyObject* value, const std::vector<int>& path);  // borrowed; nullptr: no such place

}  // namespace vitrine::torch_bridge
