// The operator table and the graph passes as functions of vitrine._engine, for tests: graphs go in and come
// out as text.
#include <Python.h>

#include <string>

#include "core/ir/parse.h"
#include "core/ir/print.h"
#include "core/ops/node.h"
#include "core/pipeline/optimise.h"
#include "core/python/parts.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

ir::GraphPtr parsed(PyObject* text) {
  const char* chars = PyUnicode_AsUTF8(text);
  if (!chars) return nullptr;
  auto graph = ir::parse(chars);
  if (graph) return graph.take();
  PyErr_SetString(PyExc_ValueError, (graph.error().what + " at " + graph.error().where).c_str());
  return nullptr;
}

// The types that the table derives for a node, as text; or why there are none.
std::pair<std::string, std::string> derived(const ir::Graph& graph, const ir::Node& node) {
  const ops::OpRow* row = ops::find(node.op);
  if (!row) return {"", "no row"};
  auto args = ops::bind(*row, node);
  if (!args) return {"", "bind: " + args.error().what};
  auto types = ops::infer(*row, args.value(), [&](ir::Ref r) -> const ir::TensorType& {
    return graph.node(r.node).outputs.at(static_cast<size_t>(r.output));
  });
  if (!types) return {"", types.error().what};
  std::string out;
  for (const ir::TensorType& t : types.value()) out += (out.empty() ? "" : ", ") + ir::print_type(t);
  return {out, ""};
}

// op_types(graph text) -> [(node, types as text, why none)] of its operators
PyObject* op_types(PyObject*, PyObject* text) {
  ir::GraphPtr graph = parsed(text);
  if (!graph) return nullptr;
  PyObject* out = PyList_New(0);
  for (const ir::Node& node : graph->nodes()) {
    if (node.kind != ir::NodeKind::op) continue;
    auto [types, why] = derived(*graph, node);
    PyObject* row = Py_BuildValue("(sss)", node.name.c_str(), types.c_str(), why.c_str());
    if (!out || !row || PyList_Append(out, row) != 0) {
      Py_XDECREF(row);
      Py_XDECREF(out);
      return nullptr;
    }
    Py_DECREF(row);
  }
  return out;
}

// op_table() -> [{"name", "gradient", "family", "has_rule", "params": [(name, keyword only, required,
// written)]}]
PyObject* op_table(PyObject*, PyObject*) {
  PyObject* out = PyList_New(0);
  for (const ops::OpRow* row : ops::all()) {
    PyObject* params = PyList_New(0);
    for (const ops::Param& p : ops::params(*row)) {
      PyObject* param = Py_BuildValue("(sNNN)", p.name.c_str(), PyBool_FromLong(p.keyword_only),
                                      PyBool_FromLong(p.required), PyBool_FromLong(p.written));
      PyList_Append(params, param);
      Py_XDECREF(param);
    }
    PyObject* dict = Py_BuildValue("{s:s,s:s,s:s,s:N,s:N}", "name", std::string(row->name).c_str(),
                                   "gradient", std::string(row->gradient).c_str(), "family",
                                   std::string(ops::family_name(row->family)).c_str(), "has_rule",
                                   PyBool_FromLong(row->shape != nullptr), "params", params);
    PyList_Append(out, dict);
    Py_XDECREF(dict);
  }
  return out;
}

// run_passes(graph text) -> [(pass, graph text after it)], every law checked after every pass.
PyObject* run_passes(PyObject*, PyObject* text) {
  ir::GraphPtr graph = parsed(text);
  if (!graph) return nullptr;
  PyObject* out = PyList_New(0);
  pipeline::PassOptions options;
  options.verify = true;
  options.after = [&](const pipeline::Row& pass, const ir::GraphPtr& after) {
    PyObject* row = Py_BuildValue("(ss)", std::string(pass.name).c_str(), ir::print(*after).c_str());
    if (!out || !row || PyList_Append(out, row) != 0) PyErr_Clear();
    Py_XDECREF(row);
  };
  auto result = pipeline::optimise(graph, options, nullptr);
  if (result.ok()) return out;
  Py_XDECREF(out);
  return PyErr_Format(PyExc_RuntimeError, "%s\n%s", result.error().what.c_str(), result.error().hint.c_str());
}

PyMethodDef kMethods[] = {
    {"op_types", torch_api::border<op_types>, METH_O,
     "Types that the operator table derives for a graph's nodes."},
    {"op_table", torch_api::border<op_table>, METH_NOARGS, "The operator table's rows."},
    {"run_passes", torch_api::border<run_passes>, METH_O, "A graph after each pass of the pipeline."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_ops(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
