// Passes of the user's own, and who sees the graphs of a compilation stage by stage.
#include <Python.h>

#include <memory>

#include "core/capture/hook.h"
#include "core/capture/objects/owned.h"
#include "core/pipeline/user_pass.h"
#include "core/python/engine_state.h"
#include "core/python/graph_facts.h"
#include "core/python/parts.h"
#include "core/torch_api/border.h"

namespace vitrine::python {
namespace {

using capture::PyRef;
using pipeline::UserPass;

std::shared_ptr<PyObject> held(PyObject* callable) {
  Py_INCREF(callable);
  return {callable, [](PyObject* o) { Py_DECREF(o); }};
}

// The callable's answer for a graph; what it runs is not captured. Null: a Python error is set.
PyRef answer(PyObject* callable, const ir::Graph& graph) {
  const capture::PauseCapture off;
  const PyRef facts(python_graph(graph));
  return facts ? PyRef(PyObject_CallOneArg(callable, facts.get())) : PyRef();
}

Error failed() {
  return Error{"raised " + torch_api::take_python_error(), "", ""};
}

bool read_from(PyObject* from, UserPass::Made& made) {
  PyObject *name = nullptr, *names = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(from, &at, &name, &names);) {
    const PyRef list(PySequence_List(names));
    if (!list) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
      made.from[capture::text_of(name)].push_back(capture::text_of(PyList_GET_ITEM(list.get(), i)));
  }
  return true;
}

// None: it changed nothing; (text, from); or (what it raised, where) of a pass that failed.
Result<UserPass::Made> made_of(PyObject* callable, const ir::Graph& graph) {
  const PyRef said = answer(callable, graph);
  if (!said) return failed();
  UserPass::Made made;
  if (said.get() == Py_None) return made;
  const char *text = nullptr, *where = nullptr;
  PyObject* from = nullptr;
  if (PyArg_ParseTuple(said.get(), "ss", &text, &where)) return Error{text, "", where};
  PyErr_Clear();
  if (!PyArg_ParseTuple(said.get(), "sO!", &text, &PyDict_Type, &from) || !read_from(from, made))
    return failed();
  made.text = text;
  return made;
}

// set_passes([(name, place, after, key, callable), ...]): the passes of the user's, in order.
PyObject* set_passes(PyObject*, PyObject* list) {
  const PyRef rows(PySequence_Fast(list, "set_passes takes a list"));
  if (!rows) return nullptr;
  auto passes = std::make_shared<pipeline::UserPasses>();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(rows.get()); ++i) {
    const char *name = nullptr, *place = nullptr, *after = nullptr, *key = nullptr;
    PyObject* callable = nullptr;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(rows.get(), i), "ssssO", &name, &place, &after, &key,
                          &callable))
      return nullptr;
    if (const std::string wrong = pipeline::cannot_run_after(after); !wrong.empty())
      return PyErr_Format(PyExc_ValueError, "vitrine.register_pass: %s", wrong.c_str());
    const auto run = [pass = held(callable)](const ir::Graph& graph) { return made_of(pass.get(), graph); };
    passes->push_back({name, place, after, key, run});
  }
  engine().config.user_passes = passes->empty() ? nullptr : std::move(passes);
  Py_RETURN_NONE;
}

// observe_stages(callable or None): called with the graph of each stage that is made from now on. What it
// raises is shown and goes no further.
PyObject* observe_stages(PyObject*, PyObject* callable) {
  engine().config.stages = nullptr;
  if (callable == Py_None) Py_RETURN_NONE;
  engine().config.stages =
      std::make_shared<const runtime::StageObserver>([observer = held(callable)](const ir::GraphPtr& graph) {
        if (!answer(observer.get(), *graph)) PyErr_WriteUnraisable(observer.get());
      });
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"set_passes", torch_api::border<set_passes>, METH_O, "The passes of the user's own, in order."},
    {"observe_stages", torch_api::border<observe_stages>, METH_O,
     "Who is called with the graph of each stage; None: nobody."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_passes(PyObject* module) {
  PyModule_AddFunctions(module, kMethods);
}

}  // namespace vitrine::python
