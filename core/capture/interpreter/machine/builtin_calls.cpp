// How a call finds the row of a builtin, and refuses arguments that CPython refuses.
#include "core/capture/interpreter/machine/builtin_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/once.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/pure_functions.h"
#include "core/capture/interpreter/machine/calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/symbolic/symbols.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"

namespace vitrine::capture {
namespace {

// Not what a program has put in the place of a function before anything was compiled (mock.patch): that is
// interpreted as any other.
bool is_in_its_place(const char* path, PyObject* found) {
  static PyObject* ask = find_object("vitrine._polyfills.signatures.is_in_its_place");
  if (!ask) return true;  // the engine is used without its module
  const PyRef is(PyObject_CallFunction(ask, "sO", path, found));
  PyErr_Clear();
  return !is || is.get() == Py_True;
}

const std::unordered_map<PyObject*, BuiltinHandler>& handlers() {
  static constinit Once<std::unordered_map<PyObject*, BuiltinHandler>> table;
  return table.get([] {
    std::unordered_map<PyObject*, BuiltinHandler> map;
    for (auto rows :
         {python_builtins(), iteration_builtins(), library_builtins(), torch_builtins(), numpy_builtins(),
          array_builtins(), optimizer_builtins(), autograd_builtins(), mode_builtins(), warning_builtins(),
          transform_builtins(), choice_builtins(), pure_builtins(), number_builtins(), class_builtins()})
      for (const BuiltinRow& row : rows)
        if (PyObject* o = find_object(row.path); o && is_in_its_place(row.path, o)) {
          map.emplace(o, row.handler);
          // What PyTorch has put around its function for its compiler may be around it in other places, too.
          map.emplace(find_unwrapped(row.path), row.handler);
        }
    return map;
  });
}

// Methods of builtin classes (dict.fromkeys) are a new object each time they are read: known by what they
// call, and of which class, for classes derived from it make instances of their own.
struct ClassMethod {
  PyObject* owner;
  BuiltinHandler handler;
};
const std::unordered_map<PyMethodDef*, ClassMethod>& class_methods() {
  static constinit Once<std::unordered_map<PyMethodDef*, ClassMethod>> table;
  return table.get([] {
    std::unordered_map<PyMethodDef*, ClassMethod> map;
    for (auto rows : {python_builtins(), library_builtins()})
      for (const BuiltinRow& row : rows) {
        const std::string path = row.path;
        PyObject* owner = find_object(path.substr(0, path.rfind('.')));
        if (!owner || !PyType_Check(owner)) continue;
        PyRef method(PyObject_GetAttrString(owner, path.substr(path.rfind('.') + 1).c_str()));
        PyErr_Clear();
        if (method && PyCFunction_Check(method.get()))
          map.emplace(reinterpret_cast<PyCFunctionObject*>(method.get())->m_ml,
                      ClassMethod{owner, row.handler});
      }
    return map;
  });
}

BuiltinHandler handler_of(PyObject* callable) {
  if (auto found = handlers().find(callable); found != handlers().end()) return found->second;
  if (!PyCFunction_Check(callable)) return nullptr;
  auto found = class_methods().find(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml);
  if (found == class_methods().end()) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  const bool of_another = self && PyType_Check(self) && self != found->second.owner;
  return of_another ? nullptr : found->second.handler;
}

// What a builtin takes, as far as it tells.
struct Accepted {
  Py_ssize_t positional = -1;  // at most; -1: any number
  Py_ssize_t required = 0;     // at least
  bool any_keyword = true;
  std::unordered_set<std::string> keywords;
};

// Of a method that takes itself alone, or one argument beside: many of these have no signature.
bool accepted_by_flags(PyObject* callable, Accepted& out) {
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type)) return false;
  const int flags = reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_flags;
  if (!(flags & (METH_NOARGS | METH_O))) return false;
  out.positional = out.required = flags & METH_O ? 2 : 1;
  out.any_keyword = false;
  return true;
}

Accepted ask_accepted(PyObject* callable) {
  Accepted out;
  if (accepted_by_flags(callable, out)) return out;
  PyObject* ask = find_object("vitrine._polyfills.signatures.accepted_by");
  const PyRef told(ask ? PyObject_CallOneArg(ask, callable) : nullptr);
  PyObject *most = nullptr, *names = nullptr;
  if (!told || !PyArg_ParseTuple(told.get(), "OO", &most, &names)) return PyErr_Clear(), out;
  if (most != Py_None) out.positional = PyLong_AsSsize_t(most);
  out.any_keyword = names == Py_None;
  for (Py_ssize_t i = 0; !out.any_keyword && i < PyTuple_GET_SIZE(names); ++i)
    out.keywords.insert(text_of(PyTuple_GET_ITEM(names, i)));
  return out;
}

}  // namespace

// Arguments that a builtin does not take are refused in CPython's words.
void check_accepted(Tracer& t, PyObject* callable, size_t positional, const Arguments& a) {
  if (!callable || PyFunction_Check(callable)) return;
  PyObject* owner = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  if (owner && PyType_Check(owner)) return;  // a class's method, made anew at each reading
  static std::unordered_map<PyObject*, Accepted> known;
  auto found = known.find(callable);
  if (found == known.end()) {
    const Accepted accepted = ask_accepted(callable);
    found = known.emplace(Py_NewRef(callable), accepted).first;
  }
  const Accepted& accepted = found->second;
  const bool too_many = accepted.positional >= 0 && positional > static_cast<size_t>(accepted.positional);
  const bool too_few = positional < static_cast<size_t>(accepted.required);
  const bool unknown =
      !accepted.any_keyword && std::any_of(a.keyword.begin(), a.keyword.end(), [&](const auto& named) {
        return !accepted.keywords.contains(named.first);
      });
  if (too_many || too_few || unknown)
    stop("exception", "arguments that " + describe(t, t.pinned(callable)) + "() does not take");
}

Value* call_builtin(Tracer& t, PyObject* callable, const Arguments& a, bool* known) {
  const BuiltinHandler handler = handler_of(callable);
  *known = handler != nullptr;
  if (handler) check_accepted(t, callable, a.positional.size(), a);
  if (handler) return handler(t, a);
  Value* folded = known_before_its_guard(t, callable, a);
  if (!folded) folded = call_pure_function(t, callable, a);
  *known = folded != nullptr;
  return folded;
}

}  // namespace vitrine::capture
