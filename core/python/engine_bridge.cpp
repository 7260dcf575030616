// PyTorch's side of the engine as functions of vitrine._engine, for tests and for `vitrine doctor`.
#include <Python.h>

#include <string>

#include "core/python/parts.h"
#include "core/torch_api/border.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/library/list_call.h"
#include "core/torch_api/python_names.h"

namespace vitrine::python {
namespace {

namespace tb = torch_api;

PyObject* strings(const std::vector<std::pair<std::string, std::string>>& rows) {
  PyObject* out = PyList_New(0);
  for (const auto& [name, value] : rows) {
    PyObject* row = Py_BuildValue("(ss)", name.c_str(), value.c_str());
    if (!out || !row || PyList_Append(out, row) != 0) PyErr_Print();
    Py_XDECREF(row);
  }
  return out;
}

PyObject* tuple_of(const int64_t* values, int64_t n) {
  PyObject* out = PyTuple_New(n);
  for (int64_t i = 0; out && i < n; ++i) PyTuple_SET_ITEM(out, i, PyLong_FromLongLong(values[i]));
  return out;
}

constexpr tb::SelfTest kSelfTests[] = {{"lists of tensors", tb::test_list_calls}};

// bridge_init() -> {"version", "ready", "tests": [(name, result)], "error", "hint"}
PyObject* bridge_init(PyObject*, PyObject*) {
  const Status error = tb::init(kSelfTests);
  const tb::Facts& facts = tb::facts();
  return Py_BuildValue("{s:s,s:O,s:N,s:s,s:s}", "version", facts.torch_version.c_str(), "ready",
                       facts.ready ? Py_True : Py_False, "tests", strings(facts.self_tests), "error",
                       error ? error->what.c_str() : "", "hint", error ? error->hint.c_str() : "");
}

// python_names() -> [(module, attribute, whether it must be there), ...]: what the engine reaches by name
PyObject* python_names(PyObject*, PyObject*) {
  tb::PyRef out(PyList_New(0));
  for (const tb::PythonName& name : tb::python_names()) {
    const tb::PyRef row(Py_BuildValue("(ssO)", name.module, name.attribute,
                                      name.presence == tb::PythonName::required ? Py_True : Py_False));
    if (!out || !row || PyList_Append(out.get(), row.get()) != 0) return nullptr;
  }
  return out.release();
}

// missing_python_names() -> ["torch.Size", ...]: what must be there and is not, in the modules loaded so far
PyObject* missing_python_names(PyObject*, PyObject*) {
  tb::PyRef out(PyList_New(0));
  for (const std::string& name : tb::missing_python_names()) {
    const tb::PyRef row(PyUnicode_FromString(name.c_str()));
    if (!out || !row || PyList_Append(out.get(), row.get()) != 0) return nullptr;
  }
  return out.release();
}

// find_pytorch() -> "", or what of PyTorch is missing and what to do. Computes nothing.
PyObject* find_pytorch(PyObject*, PyObject*) {
  const Status error = tb::find_pytorch();
  return PyUnicode_FromString(error ? (error->what + " " + error->hint).c_str() : "");
}

bool ready_tensor(PyObject* o) {
  if (fits_pytorch() && !tb::is_tensor(o)) PyErr_SetString(PyExc_TypeError, "a tensor is needed");
  return !PyErr_Occurred();
}

// tensor_facts(tensor) -> what guards read, without PyTorch's Python interface.
PyObject* tensor_facts(PyObject*, PyObject* tensor) {
  if (!ready_tensor(tensor)) return nullptr;
  tb::Handle handle = tb::handle_of(tensor);
  const tb::TensorView v = tb::view(handle);
  return Py_BuildValue(
      "{s:N,s:N,s:L,s:i,s:i,s:i,s:K,s:O,s:O,s:K,s:K}", "sizes", tuple_of(v.sizes, v.ndim), "strides",
      tuple_of(v.strides, v.ndim), "offset", static_cast<long long>(v.storage_offset), "scalar_type",
      v.scalar_type, "device_type", v.device_type, "device_index", v.device_index, "keys",
      static_cast<unsigned long long>(tb::dispatch_keys(handle)), "requires_grad",
      tb::requires_grad(tensor) ? Py_True : Py_False, "plain",
      tb::is_plain_tensor(tensor) ? Py_True : Py_False, "storage",
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tb::storage_id(handle))), "data",
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tb::data(handle))));
}

