// The modules and objects of Python, of PyTorch and of our own package that C++ reaches by name: a row each.
// What Vitrine cannot do without is looked for at once, so that one error names all that is missing.
#pragma once

#include "core/torch_api/python_ref.h"

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/torch_api/python_name_rows.h"

namespace vitrine::torch_api {

enum class Name : uint8_t {
#define X(id, module, attribute, presence) id,
  VITRINE_PYTHON_NAMES(X)
#undef X
};

struct PythonName {
  const char* module;
  const char* attribute;  // of the module, "Module.forward" of a class in it; "": the module itself
  enum Presence : uint8_t { required, optional } presence;
  std::string text() const;  // "torch.nn.Module.forward"
};
std::span<const PythonName> python_names();
const PythonName& python_name(Name name);

// What stands under the name now; a program may have replaced it. The module is imported where it is not
// loaded. Nothing: a Python error is set.
PyRef find(Name name);
// Nothing, and no error, where the module is not loaded or has none.
PyRef find_loaded(Name name);
// What stood there when it was first asked for, for the life of the process. Borrowed. nullptr: an optional
// one that is not there. Throws InternalError for a required one.
PyObject* kept(Name name);

// name(arguments...), which `format` describes as PyObject_CallFunction's. Nothing: a Python error is set.
template <class... Arguments>
PyRef call(Name name, const char* format = nullptr, Arguments... arguments) {
  const PyRef function = find(name);
  return PyRef(function ? PyObject_CallFunction(function.get(), format, arguments...) : nullptr);
}

// Required names, but of our own package, that the modules loaded so far lack. Nothing is imported, and no
// code of a module runs.
std::vector<std::string> missing_python_names();

}  // namespace vitrine::torch_api
