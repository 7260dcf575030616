#include "core/capture/marks.h"

#include <Python.h>

#include <string>
#include <string_view>

#include "core/capture/objects/class_dict.h"

namespace vitrine::capture {
namespace {

PyObject* attribute(PyObject* function, const char* name) {
  PyObject* dict = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return dict ? PyDict_GetItemString(dict, name) : nullptr;
}

// Asked of every frame whose function has attributes.
bool is_marked(PyObject* function) {
  static PyObject* const name = PyUnicode_InternFromString("_torchdynamo_disable");
  PyObject* dict = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  PyObject* value = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  return value && PyObject_IsTrue(value) == 1;
}

// functools.wraps copies marks onto functions of the user's own: what PyTorch made lives in its own module.
bool made_by_dynamo(PyObject* function) {
  return globals_of_torch(PyFunction_GET_GLOBALS(function), "_dynamo");
}

// Borrowed contents of a closure's cell; nullptr: no such name, or it is empty.
PyObject* closed_over(PyObject* function, std::string_view name) {
  PyObject* cells = PyFunction_GET_CLOSURE(function);
  PyObject* names = PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
  PyObject* found = nullptr;
  for (Py_ssize_t i = 0; names && cells && i < PyTuple_GET_SIZE(names); ++i) {
    const char* text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (text && name == text) found = PyCell_GET(PyTuple_GET_ITEM(cells, i));
  }
  Py_XDECREF(names);
  PyErr_Clear();
  return found;
}

// Whether owner, a module or class of PyTorch's library, or a subclass there holds this function by this
// name.
bool library_holds(PyObject* owner, PyObject* name, PyObject* function) {
  PyObject* dict = PyType_Check(owner)     ? class_dict(reinterpret_cast<PyTypeObject*>(owner))
                   : PyModule_Check(owner) ? PyModule_GetDict(owner)
                                           : nullptr;
  PyObject* module =
      dict ? PyDict_GetItemString(dict, PyType_Check(owner) ? "__module__" : "__name__") : nullptr;
  const char* text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  if (!text || !std::string_view(text).starts_with("torch.")) return false;
  if (PyDict_GetItemWithError(dict, name) == function) return true;
  if (!PyType_Check(owner)) return false;
  PyObject* derived = PyObject_CallMethod(owner, "__subclasses__", nullptr);
  bool found = false;
  for (Py_ssize_t i = 0; derived && i < PyList_GET_SIZE(derived) && !found; ++i)
    found = library_holds(PyList_GET_ITEM(derived, i), name, function);
  Py_XDECREF(derived);
  return found;
}

// Once torch.compile was used in the process, PyTorch marks functions of its own library
// (Optimizer._init_group) for its compiler: whether the library's own place holds such a wrapper of `inner`.
bool marked_by_pytorch(PyObject* function, PyObject* inner) {
  if (!inner || !PyFunction_Check(inner) || !globals_of_torch(PyFunction_GET_GLOBALS(inner))) return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(inner), "__name__");
  PyObject* owner = PyDict_GetItemWithError(PyImport_GetModuleDict(), module);
  if (!owner || !PyModule_Check(owner)) return false;
  PyObject* dot = PyUnicode_FromString(".");
  PyObject* parts = PyUnicode_Split(reinterpret_cast<PyFunctionObject*>(inner)->func_qualname, dot, -1);
  Py_XDECREF(dot);
  const Py_ssize_t depth = parts ? PyList_GET_SIZE(parts) : 0;
  for (Py_ssize_t i = 0; i + 1 < depth && owner; ++i) {
    PyObject* dict =
        PyType_Check(owner) ? class_dict(reinterpret_cast<PyTypeObject*>(owner)) : PyModule_GetDict(owner);
    owner = PyDict_GetItemWithError(dict, PyList_GET_ITEM(parts, i));
    if (owner && !PyType_Check(owner)) owner = nullptr;
  }
  const bool held = owner && depth > 0 && library_holds(owner, PyList_GET_ITEM(parts, depth - 1), function);
  Py_XDECREF(parts);
  PyErr_Clear();
  return held;
}

}  // namespace

bool globals_of_torch(PyObject* globals, const char* part) {
  PyObject* name = PyDict_GetItemString(globals, "__name__");
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) return PyErr_Clear(), false;
  const std::string root = *part ? std::string("torch.") + part : "torch";
  const std::string_view module = text;
  if (!module.starts_with(root) || (module.size() > root.size() && module[root.size()] != '.')) return false;
  PyObject* loaded = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  return loaded && PyModule_Check(loaded) && PyModule_GetDict(loaded) == globals;
}

Mark mark_of(PyObject* function) {
  if (!is_marked(function)) return Mark::None;
  if (made_by_dynamo(function)) {
    if (marked_by_pytorch(function, attribute(function, "_torchdynamo_orig_callable"))) return Mark::None;
    PyObject* recursive = attribute(function, "_torchdynamo_disable_recursive");
    return recursive && PyObject_IsTrue(recursive) == 0 ? Mark::OneInner : Mark::Throughout;
  }
  // torch._dynamo's skip() marks the user's function itself. With a callable behind it, it is a copied mark.
  return attribute(function, "_torchdynamo_orig_callable") ? Mark::None : Mark::Alone;
}

PyObject* behind_wrapper(PyObject* function) {
  PyObject* inner = attribute(function, "_torchdynamo_orig_callable");
  return inner && made_by_dynamo(function) ? inner : nullptr;
}

PyObject* behind_early_disable(PyObject* function) {
  return globals_of_torch(PyFunction_GET_GLOBALS(function), "_compile") ? closed_over(function, "fn")
                                                                        : nullptr;
}

PyObject* reason_of_mark(PyObject* function) {
  PyObject* reason = attribute(function, "_torchdynamo_disable_msg");
  return reason && reason != Py_None ? reason : nullptr;
}

namespace {

// Whether a set of ids of torch._dynamo.trace_rules has this object's.
bool is_among(PyObject* callable, const char* set) {
  PyObject* rules = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._dynamo.trace_rules");
  if (!rules || !PyModule_Check(rules)) return false;
  PyObject* held = PyDict_GetItemString(PyModule_GetDict(rules), set);
  PyObject* ids = held ? PyObject_GetAttrString(held, "function_ids") : nullptr;  // None before the first one
  PyObject* id = ids && PyAnySet_Check(ids) ? PyLong_FromVoidPtr(callable) : nullptr;
  const bool yes = id && PySet_Contains(ids, id) == 1;
  Py_XDECREF(id);
  Py_XDECREF(ids);
  PyErr_Clear();
  return yes;
}

}  // namespace

bool is_disallowed(PyObject* callable) {
  return is_among(callable, "_disallowed_callable_ids");
}

bool is_allowed_in_graph(PyObject* callable) {
  return is_among(callable, "_allowed_callable_ids");
}

bool is_nonstrict(PyObject* callable) {
  return is_among(callable, "_nonstrict_trace_callable_ids");
}

bool in_block_of_errors() {
  PyObject* block = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._dynamo.decorators");
  PyObject* asks = block && PyModule_Check(block)
                       ? PyDict_GetItemString(PyModule_GetDict(block), "_get_error_on_graph_break")
                       : nullptr;
  PyObject* answer = asks ? PyObject_CallNoArgs(asks) : nullptr;
  const bool yes = answer == Py_True;
  Py_XDECREF(answer);
  PyErr_Clear();
  return yes;
}

bool has_constant_result(PyObject* function) {
  return attribute(function, "_dynamo_marked_constant") == Py_True;
}

}  // namespace vitrine::capture