// tensor_view(tensor, sizes, strides, offset) -> tensor on the same storage, outside autograd.
PyObject* tensor_view(PyObject*, PyObject* args) {
  PyObject *tensor = nullptr, *sizes = nullptr, *strides = nullptr;
  long long offset = 0;
  if (!PyArg_ParseTuple(args, "OO!O!L", &tensor, &PyTuple_Type, &sizes, &PyTuple_Type, &strides, &offset))
    return nullptr;
  if (!ready_tensor(tensor)) return nullptr;
  ir::TensorType type = tb::type_of(tensor);
  type.sizes.clear(), type.strides.clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) {
    type.sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
    type.strides.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i)));
  }
  type.offset = offset;
  return tb::wrap(tb::as_strided(tb::handle_of(tensor), type));
}

// tensor_empty_like(tensor) -> new tensor of the same type.
PyObject* tensor_empty_like(PyObject*, PyObject* tensor) {
  if (!ready_tensor(tensor)) return nullptr;
  ir::TensorType type = tb::type_of(tensor);
  type.offset = 0;
  return tb::wrap(tb::empty_strided(type));
}

PyObject* tensor_bump_version(PyObject*, PyObject* tensor) {
  if (!ready_tensor(tensor)) return nullptr;
  return PyBool_FromLong(tb::bump_version(tb::handle_of(tensor)));
}

// global_state() -> (flags, default dtype, matmul precision, why capture may not run, default device)
PyObject* global_state(PyObject*, PyObject*) {
  if (!fits_pytorch()) return nullptr;
  const tb::GlobalState state = tb::global_state();
  return Py_BuildValue("(Kiisi)", static_cast<unsigned long long>(state.flags), state.default_dtype,
                       state.matmul_precision, tb::unsupported_state().c_str(), state.default_device);
}

// parallel_threads(n, grain) -> how often each of n indices was visited, as bytes
PyObject* parallel_visits(PyObject*, PyObject* args) {
  long long n = 0, grain = 0;
  if (!PyArg_ParseTuple(args, "LL", &n, &grain)) return nullptr;
  std::string visits(static_cast<size_t>(n), '\0');
  auto visit = [](int64_t begin, int64_t end, void* context) {
    for (int64_t i = begin; i < end; ++i) ++(*static_cast<std::string*>(context))[static_cast<size_t>(i)];
  };
  tb::parallel_for(n, grain, visit, &visits);
  return PyBytes_FromStringAndSize(visits.data(), static_cast<Py_ssize_t>(visits.size()));
}

PyMethodDef kMethods[] = {
    {"find_pytorch", torch_api::border<find_pytorch>, METH_NOARGS,
     "Finds PyTorch's functions; computes nothing."},
    {"bridge_init", torch_api::border<bridge_init>, METH_NOARGS,
     "Finds PyTorch's functions and layout; runs the self-tests."},
    {"python_names", torch_api::border<python_names>, METH_NOARGS,
     "What of Python and PyTorch the engine reaches by name: module, attribute, whether it must be there."},
    {"missing_python_names", torch_api::border<missing_python_names>, METH_NOARGS,
     "What of it must be there, and is not."},
    {"tensor_facts", torch_api::border<tensor_facts>, METH_O, "What guards read of a tensor."},
    {"tensor_view", torch_api::border<tensor_view>, METH_VARARGS,
     "A view by sizes, strides and offset, outside autograd."},
    {"tensor_empty_like", torch_api::border<tensor_empty_like>, METH_O, "A new tensor of the same type."},
    {"tensor_bump_version", torch_api::border<tensor_bump_version>, METH_O,
     "Adds one to a tensor's version."},
    {"global_state", torch_api::border<global_state>, METH_NOARGS, "PyTorch's state that guards compare."},
    {"parallel_visits", torch_api::border<parallel_visits>, METH_VARARGS,
     "Runs a loop on PyTorch's thread pool."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool fits_pytorch() {
  const Status error = tb::init(kSelfTests);
  if (error)
    PyErr_Format(PyExc_RuntimeError, "Vitrine does not fit PyTorch %s: %s %s",
                 tb::facts().torch_version.c_str(), error->what.c_str(), error->hint.c_str());
  return !error;
}

void add_bridge(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
