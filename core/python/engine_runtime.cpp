// Plans as functions of vitrine._engine, for tests: a graph in its text form is compiled, run and looked at.
#include <Python.h>

#include <memory>

#include "core/ir/parse.h"
#include "core/python/parts.h"
#include "core/runtime/compile.h"

namespace vitrine::python {
namespace {

constexpr const char* kPlanName = "vitrine.plan";
using PlanPtr = std::shared_ptr<runtime::Plan>;

PyObject* raise(const Error& error) {
  return PyErr_Format(PyExc_RuntimeError, "%s%s%s", error.what.c_str(), error.hint.empty() ? "" : ": ",
                      error.hint.c_str());
}

PlanPtr* plan_of(PyObject* capsule) {
  return static_cast<PlanPtr*>(PyCapsule_GetPointer(capsule, kPlanName));
}

// plan_compile(text, fuse, cache_dir) -> plan. The graph's inputs, in its order, are the plan's.
PyObject* plan_compile(PyObject*, PyObject* args) {
  const char *text = nullptr, *cache_dir = "";
  int fuse = 1;
  if (!PyArg_ParseTuple(args, "s|ps", &text, &fuse, &cache_dir)) return nullptr;
  try {
    auto graph = ir::parse(text);
    if (!graph) return raise(graph.error());
    runtime::CompileOptions options;
    options.fuse = fuse != 0;
    options.cache_dir = cache_dir;
    auto plan = runtime::compile(graph.value(), options, nullptr);
    if (!plan) return raise(plan.error());
    return PyCapsule_New(new PlanPtr(plan.take()), kPlanName,
                         [](PyObject* capsule) { delete plan_of(capsule); });
  } catch (const std::exception& e) {
    return PyErr_Format(PyExc_RuntimeError, "%s", e.what());
  }
}

// plan_run(plan, inputs) -> outputs, as lists.
PyObject* plan_run(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *inputs = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  std::vector<PyObject*> outputs;
  auto* items = reinterpret_cast<PyListObject*>(inputs)->ob_item;
  if (!(*plan)->run(items, static_cast<size_t>(PyList_GET_SIZE(inputs)), outputs)) return nullptr;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(outputs.size()));
  for (size_t i = 0; list && i < outputs.size(); ++i)
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), outputs[i]);
  return list;
}

// plan_times(plan, inputs) -> [(launch, start, end)] in ns of one run.
PyObject* plan_times(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *inputs = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  std::vector<PyObject*> outputs;
  std::vector<runtime::LaunchTime> times;
  auto* items = reinterpret_cast<PyListObject*>(inputs)->ob_item;
  if (!(*plan)->run(items, static_cast<size_t>(PyList_GET_SIZE(inputs)), outputs, &times)) return nullptr;
  for (PyObject* o : outputs) Py_DECREF(o);
  PyObject* list = PyList_New(0);
  for (const runtime::LaunchTime& t : times) {
    PyObject* row = Py_BuildValue("(iLL)", t.launch, static_cast<long long>(t.start_ns),
                                  static_cast<long long>(t.end_ns));
    if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject* plan_facts(PyObject*, PyObject* capsule) {
  PlanPtr* plan = plan_of(capsule);
  if (!plan) return nullptr;
  return Py_BuildValue("{s:i,s:i,s:i}", "launches", (*plan)->launches(), "kernels",
                       (*plan)->generated_kernels(), "python_calls", (*plan)->python_calls());
}

PyMethodDef kMethods[] = {
    {"plan_compile", plan_compile, METH_VARARGS, "Compiles a graph given as text."},
    {"plan_run", plan_run, METH_VARARGS, "Runs a plan on a list of tensors."},
    {"plan_times", plan_times, METH_VARARGS, "Runs a plan and gives the time of each launch."},
    {"plan_facts", plan_facts, METH_O, "Launches, generated kernels and Python calls of a plan."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_runtime(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
