// Recording of torch calls as a type of vitrine._engine, for tests: Lowering(), input(), constant(), call(),
// finish(); and the Recorded that comes out: texts, nodes and replay.
#include <Python.h>

#include <map>
#include <memory>
#include <string>

#include "core/autograd/joint.h"
#include "core/ir/print.h"
#include "core/ir/substitute.h"
#include "core/python/graph_facts.h"
#include "core/python/parts.h"
#include "core/recording/lowering.h"
#include "core/torch_api/border.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/python_ref.h"
#include "core/torch_api/sym_node.h"
#include "core/torch_api/symbolic_tensor.h"

namespace vitrine::python {
namespace {

namespace tb = torch_api;
using tb::PyRef;

struct LoweringObject {
  PyObject_HEAD tb::Lowering* lowering;
  ir::SymbolTable* table;  // of symbolic_input()
  std::map<std::string, ir::Sym>* symbols;
};
struct RecordedObject {
  PyObject_HEAD tb::Lowering::Graphs* graphs;
  tb::Replayer* replayer;
};

PyObject* fail(const std::string& what) {
  return PyErr_Format(PyExc_RuntimeError, "%s", what.c_str());
}

// Lowering(as_if="cuda:0", architecture="sm_90")
PyObject* lowering_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (!fits_pytorch()) return nullptr;
  const char *as_if = nullptr, *architecture = "";
  if (!PyArg_ParseTuple(args, "|ss", &as_if, &architecture)) return nullptr;
  std::optional<ir::Device> device = as_if ? ir::device_from_text(as_if) : std::nullopt;
  auto* self = reinterpret_cast<LoweringObject*>(type->tp_alloc(type, 0));
  if (self) {
    self->lowering = new tb::Lowering(device, architecture);
    self->table = new ir::SymbolTable;
    self->symbols = new std::map<std::string, ir::Sym>;
  }
  return reinterpret_cast<PyObject*>(self);
}
void lowering_free(PyObject* self) {
  auto* object = reinterpret_cast<LoweringObject*>(self);
  delete object->lowering;
  delete object->symbols;
  delete object->table;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
tb::Lowering& lowering(PyObject* self) {
  return *reinterpret_cast<LoweringObject*>(self)->lowering;
}

// input(tensor, kind="placeholder", source="") -> fake tensor
PyObject* lowering_input(PyObject* self, PyObject* args) {
  PyObject* tensor = nullptr;
  const char *kind = "placeholder", *source = "";
  if (!PyArg_ParseTuple(args, "O|ss", &tensor, &kind, &source)) return nullptr;
  const std::string_view name = kind;
  ir::NodeKind node = name == "parameter" ? ir::NodeKind::parameter
                      : name == "buffer"  ? ir::NodeKind::buffer
                                          : ir::NodeKind::placeholder;
  Result<PyObject*> out = lowering(self).input(tensor, node, source);
  return out ? out.value() : fail(out.error().what);
}

// symbolic_input(tensor, names, kind="placeholder", source="") -> fake tensor; names: by dim, "s0" or None
PyObject* lowering_symbolic_input(PyObject* self, PyObject* args) {
  PyObject *tensor = nullptr, *names = nullptr;
  const char *kind = "placeholder", *source = "";
  if (!PyArg_ParseTuple(args, "OO!|ss", &tensor, &PyTuple_Type, &names, &kind, &source)) return nullptr;
  ir::TensorType type = tb::type_of(tensor);
  auto& object = *reinterpret_cast<LoweringObject*>(self);
  for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(names); ++d) {
    PyObject* name = PyTuple_GET_ITEM(names, d);
    if (name == Py_None) continue;
    const auto at = static_cast<size_t>(d);
    auto [known, fresh] = object.symbols->try_emplace(PyUnicode_AsUTF8(name), 0);
    if (fresh) known->second = object.table->size(known->first, type.sizes[at].hint());
    type.sizes[at] = known->second;
  }
  type.strides = tb::strides_by_sizes(type);
  const ir::NodeKind node =
      std::string_view(kind) == "parameter" ? ir::NodeKind::parameter : ir::NodeKind::placeholder;
  Result<PyObject*> out = lowering(self).symbolic_input(tensor, node, source, type);
  return out ? out.value() : fail(out.error().what);
}

// symbol(name) -> torch.SymInt
PyObject* lowering_symbol(PyObject* self, PyObject* name) {
  const auto& symbols = *reinterpret_cast<LoweringObject*>(self)->symbols;
  const auto known = symbols.find(PyUnicode_AsUTF8(name));
  return known == symbols.end() ? fail("no such symbol") : tb::sym_int(known->second);
}

// guards() -> ["s0 <= 64", ...]
PyObject* lowering_guards(PyObject* self, PyObject*) {
  const ir::SymbolTable& table = *reinterpret_cast<LoweringObject*>(self)->table;
  PyObject* out = PyList_New(0);
  for (const ir::SymGuard& g : table.guards())
    PyList_Append(out, PyRef::steal(PyUnicode_FromString((table.text(g) + "   " + g.place).c_str())).get());
  return out;
}

// holds([value of each symbol]) -> whether what was recorded serves these sizes
PyObject* lowering_holds(PyObject* self, PyObject* list) {
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    values.push_back(PyLong_AsLongLong(PyList_GET_ITEM(list, i)));
  return PyBool_FromLong(reinterpret_cast<LoweringObject*>(self)->table->holds(values));
}

PyObject* lowering_constant(PyObject* self, PyObject* tensor) {
  Result<PyObject*> out = lowering(self).constant(tensor);
  return out ? out.value() : fail(out.error().what);
}

// call(name, callable, args, kwargs=None, line=0) -> (value, captured nodes) or (kind, reason, hint)
PyObject* lowering_call(PyObject* self, PyObject* args) {
  PyObject *callable = nullptr, *positional = nullptr, *kwargs = nullptr;
  const char* name = nullptr;
  int line = 0;
  if (!PyArg_ParseTuple(args, "sOO!|Oi", &name, &callable, &PyTuple_Type, &positional, &kwargs, &line))
    return nullptr;
  ir::Origin origin;
  origin.line = line;
  tb::Lowering::Outcome out =
      lowering(self).call(name, callable, positional, kwargs == Py_None ? nullptr : kwargs, origin);
  if (out.raised) return nullptr;
  if (out.unsupported)
    return Py_BuildValue("(sss)", out.unsupported->kind.c_str(), out.unsupported->reason.c_str(),
                         out.unsupported->hint.c_str());
  return Py_BuildValue("(Ni)", out.value, out.captured_nodes);
}

PyObject* lowering_is_traced(PyObject* self, PyObject* o) {
  return PyBool_FromLong(lowering(self).is_traced(o));
}

PyObject* lowering_effects(PyObject* self, PyObject*) {
  const tb::Lowering::Effects e = lowering(self).effects();
  return Py_BuildValue("{s:O,s:O,s:O}", "writes_inputs", e.writes_inputs ? Py_True : Py_False, "random",
                       e.random ? Py_True : Py_False, "needs_grad", e.needs_grad ? Py_True : Py_False);
}

// joint(results, "own" | "borrowed") -> {"graph", "borrowed", "inputs": of the gradients, "tangents",
// "constants"}, or why there is none
PyObject* lowering_joint(PyObject* self, PyObject* args) {
  PyObject* results = nullptr;
  const char* who = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", &PyList_Type, &results, &who)) return nullptr;
  std::vector<PyObject*> list;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results); ++i) list.push_back(PyList_GET_ITEM(results, i));
  tb::GradientWishes how;
  if (std::string_view(who) != "own") how.who = tb::Gradients::borrowed;
  auto joint = tb::make_joint(lowering(self), list, how);
  if (!joint) return PyUnicode_FromString(joint.error().what.c_str());
  PyObject *inputs = PyList_New(0), *tangents = PyList_New(0), *constants = PyList_New(0);
  for (const auto& g : joint.value()->gradients)
    PyList_Append(inputs, PyRef::steal(PyLong_FromLong(g.input)).get());
  for (const ir::TensorType& t : joint.value()->tangents)
    PyList_Append(tangents, PyRef::steal(python_type(t)).get());
  for (const PyRef& c : joint.value()->constants) PyList_Append(constants, c.get());
  PyObject* operators = PyList_New(0);
  for (const std::string& op : joint.value()->borrowed_operators)
    PyList_Append(operators, PyRef::steal(PyUnicode_FromString(op.c_str())).get());
  return Py_BuildValue("{s:N,s:s,s:N,s:N,s:N,s:N}", "graph", python_graph(*joint.value()->joint), "borrowed",
                       joint.value()->borrowed.c_str(), "borrowed_operators", operators, "inputs", inputs,
                       "tangents", tangents, "constants", constants);
}

