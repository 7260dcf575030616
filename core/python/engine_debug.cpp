// What looks into compiled programs: the nodes of a graph, the values inside of a plan, the first run of each
// plan; limits to what is applied, for bisecting; faults, for tests.
#include <Python.h>

#include <memory>

#include "core/base/opt_bisect.h"
#include "core/capture/objects/owned.h"
#include "core/codegen/schedule/fault.h"
#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/node.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/python/plan_capsule.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

using capture::PyRef;

PyObject* strings(const std::vector<std::string>& texts) {
  PyObject* out = PyList_New(0);
  for (const std::string& text : texts) {
    PyRef item(PyUnicode_FromString(text.c_str()));
    if (!out || !item || PyList_Append(out, item.get()) != 0) Py_CLEAR(out);
  }
  return out;
}

PyObject* node_facts(const ir::Graph& graph, const ir::Node& node) {
  std::vector<std::string> reads, types;
  ir::each_ref(node, [&](ir::Ref r) {
    const std::string& name = graph.node(r.node).name;
    reads.push_back(r.output ? name + "." + std::to_string(r.output) : name);
  });
  for (const ir::TensorType& t : node.outputs) types.push_back(ir::print_type(t));
  const bool op = node.kind == ir::NodeKind::op;
  const bool writes = op && ops::writes(node);
  const bool view = op && !writes && !ops::aliased(node).empty();
  const ir::Origin& o = node.origin;
  return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:s,s:i,s:O,s:O,s:O}", "name", node.name.c_str(), "kind",
                       std::string(ir::kind_word(node.kind)).c_str(), "op", node.op.c_str(), "reads",
                       strings(reads), "types", strings(types), "file", o.file.c_str(), "line", o.line,
                       "writes", writes ? Py_True : Py_False, "view", view ? Py_True : Py_False, "random",
                       op && ops::is_random(node) ? Py_True : Py_False);
}

// graph_nodes(text) -> [{"name", "kind", "op", "reads", "types", "file", "line", "writes", "view", "random"},
// ...]
PyObject* graph_nodes(PyObject*, PyObject* text) {
  const char* words = PyUnicode_AsUTF8(text);
  if (!words) return nullptr;
  auto graph = ir::parse(words);
  if (!graph)
    return PyErr_Format(PyExc_ValueError, "%s %s", graph.error().what.c_str(), graph.error().where.c_str());
  PyObject* out = PyList_New(0);
  for (const ir::Node& node : graph.value()->nodes()) {
    PyRef item(node_facts(*graph.value(), node));
    if (!out || !item || PyList_Append(out, item.get()) != 0) Py_CLEAR(out);
  }
  return out;
}

// plan_values(plan, inputs, wanted) -> (outputs, [(node, output, step, tensor), ...]): what each step
// computed, as it was right behind it; of nodes that the graph had from the beginning. wanted: a set of their
// names.
PyObject* plan_values(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *inputs = nullptr, *wanted = nullptr;
  if (!PyArg_ParseTuple(args, "OO!O!", &capsule, &PyList_Type, &inputs, &PySet_Type, &wanted)) return nullptr;
  HeldPlan* held = held_plan(capsule);
  if (!held) return nullptr;
  std::vector<PyObject*> outputs;
  std::vector<runtime::SeenValue> seen;
  const auto is_wanted = [&](ir::Ref value) {
    const ir::Node* node = held->graph ? held->graph->find(value.node) : nullptr;
    const PyRef name(node ? PyUnicode_FromString(node->name.c_str()) : nullptr);
    return name && PySet_Contains(wanted, name.get()) == 1;
  };
  auto* items = reinterpret_cast<PyListObject*>(inputs)->ob_item;
  const bool ok = held->plan->run_watched({items, static_cast<size_t>(PyList_GET_SIZE(inputs))}, outputs,
                                          is_wanted, seen);
  PyRef results(PyList_New(0)), values(PyList_New(0));
  bool kept = ok && results && values;
  for (PyObject* o : outputs) {
    kept = kept && PyList_Append(results.get(), o) == 0;
    Py_DECREF(o);
  }
  for (const runtime::SeenValue& value : seen) {
    PyRef tensor(value.tensor);
    if (!kept) continue;
    PyRef row(Py_BuildValue("(sisO)", held->graph->node(value.value.node).name.c_str(), value.value.output,
                            value.label.c_str(), tensor.get()));
    kept = row && PyList_Append(values.get(), row.get()) == 0;
  }
  return kept ? Py_BuildValue("(NN)", results.release(), values.release()) : nullptr;
}

