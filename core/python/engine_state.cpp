#include "core/python/engine_state.h"

#include "core/pipeline/pipeline.h"

namespace vitrine::python {

namespace {

using capture::CallSettings;
using capture::PyRef;

// dict[name] as a bool; `fallback` when it is not there.
bool flag(PyObject* dict, const char* name, bool fallback) {
  PyObject* value = PyDict_GetItemString(dict, name);
  return value ? PyObject_IsTrue(value) == 1 : fallback;
}

bool read_backend(PyObject* dict, CallSettings& settings) {
  PyObject* backend = PyDict_GetItemString(dict, "backend");
  if (!backend) return true;
  if (!PyUnicode_Check(backend)) {
    settings.backend = capture::share(backend);
    return true;
  }
  settings.replay = capture::text_of(backend) == "eager";
  if (settings.replay) return true;
  PyErr_Format(PyExc_ValueError, "unknown backend %R", backend);
  return false;
}

bool read_passes(PyObject* dict, CallSettings& settings) {
  PyObject* passes = PyDict_GetItemString(dict, "disabled_passes");
  if (!passes) return true;
  PyRef list(PySequence_Fast(passes, "disabled_passes takes a list of names"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* name = PySequence_Fast_GET_ITEM(list.get(), i);
    if (!PyUnicode_Check(name)) {
      PyErr_Format(PyExc_TypeError, "disabled_passes takes names, not %R", name);
      return false;
    }
    settings.disabled_passes.push_back(capture::text_of(name));
    settings.gradients.without.insert(settings.disabled_passes.back());
    const std::string wrong = pipeline::cannot_disable(settings.disabled_passes.back());
    if (wrong.empty()) continue;
    PyErr_Format(PyExc_ValueError, "vitrine.compile: option 'disabled_passes': %s", wrong.c_str());
    return false;
  }
  return true;
}

// {"gelu": "recomputed"}, as vitrine.compile has checked it.
void read_pins(PyObject* dict, CallSettings& settings) {
  PyObject *name = nullptr, *what = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &name, &what);)
    settings.gradients.pins[capture::text_of(name)] =
        capture::text_of(what) == "saved" ? autodiff::Pin::saved : autodiff::Pin::recomputed;
}

// {"x": (0, 1), "n": (-1,)}
void read_symbols(PyObject* dict, CallSettings& settings) {
  PyObject *name = nullptr, *dims = nullptr;
  for (Py_ssize_t at = 0; dict && PyDict_Check(dict) && PyDict_Next(dict, &at, &name, &dims);) {
    const PyRef list(PySequence_List(dims));
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list.get()); ++i)
      settings.symbols[capture::text_of(name)].push_back(PyLong_AsLongLong(PyList_GET_ITEM(list.get(), i)));
    PyErr_Clear();
  }
}

}  // namespace

capture::Engine& engine() {
  static capture::Engine* the_engine = new capture::Engine;
  return *the_engine;
}

capture::CallSettingsPtr settings_from(PyObject* dict) {
  auto settings = std::make_shared<CallSettings>();
  settings->given = capture::share(dict);
  settings->fullgraph = flag(dict, "fullgraph", false);
  settings->stands_in = flag(dict, "capture_data_sizes", true);
  settings->pieces = flag(dict, "pieces", false);
  settings->fuse = flag(dict, "fuse", true);
  settings->verify = flag(dict, "verify", false);
  settings->freezing = flag(dict, "freezing", false);
  if (PyObject* dynamic = PyDict_GetItemString(dict, "dynamic"); dynamic && dynamic != Py_None)
    settings->dynamic = dynamic == Py_True ? capture::DynamicMode::Always : capture::DynamicMode::Never;
  if (PyObject* products = PyDict_GetItemString(dict, "products"))
    settings->products = capture::text_of(products);
  if (PyObject* who = PyDict_GetItemString(dict, "gradients"))
    settings->gradients.who =
        capture::text_of(who) == "own" ? torch_api::Gradients::own : torch_api::Gradients::borrowed;
  if (PyObject* pins = PyDict_GetItemString(dict, "partition")) read_pins(pins, *settings);
  if (PyObject* target = PyDict_GetItemString(dict, "target")) settings->target = capture::text_of(target);
  read_symbols(PyDict_GetItemString(dict, "symbols"), *settings);
  settings->observer = capture::share(PyDict_GetItemString(dict, "observer"));
  if (PyObject* mode = PyDict_GetItemString(dict, "mode")) settings->mode = capture::text_of(mode);
  if (PyObject* limit = PyDict_GetItemString(dict, "recompile_limit"))
    settings->recompile_limit = PyLong_AsLongLong(limit);
  if (PyObject* number = PyDict_GetItemString(dict, "isolated"))
    settings->isolated = PyLong_AsLongLong(number);
  if (!read_backend(dict, *settings) || !read_passes(dict, *settings)) return nullptr;
  return settings;
}

}  // namespace vitrine::python
