#include "core/capture/interpreter/state/module_paths.h"

#include "core/capture/objects/owned.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

bool is_module(PyObject* o) {
  return torch_names().is_module(Py_TYPE(o));
}

// f(name, value) of each entry whose key is a text. Nothing of Python's runs, so the dict stays as it is.
template <typename F>
void each_named(PyObject* dict, F&& f) {
  if (!dict || !PyDict_Check(dict)) return;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
    if (PyUnicode_CheckExact(key)) f(text_of(key), value);
}

PyRef own_dict(PyObject* object) {
  PyRef dict(PyObject_GenericGetDict(object, nullptr));
  if (!dict) PyErr_Clear();
  return dict;
}

}  // namespace

const std::string& ModulePaths::of(PyObject* parameter, const Frame& frame) {
  static const std::string none;
  if (!walked_) walk_frame(frame);
  const auto found = paths_.find(parameter);
  return found == paths_.end() ? none : found->second;
}

// A script has its model among the globals, a function among its arguments and what encloses it, a trainer
// among its attributes.
void ModulePaths::walk_frame(const Frame& frame) {
  walked_ = true;
  PyObject* names = reinterpret_cast<PyCodeObject*>(frame.code())->co_localsplusnames;
  for (int slot = 0; slot < frame.local_count(); ++slot) {
    PyObject* o = frame.local(slot);
    if (o && PyCell_Check(o)) o = PyCell_GET(o);
    if (o) walk_object(o, "L['" + text_of(PyTuple_GET_ITEM(names, slot)) + "']");
  }
  each_named(frame.globals(), [&](const std::string& name, PyObject* o) {
    if (is_module(o)) walk_module(o, "G['" + name + "']");
  });
}

void ModulePaths::walk_object(PyObject* object, const std::string& path) {
  if (is_module(object)) return walk_module(object, path);
  if (PyModule_Check(object) || PyType_Check(object)) return;
  const PyRef own = own_dict(object);
  each_named(own.get(), [&](const std::string& name, PyObject* o) {
    if (is_module(o)) walk_module(o, path + "." + name);
  });
}

void ModulePaths::walk_module(PyObject* module, const std::string& path) {
  if (!seen_.insert(module).second) return;
  const PyRef own = own_dict(module);
  if (!own) return;
  each_named(PyDict_GetItemString(own.get(), "_parameters"), [&](const std::string& name, PyObject* o) {
    if (o != Py_None) paths_.emplace(o, path + "." + name);
  });
  each_named(PyDict_GetItemString(own.get(), "_modules"), [&](const std::string& name, PyObject* o) {
    if (is_module(o)) walk_module(o, path + "." + name);
  });
}

}  // namespace vitrine::capture
