#include "core/capture/segment/fx_graph.h"

#include <map>

#include "core/base/result.h"
#include "core/torch_bridge/bridge.h"
#include "core/torch_bridge/replay.h"

namespace vitrine::capture {

namespace {

using torch_bridge::Py;
using torch_bridge::ReplayCall;
using torch_bridge::ReplayProgram;

PyObject* ints(const std::vector<int>& values) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; out && i < values.size(); ++i)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyLong_FromLong(values[i]));
  return out;
}

PyObject* dims(const ir::Dims& values) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; out && i < values.size(); ++i)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  return out;
}

// [(dtype name, sizes, strides, device)] of a node's outputs.
Owned types_of(const ir::Node& node) {
  Owned list(PyList_New(0));
  for (const ir::TensorType& t : node.outputs) {
    Owned row(Py_BuildValue("(sNNs)", std::string(ir::dtype_torch_name(t.dtype)).c_str(), dims(t.sizes),
                            dims(t.strides), t.device.text().c_str()));
    if (!list || !row || PyList_Append(list.get(), row.get()) != 0) return {};
  }
  return list;
}

// Walks a replay program with the values of vitrine._fx.GraphBuilder in its slots.
class FxWalk {
 public:
  FxWalk(const torch_bridge::Lowering::Graphs& graphs, PyObject* builder)
      : program_(*graphs.replay),
        captured_(*graphs.captured),
        builder_(builder),
        slots_(static_cast<size_t>(program_.slots)) {
    filled_ = [this](int number) {
      PyObject* node = ints_.at(number).get();
      Py_INCREF(node);
      return node;
    };
  }

  // false: a Python error is set.
  bool run(const std::vector<OpenInt>& open_ints, const std::vector<Owned>& examples) {
    for (const OpenInt& open : open_ints)
      if (!(ints_[open.number] =
                Py::steal(PyObject_CallMethod(builder_, "integer", "ssO", open.expression.c_str(),
                                              open.source.c_str(), open.example.get()))))
        return false;
    if (!inputs(examples)) return false;
    size_t next = 0;
    for (const ir::Node& node : captured_.nodes())
      if (node.kind == ir::NodeKind::op && !call(node, program_.calls.at(next++))) return false;
    Owned values(PyList_New(0));
    for (int slot : program_.result_slots)
      if (!values || PyList_Append(values.get(), at(slot).get()) != 0) return false;
    return static_cast<bool>(Owned(PyObject_CallMethod(builder_, "output", "O", values.get())));
  }

 private:
  Py& at(int slot) { return slots_[static_cast<size_t>(slot)]; }

  bool inputs(const std::vector<Owned>& examples) {
    size_t i = 0;
    for (const ir::Node* node : captured_.inputs()) {
      const bool constant = i >= examples.size();
      PyObject* tensor = constant ? program_.constants.at(i - examples.size()).get() : examples[i].get();
      Py value = Py::steal(PyObject_CallMethod(builder_, constant ? "constant" : "placeholder", "ssO",
                                               node->name.c_str(), node->source.c_str(), tensor));
      if (!value) return false;
      at(program_.input_slots.at(i++)) = std::move(value);
    }
    return true;
  }

  bool call(const ir::Node& node, const ReplayCall& call) {
    Py args = Py::steal(torch_bridge::fill(call.args, slots_, &filled_));
    Py kwargs;
    if (args && (call.kwargs.object || call.kwargs.has_slot()))
      kwargs = Py::steal(torch_bridge::fill(call.kwargs, slots_, &filled_));
    if (PyErr_Occurred()) return false;
    Owned paths(PyList_New(0)), types = types_of(node);
    for (const auto& [path, slot] : call.outputs) {
      Owned item(ints(path));
      if (!paths || !item || PyList_Append(paths.get(), item.get()) != 0) return false;
    }
    if (!types) return false;
    Owned place(Py_BuildValue("(si)", node.origin.file.c_str(), node.origin.line));
    Owned values(PyObject_CallMethod(builder_, "call", "ssOOOOOO", node.op.c_str(), node.name.c_str(),
                                     call.callable.get(), args.get(), kwargs ? kwargs.get() : Py_None,
                                     paths.get(), types.get(), place.get()));
    if (!values) return false;
    for (size_t i = 0; i < call.outputs.size(); ++i)
      at(call.outputs[i].second) = Py::borrow(PyList_GetItem(values.get(), static_cast<Py_ssize_t>(i)));
    return true;
  }

  const ReplayProgram& program_;
  const ir::Graph& captured_;
  PyObject* builder_;
  std::vector<Py> slots_;
  std::map<int32_t, Py> ints_;  // by number
  torch_bridge::Integers filled_;
};

}  // namespace

Owned compile_by_backend(PyObject* backend, const torch_bridge::Lowering::Graphs& graphs,
                         const std::vector<OpenInt>& open_ints, const std::vector<Owned>& example_inputs) {
  Owned module(PyImport_ImportModule("vitrine._fx"));
  Owned builder(module ? PyObject_CallMethod(module.get(), "GraphBuilder", nullptr) : nullptr);
  if (!builder || !FxWalk(graphs, builder.get()).run(open_ints, example_inputs)) return {};
  Owned graph_module(PyObject_CallMethod(builder.get(), "finish", nullptr));
  Owned examples(PyList_New(0));
  for (const OpenInt& open : open_ints)
    if (!examples || PyList_Append(examples.get(), open.example.get()) != 0) return {};
  for (const Owned& input : example_inputs)
    if (!examples || PyList_Append(examples.get(), input.get()) != 0) return {};
  if (!graph_module || !examples) return {};
  Owned compiled(PyObject_CallFunctionObjArgs(backend, graph_module.get(), examples.get(), nullptr));
  if (compiled && !PyCallable_Check(compiled.get())) {
    PyErr_Format(PyExc_TypeError, "the backend %R returned %R, which cannot be called", backend,
                 compiled.get());
    return {};
  }
  return compiled;
}

bool run_by_backend(PyObject* compiled, const std::vector<PyObject*>& inputs, size_t expected,
                    std::vector<PyObject*>& results) {
  Owned returned(PyObject_Vectorcall(compiled, inputs.data(), inputs.size(), nullptr));
  if (!returned) return false;
  if (expected == 1 && torch_bridge::is_tensor(returned.get())) {
    results.push_back(returned.release());
    return true;
  }
  if (!PyTuple_Check(returned.get()) && !PyList_Check(returned.get())) {
    PyErr_Format(PyExc_TypeError, "a backend's callable returns a tuple or list of tensors, not a %s",
                 Py_TYPE(returned.get())->tp_name);
    return false;
  }
  const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(returned.get()));
  if (n != expected) {
    PyErr_Format(PyExc_TypeError, "a backend's callable returned %zu values, the graph has %zu", n, expected);
    return false;
  }
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(returned.get(), static_cast<Py_ssize_t>(i));
    if (!torch_bridge::is_tensor(item)) {
      PyErr_Format(PyExc_TypeError, "a backend's callable returned a %s where the graph has a tensor",
                   Py_TYPE(item)->tp_name);
      return false;
    }
    Py_INCREF(item);
    results.push_back(item);
  }
  return true;
}

}  // namespace vitrine::capture
