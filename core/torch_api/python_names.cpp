#include "core/torch_api/python_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/once.h"

namespace vitrine::torch_api {

namespace {

constexpr PythonName kNames[] = {
#define X(id, module, attribute, presence) {module, attribute, PythonName::presence},
    VITRINE_PYTHON_NAMES(X)
#undef X
};

// attribute: "Module.forward". Of a module what its dict holds where `plain`, so that no __getattr__ of it
// runs.
PyRef walk(PyRef at, std::string_view attribute, bool plain) {
  while (at && !attribute.empty()) {
    const std::string part(attribute.substr(0, attribute.find('.')));
    attribute.remove_prefix(std::min(attribute.size(), part.size() + 1));
    at = plain && PyModule_Check(at.get())
             ? PyRef::borrow(PyDict_GetItemString(PyModule_GetDict(at.get()), part.c_str()))
             : PyRef(PyObject_GetAttrString(at.get(), part.c_str()));
  }
  return at;
}

PyRef loaded_module(const PythonName& of) {
  const PyRef name(PyUnicode_FromString(of.module));
  return PyRef(name ? PyImport_GetModule(name.get()) : nullptr);
}

}  // namespace

std::string PythonName::text() const {
  return std::string(module) + (*attribute ? "." : "") + attribute;
}

std::span<const PythonName> python_names() {
  return kNames;
}

const PythonName& python_name(Name name) {
  return kNames[static_cast<size_t>(name)];
}

PyRef find(Name name) {
  return walk(PyRef(PyImport_ImportModule(python_name(name).module)), python_name(name).attribute, false);
}

PyRef find_loaded(Name name) {
  PyRef found = walk(loaded_module(python_name(name)), python_name(name).attribute, true);
  PyErr_Clear();
  return found;
}

PyObject* kept(Name name) {
  static constinit std::array<Once<PyObject*>, std::size(kNames)> objects;
  return objects[static_cast<size_t>(name)].get([&] {
    PyRef found = find(name);
    const std::string why = take_python_error();
    VITRINE_CHECK(found || python_name(name).presence == PythonName::optional,
                  "no " + python_name(name).text() + ": " + why);
    return found.release();
  });
}

std::vector<std::string> missing_python_names() {
  std::vector<std::string> out;
  for (const PythonName& each : kNames) {
    // Our own package may be in the middle of its import.
    if (each.presence == PythonName::optional || std::string_view(each.module).starts_with("vitrine"))
      continue;
    PyRef module = loaded_module(each);
    if (module && !walk(std::move(module), each.attribute, true)) out.push_back(each.text());
    PyErr_Clear();
  }
  return out;
}

}  // namespace vitrine::torch_api
