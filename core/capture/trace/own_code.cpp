// Which questions about an object run code of the program: what capture asks for itself must not be noticed.
#include <algorithm>
#include <string_view>

#include "core/capture/class_dict.h"
#include "core/capture/trace/python.h"

namespace vitrine::capture {

bool is_library(PyObject* module) {
  const std::string name = text_of(module);
  const std::string root = name.substr(0, name.find('.'));
  if (root == "torch") return true;
  PyObject* names = PySys_GetObject("stdlib_module_names");
  Owned key(PyUnicode_FromString(root.c_str()));
  const int yes = names && key && root != "__main__" ? PySet_Contains(names, key.get()) : 0;
  PyErr_Clear();
  return yes > 0;
}

namespace {

// Such methods change nothing that a program could see.
bool is_of_a_library(PyObject* function) {
  return is_library(reinterpret_cast<PyFunctionObject*>(function)->func_module);
}

// What dataclasses writes for a class: it asks the fields alone.
bool is_generated(PyTypeObject* type, PyObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(function)->func_code);
  return text_of(code->co_filename) == "<string>" && lookup(type, "__dataclass_fields__");
}

template <typename Ask>
bool any_inside(PyObject* container, Ask ask) {
  Owned items(PySequence_List(container));
  if (!items) PyErr_Clear();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i)
    if (ask(PyList_GET_ITEM(items.get(), i))) return true;
  return false;
}

bool tells_by_own_code(PyObject* o) {
  // A module's repr() asks it for attributes, for which it may have a __getattr__.
  if (PyModule_Check(o) &&
      (!PyModule_CheckExact(o) || PyDict_GetItemString(PyModule_GetDict(o), "__getattr__")))
    return true;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyAnySet_CheckExact(o))
    return any_inside(o, tells_by_own_code);
  if (PyDict_CheckExact(o)) {
    Owned values(PyDict_Values(o));
    return any_inside(o, tells_by_own_code) || (values && tells_by_own_code(values.get()));
  }
  return own_code(Py_TYPE(o), {"__repr__"});
}

}  // namespace

bool own_code(PyTypeObject* type, std::initializer_list<const char*> names) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  return std::any_of(names.begin(), names.end(), [type](const char* name) {
    PyObject* found = lookup(type, name);
    if (found && Py_TYPE(found) == &PyProperty_Type) return true;
    return found && PyFunction_Check(found) && !is_of_a_library(found) && !is_generated(type, found);
  });
}

std::string repr_of(PyObject* o, size_t limit) {
  std::string s;
  if (tells_by_own_code(o)) {
    s = std::string("<") + Py_TYPE(o)->tp_name + " object>";
  } else {
    Owned r(PyObject_Repr(o));
    if (!r) PyErr_Clear();
    s = r ? text_of(r.get()) : std::string(Py_TYPE(o)->tp_name);
  }
  return shortened(std::move(s), limit);
}

bool hashes_by_own_code(PyObject* key) {
  if (PyTuple_Check(key) || PyFrozenSet_CheckExact(key)) return any_inside(key, hashes_by_own_code);
  return own_code(Py_TYPE(key), {"__hash__", "__eq__"});
}

}  // namespace vitrine::capture
