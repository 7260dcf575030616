// Which questions about an object run code of the program: what capture asks for itself must not be noticed.
#include <algorithm>
#include <string_view>

#include "core/base/once.h"
#include "core/capture/objects/class_dict.h"
#include "core/capture/objects/python.h"

namespace vitrine::capture {

namespace {

// "/usr/lib/python3.11/", where the file of a module lies.
std::string folder_of_module(Name name) {
  const PyRef module = find(name);
  PyRef file(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
  PyErr_Clear();
  const std::string path = text_of(file.get());
  return path.substr(0, path.rfind('/') + 1);
}

// By where it lies: a program may have a module that is named like one of the library's (profile, queue).
bool is_library_file(const std::string& path) {
  static constinit Once<std::pair<std::string, std::string>> kept_folders;
  const auto& [library, torch] =
      kept_folders.get([] { return std::pair(folder_of_module(Name::os), folder_of_module(Name::torch)); });
  if (!torch.empty() && path.starts_with(torch)) return true;
  if (path.starts_with("<frozen ")) return true;
  return !library.empty() && path.starts_with(library) &&
         path.find("-packages/", library.size()) == std::string::npos;
}

}  // namespace

bool is_library_code(PyCodeObject* code) {
  return is_library_file(text_of(code->co_filename));
}

bool is_library_function(PyObject* function) {
  return is_library_code(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
}

bool is_library(PyObject* module) {
  PyObject* loaded =
      module && PyUnicode_Check(module) ? PyDict_GetItemWithError(PyImport_GetModuleDict(), module) : nullptr;
  if (!loaded || !PyModule_Check(loaded)) return PyErr_Clear(), false;
  PyObject* file = PyDict_GetItemString(PyModule_GetDict(loaded), "__file__");
  if (file && PyUnicode_Check(file)) return is_library_file(text_of(file));
  PyObject* built_in = PySys_GetObject("builtin_module_names");
  const bool yes = built_in && PySequence_Contains(built_in, module) == 1;
  PyErr_Clear();
  return yes;
}

namespace {

// What dataclasses writes for a class: it asks the fields alone.
bool is_generated(PyTypeObject* type, PyObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(function)->func_code);
  return text_of(code->co_filename) == "<string>" && lookup(type, "__dataclass_fields__") &&
         text_of(code->co_qualname).starts_with("__create_fn__.");
}

template <typename Ask>
bool any_inside(PyObject* container, Ask ask) {
  PyRef items(PySequence_List(container));
  if (!items) PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i)
    if (ask(PyList_GET_ITEM(items.get(), i))) return true;
  return false;
}

bool tells_by_user_code(PyObject* o) {
  // A module's repr() asks it for attributes, for which it may have a __getattr__.
  if (PyModule_Check(o) &&
      (!PyModule_CheckExact(o) || PyDict_GetItemString(PyModule_GetDict(o), "__getattr__")))
    return true;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyAnySet_CheckExact(o))
    return any_inside(o, tells_by_user_code);
  if (PyDict_CheckExact(o)) {
    PyRef values(PyDict_Values(o));
    return any_inside(o, tells_by_user_code) || (values && tells_by_user_code(values.get()));
  }
  return runs_user_code(Py_TYPE(o), {"__repr__"});
}

}  // namespace

bool runs_user_code(PyTypeObject* type, std::initializer_list<const char*> names) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  // Methods of a library change nothing that a program could see.
  return std::any_of(names.begin(), names.end(), [type](const char* name) {
    PyObject* found = lookup(type, name);
    if (found && Py_TYPE(found) == &PyProperty_Type) return true;
    return found && PyFunction_Check(found) && !is_library_function(found) && !is_generated(type, found);
  });
}

std::string repr_of(PyObject* o, size_t limit) {
  std::string s;
  if (tells_by_user_code(o)) {
    s = std::string("<") + Py_TYPE(o)->tp_name + " object>";
  } else {
    PyRef r(PyObject_Repr(o));
    if (!r) PyErr_Clear();
    s = r ? text_of(r.get()) : std::string(Py_TYPE(o)->tp_name);
  }
  return shortened(std::move(s), limit);
}

bool hashes_by_user_code(PyObject* key) {
  if (PyTuple_Check(key) || PyFrozenSet_CheckExact(key)) return any_inside(key, hashes_by_user_code);
  return runs_user_code(Py_TYPE(key), {"__hash__", "__eq__"});
}

}  // namespace vitrine::capture
