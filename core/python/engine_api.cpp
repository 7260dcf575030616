// What the Python files of the package ask of the engine: settings, pausing, forgetting.
#include <Python.h>

#include "core/capture/segment/store.h"
#include "core/python/engine_state.h"
#include "core/python/parts.h"
#include "core/runtime/kernels/sealed_folder.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

bool set_number(PyObject* value, int64_t& field) {
  const long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred()) return false;
  field = number;
  return true;
}

// configure(name, value): a setting of vitrine.config
PyObject* configure(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "sO:configure", &name, &value)) return nullptr;
  capture::Config& config = engine().config;
  const std::string_view setting = name;
  bool ok = true;
  if (setting == "recompile_limit") {
    ok = set_number(value, config.recompile_limit);
  } else if (setting == "accumulated_recompile_limit") {
    ok = set_number(value, config.accumulated_recompile_limit);
  } else if (setting == "threads") {
    ok = set_number(value, config.threads);
  } else if (setting == "autotune_seconds") {
    ok = set_number(value, config.autotune_seconds);
  } else if (setting == "check") {
    config.check = value == Py_True;
  } else if (setting == "cache_dir") {
    config.cache_dir = capture::text_of(value);
  } else if (setting == "nvrtc") {
    config.nvrtc = capture::text_of(value);
  } else if (setting == "nvdisasm") {
    config.nvdisasm = capture::text_of(value);
  } else if (setting == "cupti") {  // the package's own files use it
  } else {
    PyErr_Format(PyExc_ValueError, "there is no setting %s", name);
    ok = false;
  }
  if (!ok) return nullptr;
  Py_RETURN_NONE;
}

// private_folder_problem(path) -> None, or why the folder cannot be one that only this user writes to; it is
// made
PyObject* private_folder_problem(PyObject*, PyObject* path) {
  if (!PyUnicode_Check(path)) return PyErr_Format(PyExc_TypeError, "a path is needed");
  auto folder = runtime::cache_folder(capture::text_of(path));
  if (folder) Py_RETURN_NONE;
  const Error& error = folder.error();
  return PyUnicode_FromFormat("%s (%s)", error.what.c_str(), error.where.c_str());
}

PyObject* edited_kernels(PyObject*, PyObject*) {
  const auto texts = engine().config.edited;
  PyObject* out = PyList_New(0);
  if (!texts) return out;
  for (const auto& [generated, edited] : *texts) {
    PyObject* pair = out ? Py_BuildValue("(ss)", generated.c_str(), edited.c_str()) : nullptr;
    if (!pair || PyList_Append(out, pair) != 0) Py_CLEAR(out);
    Py_XDECREF(pair);
  }
  return out;
}

// edit_kernel(generated, edited): what is compiled from now on has the second text where it would have the
// first.
PyObject* edit_kernel(PyObject*, PyObject* args) {
  const char *generated = nullptr, *edited = nullptr;
  if (!PyArg_ParseTuple(args, "ss:edit_kernel", &generated, &edited)) return nullptr;
  capture::Config& config = engine().config;
  codegen::EditedTexts texts = config.edited ? *config.edited : codegen::EditedTexts();
  texts[generated] = edited;
  config.edited = std::make_shared<const codegen::EditedTexts>(std::move(texts));
  Py_RETURN_NONE;
}

