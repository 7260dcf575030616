#include "core/torch_api/warning_watch.h"

#include "core/torch_api/api.h"
#include "core/torch_api/border.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// vars(warnings); the module lives as long as the process.
PyObject* warnings_dict() {
  return PyModule_GetDict(kept(Name::warnings));
}

// [("always", None, Warning, None, 0)]: every warning is shown.
PyRef show_all() {
  return PyRef::steal(Py_BuildValue("[(sOOOi)]", "always", Py_None, PyExc_Warning, Py_None, 0));
}

PyRef attribute(PyObject* of, const char* name) {
  return PyRef::steal(PyObject_GetAttrString(of, name));
}

// What the program had, while there is a watch in any thread. Read and written under the GIL.
struct Shared {
  int watches = 0;
  PyRef filters, show;
  bool always = false;
};
Shared& shared() {
  static Shared* const state = new Shared;  // never destroyed: the interpreter may be gone by then
  return *state;
}

thread_local WarningWatch* newest = nullptr;

// In place of warnings._showwarnmsg: threads without a watch warn as ever.
PyObject* show(PyObject*, PyObject* message) {
  if (!newest) return shared().show ? PyObject_CallOneArg(shared().show.get(), message) : Py_NewRef(Py_None);
  if (PyList_Append(newest->messages(), message) < 0) return nullptr;
  Py_RETURN_NONE;
}
PyMethodDef kShow = {"_showwarnmsg", border<show>, METH_O, "Keeps a warning for whoever watches."};

// Filters are replaced past `warnings.simplefilter`, which would make every module forget what it has warned
// of.
void begin(PyObject* module) {
  static PyObject* const kShowing = PyCFunction_New(&kShow, nullptr);
  const PyRef filters = show_all();
  Shared& s = shared();
  s.filters = PyRef::borrow(PyDict_GetItemString(module, "filters"));
  s.show = PyRef::borrow(PyDict_GetItemString(module, "_showwarnmsg"));
  if (api().symbols.warn_always) s.always = api().symbols.warn_always();
  if (filters) PyDict_SetItemString(module, "filters", filters.get());
  PyDict_SetItemString(module, "_showwarnmsg", kShowing);
}

void end(PyObject* module) {
  Shared& s = shared();
  if (s.filters) PyDict_SetItemString(module, "filters", s.filters.get());
  if (s.show) PyDict_SetItemString(module, "_showwarnmsg", s.show.get());
  s.filters = s.show = PyRef();
}

}  // namespace

WarningWatch::WarningWatch(PyObject* callable, Once once)
    : messages_(PyRef::steal(PyList_New(0))), outer_(newest) {
  newest = this;
  if (shared().watches++ == 0) begin(warnings_dict());
  put_aside(here_, PyEval_GetGlobals());
  if (PyFunction_Check(callable)) put_aside(there_, PyFunction_GET_GLOBALS(callable));
  const Symbols& symbols = api().symbols;
  if (symbols.set_warn_always) symbols.set_warn_always(once == Once::Again || shared().always);
  PyErr_Clear();
}

WarningWatch::~WarningWatch() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (api().symbols.set_warn_always) api().symbols.set_warn_always(shared().always);
  put_back(there_);
  put_back(here_);
  if (--shared().watches == 0) end(warnings_dict());
  newest = outer_;
  PyErr_Restore(type, value, trace);
}

// A registry of None is none: nothing counts as warned of.
void WarningWatch::put_aside(Registry& registry, PyObject* globals) {
  if (!globals) return;
  PyObject* before = PyDict_GetItemString(globals, "__warningregistry__");
  if (before == Py_None) return;  // another watch has done it
  registry.globals = PyRef::borrow(globals);
  registry.before = PyRef::borrow(before);
  PyDict_SetItemString(globals, "__warningregistry__", Py_None);
}

void WarningWatch::put_back(Registry& registry) {
  if (!registry.globals) return;
  const int done = registry.before ? PyDict_SetItemString(registry.globals.get(), "__warningregistry__",
                                                          registry.before.get())
                                   : PyDict_DelItemString(registry.globals.get(), "__warningregistry__");
  if (done < 0) PyErr_Clear();  // the call itself removed it
}

std::string text_of_warning(PyObject* messages) {
  PyObject* message = PyList_GET_ITEM(messages, 0);
  const PyRef category = attribute(message, "category"), warning = attribute(message, "message");
  const PyRef text = PyRef::steal(warning ? PyObject_Str(warning.get()) : nullptr);
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string out = category && PyType_Check(category.get())
                        ? reinterpret_cast<PyTypeObject*>(category.get())->tp_name
                        : "a warning";
  if (utf8) out += std::string(": ") + utf8;
  PyErr_Clear();
  return out;
}

void give_warnings(PyObject* messages) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(messages); ++i) {
    PyObject* message = PyList_GET_ITEM(messages, i);
    const PyRef category = attribute(message, "category"), warning = attribute(message, "message");
    const PyRef file = attribute(message, "filename"), line = attribute(message, "lineno");
    if (category && warning && file && line)
      PyErr_WarnExplicitObject(category.get(), warning.get(), file.get(),
                               static_cast<int>(PyLong_AsLong(line.get())), nullptr, nullptr);
    PyErr_Clear();
  }
}

bool a_filter_raises() {
  PyObject* filters = PyDict_GetItemString(warnings_dict(), "filters");  // borrowed
  for (Py_ssize_t i = 0; filters && PyList_Check(filters) && i < PyList_GET_SIZE(filters); ++i) {
    PyObject* row = PyList_GET_ITEM(filters, i);
    PyObject* action = PyTuple_Check(row) && PyTuple_GET_SIZE(row) > 0 ? PyTuple_GET_ITEM(row, 0) : nullptr;
    if (action && PyUnicode_Check(action) && PyUnicode_CompareWithASCIIString(action, "error") == 0)
      return true;
  }
  return false;
}

}  // namespace vitrine::torch_api