// observe_plans(callable or None): called as callable(plan, text, compilation, place, inputs) before each
// plan that is compiled from now on runs for the first time. What it raises is shown and goes no further.
PyObject* observe_plans(PyObject*, PyObject* callable) {
  capture::Config& config = engine().config;
  config.observer = nullptr;
  if (callable == Py_None) Py_RETURN_NONE;
  Py_INCREF(callable);
  const std::shared_ptr<PyObject> held(callable, [](PyObject* o) { Py_DECREF(o); });
  config.observer = std::make_shared<const runtime::PlanObserver>(
      [held](const std::shared_ptr<runtime::Plan>& plan, const ir::GraphPtr& graph, Id compilation,
             const std::string& place, std::span<PyObject* const> inputs) {
        ir::PrintOptions how;
        how.origins = true;
        PyObject* list = PyList_New(0);
        for (PyObject* o : inputs)
          if (list && PyList_Append(list, o) != 0) Py_CLEAR(list);
        PyRef all(list);
        PyRef capsule(plan_capsule(plan, graph));
        PyRef done(all && capsule ? PyObject_CallFunction(
                                        held.get(), "OsLsO", capsule.get(), ir::print(*graph, how).c_str(),
                                        static_cast<long long>(compilation), place.c_str(), all.get())
                                  : nullptr);
        if (!done) PyErr_WriteUnraisable(held.get());
      });
  Py_RETURN_NONE;
}

// opt_bisect(rewrites, fusions, kernels): from now on at most so many are applied; -1: all. opt_bisect(): no
// limit, and nothing is counted.
PyObject* opt_bisect(PyObject*, PyObject* args) {
  long long limits[OptBisect::kKinds] = {-1, -1, -1};
  if (!PyArg_ParseTuple(args, "|LLL", &limits[0], &limits[1], &limits[2])) return nullptr;
  const bool off = PyTuple_GET_SIZE(args) == 0;
  engine().config.bisect = off ? nullptr
                               : std::make_shared<OptBisect>(
                                     std::array<int64_t, OptBisect::kKinds>{limits[0], limits[1], limits[2]});
  Py_RETURN_NONE;
}

// opt_bisect_log() -> {"rewrites": [(text, applied), ...], "fusions": ..., "kernels": ...}, or None
PyObject* opt_bisect_log(PyObject*, PyObject*) {
  const auto bisect = engine().config.bisect;
  if (!bisect) Py_RETURN_NONE;
  PyObject* out = PyDict_New();
  for (size_t k = 0; out && k < OptBisect::kKinds; ++k) {
    PyRef list(PyList_New(0));
    for (const OptBisect::Application& a : bisect->applications(static_cast<OptBisect::Of>(k))) {
      PyRef row(Py_BuildValue("(sO)", a.text.c_str(), a.allowed ? Py_True : Py_False));
      if (!list || !row || PyList_Append(list.get(), row.get()) != 0) return Py_DECREF(out), nullptr;
    }
    if (!list || PyDict_SetItemString(out, OptBisect::kNames[k], list.get()) != 0) Py_CLEAR(out);
  }
  return out;
}

// inject_fault(where, find, put), for tests: see codegen::Fault. inject_fault(): none any more.
PyObject* inject_fault(PyObject*, PyObject* args) {
  const char *where = nullptr, *find = "", *put = "";
  if (!PyArg_ParseTuple(args, "|sss", &where, &find, &put)) return nullptr;
  capture::Config& config = engine().config;
  codegen::Faults faults = config.faults && where ? *config.faults : codegen::Faults();
  if (where) faults.push_back({where, find, put});
  config.faults = where ? std::make_shared<const codegen::Faults>(std::move(faults)) : nullptr;
  Py_RETURN_NONE;
}

// faults() -> [(where, find, put), ...]
PyObject* faults(PyObject*, PyObject*) {
  const auto known = engine().config.faults;
  PyObject* out = PyList_New(0);
  for (const codegen::Fault& f : known ? *known : codegen::Faults()) {
    PyRef row(Py_BuildValue("(sss)", f.where.c_str(), f.find.c_str(), f.put.c_str()));
    if (!out || !row || PyList_Append(out, row.get()) != 0) Py_CLEAR(out);
  }
  return out;
}

PyMethodDef kMethods[] = {
    {"graph_nodes", torch_api::border<graph_nodes>, METH_O, "The nodes of a graph given as text."},
    {"plan_values", torch_api::border<plan_values>, METH_VARARGS,
     "Runs a plan, and gives what each of its steps computed."},
    {"observe_plans", torch_api::border<observe_plans>, METH_O,
     "Who is called before the first run of each plan; None: nobody."},
    {"opt_bisect", torch_api::border<opt_bisect>, METH_VARARGS,
     "opt_bisect(rewrites, fusions, kernels): how many are applied from now on."},
    {"opt_bisect_log", torch_api::border<opt_bisect_log>, METH_NOARGS, "What was applied, or held back."},
    {"inject_fault", torch_api::border<inject_fault>, METH_VARARGS,
     "For tests: makes what is compiled wrong."},
    {"faults", torch_api::border<faults>, METH_NOARGS, "For tests: the faults that were injected."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_debug(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