PyObject* lowering_finish(PyObject* self, PyObject* results);

PyMethodDef kLoweringMethods[] = {
    {"input", torch_api::border<lowering_input>, METH_VARARGS, "A fake tensor for a real tensor."},
    {"symbolic_input", torch_api::border<lowering_symbolic_input>, METH_VARARGS,
     "A fake tensor with expressions for sizes."},
    {"symbol", torch_api::border<lowering_symbol>, METH_O, "A symbol by its name, as a torch.SymInt."},
    {"guards", torch_api::border<lowering_guards>, METH_NOARGS, "What was asked of the symbols."},
    {"holds", torch_api::border<lowering_holds>, METH_O, "Whether the recording serves these values."},
    {"constant", torch_api::border<lowering_constant>, METH_O,
     "A fake tensor for a tensor whose value is known."},
    {"call", torch_api::border<lowering_call>, METH_VARARGS, "Records one call."},
    {"is_traced", torch_api::border<lowering_is_traced>, METH_O,
     "Whether an object is a tensor of this recording."},
    {"effects", torch_api::border<lowering_effects>, METH_NOARGS,
     "What the recorded program does besides computing."},
    {"joint", torch_api::border<lowering_joint>, METH_VARARGS,
     "Forward and derivative of the program so far."},
    {"finish", torch_api::border<lowering_finish>, METH_O, "The program so far: a Recorded."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kLoweringSlots[] = {{Py_tp_new, reinterpret_cast<void*>(lowering_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(lowering_free)},
                                {Py_tp_methods, kLoweringMethods},
                                {0, nullptr}};
PyType_Spec kLoweringSpec = {"vitrine._engine.Lowering", sizeof(LoweringObject), 0, Py_TPFLAGS_DEFAULT,
                             kLoweringSlots};

void recorded_free(PyObject* self) {
  auto* recorded = reinterpret_cast<RecordedObject*>(self);
  delete recorded->replayer;
  delete recorded->graphs;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* recorded_captured(PyObject* self, PyObject*) {
  return python_graph(*reinterpret_cast<RecordedObject*>(self)->graphs->captured);
}
PyObject* recorded_aten(PyObject* self, PyObject*) {
  return python_graph(*reinterpret_cast<RecordedObject*>(self)->graphs->aten);
}
// aten_at(lowering, [value of each symbol]) -> the ATen graph for these sizes
PyObject* recorded_aten_at(PyObject* self, PyObject* args) {
  PyObject *from = nullptr, *list = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &from, &PyList_Type, &list)) return nullptr;
  std::vector<int64_t> values;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    values.push_back(PyLong_AsLongLong(PyList_GET_ITEM(list, i)));
  const ir::SymbolTable& table = *reinterpret_cast<LoweringObject*>(from)->table;
  const auto graph = ir::at_sizes(*reinterpret_cast<RecordedObject*>(self)->graphs->aten, table, values);
  return graph ? python_graph(*graph.value()) : fail(graph.error().what);
}
PyObject* recorded_constants(PyObject* self, PyObject*) {
  PyObject* out = PyList_New(0);
  for (PyObject* c : reinterpret_cast<RecordedObject*>(self)->graphs->constants) PyList_Append(out, c);
  return out;
}
// replay(inputs) -> results
PyObject* recorded_replay(PyObject* self, PyObject* list) {
  std::vector<PyObject*> inputs, outputs;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) inputs.push_back(PyList_GET_ITEM(list, i));
  for (PyObject* c : reinterpret_cast<RecordedObject*>(self)->graphs->constants) inputs.push_back(c);
  if (!reinterpret_cast<RecordedObject*>(self)->replayer->run(inputs, outputs)) return nullptr;
  PyObject* out = PyList_New(0);
  for (PyObject* o : outputs) PyList_Append(out, PyRef::steal(o).get());
  return out;
}
PyMethodDef kRecordedMethods[] = {
    {"captured", torch_api::border<recorded_captured>, METH_NOARGS, "The torch-level graph."},
    {"aten", torch_api::border<recorded_aten>, METH_NOARGS, "The ATen graph."},
    {"aten_at", torch_api::border<recorded_aten_at>, METH_VARARGS, "The ATen graph for given sizes."},
    {"constants", torch_api::border<recorded_constants>, METH_NOARGS, "Tensors that follow the real inputs."},
    {"replay", torch_api::border<recorded_replay>, METH_O, "Runs the torch-level graph on real tensors."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kRecordedSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(recorded_free)}, {Py_tp_methods, kRecordedMethods}, {0, nullptr}};
PyType_Spec kRecordedSpec = {"vitrine._engine.Recorded", sizeof(RecordedObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kRecordedSlots};

PyTypeObject* recorded_type() {
  static auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kRecordedSpec));
  return type;
}

PyObject* lowering_finish(PyObject* self, PyObject* results) {
  std::vector<PyObject*> list;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(results); ++i) list.push_back(PyList_GET_ITEM(results, i));
  auto* out = reinterpret_cast<RecordedObject*>(recorded_type()->tp_alloc(recorded_type(), 0));
  if (!out) return nullptr;
  out->graphs = new tb::Lowering::Graphs(lowering(self).finish(list));
  out->replayer = new tb::Replayer(*out->graphs);
  return reinterpret_cast<PyObject*>(out);
}

}  // namespace

void add_lowering(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kLoweringSpec);
  if (type && PyModule_AddObject(module, "Lowering", type) != 0) Py_DECREF(type);
}

}  // namespace vitrine::python
