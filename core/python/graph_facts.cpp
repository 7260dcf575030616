#include "core/python/graph_facts.h"

#include <Python.h>

#include "core/ir/print.h"
#include "core/torch_api/python_ref.h"

namespace vitrine::python {

using torch_api::PyRef;

namespace {

// A reference becomes ("ref", node, output); words and dtypes (kind, text).
// An expression as its text.
PyObject* python_integer(const ir::Sym& value) {
  return value.symbolic() ? PyUnicode_FromString(ir::text(value).c_str()) : PyLong_FromLongLong(value.hint());
}

PyObject* python_arg(const ir::Arg& arg) {
  if (arg.is<bool>()) return PyBool_FromLong(arg.as<bool>());
  if (arg.is<int64_t>()) return python_integer(arg.as<ir::Sym>());
  if (arg.is<double>()) return PyFloat_FromDouble(arg.as<double>());
  if (arg.is<std::string>()) return PyUnicode_FromString(arg.as<std::string>().c_str());
  if (arg.is<ir::Word>()) return Py_BuildValue("(ss)", "word", arg.as<ir::Word>().text.c_str());
  if (arg.is<ir::DType>())
    return Py_BuildValue("(ss)", "dtype", ir::dtype_torch_name(arg.as<ir::DType>()).data());
  if (arg.is<ir::Ref>())
    return Py_BuildValue("(sii)", "ref", arg.as<ir::Ref>().node, arg.as<ir::Ref>().output);
  if (!arg.is<std::vector<ir::Arg>>()) Py_RETURN_NONE;
  PyObject* list = PyList_New(0);
  for (const ir::Arg& a : arg.as<std::vector<ir::Arg>>())
    PyList_Append(list, PyRef::steal(python_arg(a)).get());
  return list;
}

PyObject* python_dims(const ir::Dims& dims) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(dims.size()));
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), python_integer(dims[i]));
  return out;
}

}  // namespace

PyObject* python_type(const ir::TensorType& t) {
  return Py_BuildValue("(sNNN)", ir::dtype_torch_name(t.dtype).data(), python_dims(t.sizes),
                       python_dims(t.strides), python_integer(t.offset));
}

namespace {

PyObject* python_node(const ir::Node& node) {
  constexpr const char* kKinds[] = {"placeholder", "parameter", "buffer", "constant", "op"};
  PyObject* kwargs = PyDict_New();
  for (const auto& [key, value] : node.kwargs)
    PyDict_SetItemString(kwargs, key.c_str(), PyRef::steal(python_arg(value)).get());
  PyObject* types = PyList_New(0);
  PyObject* devices = PyList_New(0);
  for (const ir::TensorType& t : node.outputs) {
    PyList_Append(types, PyRef::steal(python_type(t)).get());
    PyList_Append(devices, PyRef::steal(PyUnicode_FromString(t.device.text().c_str())).get());
  }
  PyObject* from = PyList_New(0);
  for (ir::NodeId id : node.origin.from) PyList_Append(from, PyRef::steal(PyLong_FromLong(id)).get());
  const ir::Origin& o = node.origin;
  return Py_BuildValue("{s:i,s:s,s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:s,s:i,s:s,s:s,s:s}", "id", node.id, "kind",
                       kKinds[static_cast<size_t>(node.kind)], "name", node.name.c_str(), "op",
                       node.op.c_str(), "args", python_arg(ir::Arg(node.args)), "kwargs", kwargs, "types",
                       types, "devices", devices, "from", from, "rule", o.rule.c_str(), "line", o.line,
                       "file", o.file.c_str(), "module", o.module.c_str(), "source", node.source.c_str());
}

}  // namespace

PyObject* python_graph(const ir::Graph& graph) {
  PyObject* nodes = PyList_New(0);
  for (const ir::Node& n : graph.nodes()) PyList_Append(nodes, PyRef::steal(python_node(n)).get());
  return Py_BuildValue("{s:s,s:N,s:N,s:s}", "stage", graph.stage.c_str(), "nodes", nodes, "results",
                       python_arg(ir::Arg(graph.results())), "text", ir::print(graph).c_str());
}

}  // namespace vitrine::python
