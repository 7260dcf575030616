// What a Replayer needs of a recording: the calls with their arguments, tensors replaced by slots.
#pragma once

#include <functional>
#include <vector>

#include "core/torch_api/python_ref.h"

namespace vitrine::torch_api {

// A Python value with holes: a constant object, a slot, or a container of these.
struct Template {
  // integer: an int that may be another one in the next call (symbolic_int.h)
  enum class Kind : uint8_t { constant, slot, integer, tuple, list, dict, slice, named };
  Kind kind = Kind::constant;
  PyRef object;                    // constant; the class of a named tuple; what an integer was at capture
  int slot = -1;                   // integer: its number
  std::vector<Template> children;  // dict: key, value, key, value ...
  bool has_slot() const { return kind != Kind::constant; }
};

// slot: of a tensor that stands for one, or -1 for a tensor that stays as it is.
Template make_template(PyObject* value, const std::function<int(PyObject* tensor)>& slot);
// What an integer of a template is now; a new reference, or nullptr with a Python error set.
using Integers = std::function<PyObject*(int number)>;
// New reference, or nullptr with a Python error set. Without `integers` they are what they were at capture.
PyObject* fill(const Template& t, const std::vector<PyRef>& slots, const Integers* integers = nullptr);

struct ReplayCall {
  PyRef callable;
  Template args, kwargs;  // kwargs: a dict, or a constant null object for none
  // Where the tensors are in what the call returns, and the slot of each. {} alone: the result itself.
  std::vector<std::pair<std::vector<int>, int>> outputs;
  // By output: the slot of the tensor that this very object was already (x.contiguous() may be x), or -1.
  std::vector<int> known;
};

// A question about a tensor that the traced program asked between two calls: its answer decides what the
// program does.
struct ReplayQuestion {
  size_t before_call = 0;
  bool of_value = false;  // asked of what the tensor holds (Lowering::known_value)
  bool of_data = false;   // asked of what the tensor holds when the program runs
  PyRef callable;
  Template args;
};

struct ReplayProgram {
  std::vector<ReplayCall> calls;
  std::vector<ReplayQuestion> questions;  // in order
  std::vector<int> input_slots, result_slots;
  std::vector<PyRef> constants;  // the ATen graph's, in order
  int slots = 0;
};

// Every tensor inside tuples and lists (and dict values) with the path to it, in order.
void each_leaf(PyObject* value, std::vector<int>& path,
               const std::function<void(PyObject* tensor, const std::vector<int>& path)>& f);
PyObject* leaf_at(PyObject* value, const std::vector<int>& path);  // borrowed; nullptr: no such place

}  // namespace vitrine::torch_api