// take_differences() -> [(compilation, text, reproducer), ...] that checked calls found; empties the list
PyObject* take_differences(PyObject*, PyObject*) {
  std::vector<capture::Difference> found = std::move(engine().differences);
  engine().differences.clear();
  PyObject* list = PyList_New(0);
  for (const capture::Difference& d : found) {
    PyObject* row =
        Py_BuildValue("(Lss)", static_cast<long long>(d.compilation), d.text.c_str(), d.reproducer.c_str());
    if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

// kept_programs() -> {"found": 2, "missed": 0, ...}: what became of programs that were looked for on disk,
// and why the last of them was not found
PyObject* kept_programs(PyObject*, PyObject*) {
  const runtime::KeptPrograms& kept = *engine().kept;
  return Py_BuildValue("{sLsLsLsLss}", "found", static_cast<long long>(kept.found), "missed",
                       static_cast<long long>(kept.missed), "refused", static_cast<long long>(kept.refused),
                       "left_out", static_cast<long long>(kept.left_out), "why", kept.why.c_str());
}

// forget(observer): drops the segments made for it; reset(): all
PyObject* forget(PyObject*, PyObject* observer) {
  engine().forget(observer);
  Py_RETURN_NONE;
}
PyObject* reset(PyObject*, PyObject*) {
  engine().forget(nullptr);
  Py_RETURN_NONE;
}

// always_capture(function): its code is captured wherever its file lies
PyObject* always_capture(PyObject*, PyObject* function) {
  if (PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
  if (PyFunction_Check(function)) capture::CaptureHandler::always_capture(PyFunction_GET_CODE(function));
  Py_RETURN_NONE;
}

// The rows of segments(): (name, calls, fast_checks, walks, why a backward graph does not serve all sizes,
// how many do, [(sizes, how, why), ...])
PyObject* row_of(const capture::Segment& segment) {
  PyObject* instances = PyList_New(0);
  for (const auto& instance : segment.instances()) {
    const auto [how, why] = segment.how_made(*instance);
    PyObject* sizes = PyList_New(0);
    for (const int64_t value : instance->values) {
      const capture::PyRef number(PyLong_FromLongLong(value));
      if (!sizes || !number || PyList_Append(sizes, number.get()) != 0) Py_CLEAR(sizes);
    }
    PyObject* row = Py_BuildValue("(Nss)", sizes, how, why.c_str());
    if (!instances || !row || PyList_Append(instances, row) != 0) Py_CLEAR(instances);
    Py_XDECREF(row);
  }
  std::string backward;
  long long backwards = 0;
  for (const auto& graph : segment.symbolic())
    for (const auto& [asked, compiled] : graph->backward) {
      if (!compiled.why.empty()) backward = compiled.why;
      if (compiled.plans) ++backwards;
    }
  return Py_BuildValue("(sLLLsLN)", segment.name.c_str(), static_cast<long long>(segment.calls),
                       static_cast<long long>(segment.guards().fast_checks()),
                       static_cast<long long>(segment.guards().walks()), backward.c_str(), backwards,
                       instances);
}

// segments() -> what is compiled, for tests: how often its guards took the fast path, and how its sizes got
// their plans
PyObject* segments(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const capture::CodeSegments* code : engine().codes)
    for (const auto& place : code->places())
      for (const auto& segment : place->segments) {
        PyObject* row = row_of(*segment);
        if (!list || !row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
      }
  return list;
}

PyObject* cancel(PyObject*, PyObject*) {
  engine().cancelled = true;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"forget", torch_api::border<forget>, METH_O,
     "forget(observer): drops what was compiled for an observer."},
    {"reset", torch_api::border<reset>, METH_NOARGS, "Drops everything that was compiled."},
    {"always_capture", torch_api::border<always_capture>, METH_O,
     "always_capture(function): captures it although it is a library's."},
    {"segments", torch_api::border<segments>, METH_NOARGS,
     "[(name, calls, fast_checks, walks, why_no_backward, backwards, [(sizes, how, why), ...]), ...] of what "
     "is compiled."},
    {"cancel", torch_api::border<cancel>, METH_NOARGS,
     "Ends compilation as soon as possible; what is not compiled runs eagerly."},
    {"configure", torch_api::border<configure>, METH_VARARGS,
     "configure(name, value): a setting of vitrine.config."},
    {"private_folder_problem", torch_api::border<private_folder_problem>, METH_O,
     "private_folder_problem(path): makes the folder for this user alone; None, or why it cannot be used."},
    {"edited_kernels", torch_api::border<edited_kernels>, METH_NOARGS,
     "The pairs that edit_kernel was given."},
    {"edit_kernel", torch_api::border<edit_kernel>, METH_VARARGS,
     "edit_kernel(generated, edited): a kernel's text from now on."},
    {"take_differences", torch_api::border<take_differences>, METH_NOARGS,
     "What checked calls found since the last call."},
    {"kept_programs", torch_api::border<kept_programs>, METH_NOARGS,
     "How many programs were found among those that earlier processes kept."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_api(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
