#include "core/capture/segment/check.h"
#include "core/capture/segment/plan_call.h"

#include "core/ir/print.h"

namespace vitrine::capture {

namespace {

PyRef list_of(const std::vector<PyObject*>& objects) {
  PyRef list(PyList_New(static_cast<Py_ssize_t>(objects.size())));
  for (size_t i = 0; list && i < objects.size(); ++i) {
    Py_INCREF(objects[i]);
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), objects[i]);
  }
  return list;
}

std::vector<PyObject*> items_of(const PyRef& list) {
  std::vector<PyObject*> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) out.push_back(PyList_GET_ITEM(list.get(), i));
  return out;
}

// A list of copies that share storages as the originals do; nothing if they cannot be copied.
PyRef copies(const PyRef& list) {
  PyRef out = list ? call(Name::check_copies, "O", list.get()) : PyRef();
  PyErr_Clear();
  return out && PyList_Check(out.get()) ? std::move(out) : PyRef();
}

std::string take_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef a(type), b(value), c(trace);
  PyRef text(value ? PyObject_Str(value) : nullptr);
  PyErr_Clear();
  return text ? text_of(text.get()) : "an error";
}

// Compares, and on a difference fills `check`.
void compare(const CheckedCall& call, const PyRef& eager, const PyRef& compiled, const PyRef& inputs,
             const std::string& failure, Check& check) {
  const std::string graph = ir::print(*call.trace.graphs.aten);
  const PyRef found =
      torch_api::call(Name::check_difference, "OOOsss", eager.get(), compiled ? compiled.get() : Py_None,
                      inputs.get(), graph.c_str(), check.cache_dir.c_str(), failure.c_str());
  if (found && PyTuple_Check(found.get()) && PyTuple_GET_SIZE(found.get()) == 2) {
    check.text = text_of(PyTuple_GET_ITEM(found.get(), 0));
    check.reproducer = text_of(PyTuple_GET_ITEM(found.get(), 1));
  } else if (!found) {
    check.text = "the results of a graph could not be compared with eager: " + take_error();
  }
  PyErr_Clear();
}

void use(Results& chosen, std::vector<PyObject*>& results) {
  results = std::move(chosen.all);
  chosen.all.clear();
}

// Nothing is written: eager first, then the compiled graph, on the inputs themselves.
Checked check_pure(const CheckedCall& call, std::vector<PyObject*>& results, Check& check) {
  RandomState random(call.trace.graph_effects.random);
  Results eager, compiled;
  const bool fine = call.replayer.run(call.replay_inputs, eager.all);
  if (!fine) PyErr_Clear();
  random.restore();
  if (!fine) return Checked::Failed;
  std::string failure;
  if (!run_plan(call.plan, call.trace, call.plan_inputs, compiled.all, nullptr) ||
      !tell_apart(call.trace, call.views, call.plan_inputs, compiled.all))
    failure = take_error();
  compare(call, list_of(eager.all), failure.empty() ? list_of(compiled.all) : PyRef(),
          list_of(call.plan_inputs), failure, check);
  use(check.text.empty() ? compiled : eager, results);
  return Checked::Ran;
}

// Inputs are written: the compiled graph gets copies, eager the inputs themselves, and both must look alike
// afterwards.
Checked check_writing(const CheckedCall& call, std::vector<PyObject*>& results, Check& check) {
  PyRef originals = list_of(call.plan_inputs);
  PyRef working = copies(originals), before = copies(originals);
  if (!working || !before) return Checked::Impossible;
  RandomState random(call.trace.graph_effects.random);
  Results eager, compiled;
  std::vector<PyObject*> copied = items_of(working);
  std::string failure;
  if (!run_plan(call.plan, call.trace, copied, compiled.all, nullptr) ||
      !tell_apart(call.trace, call.views, copied, compiled.all))
    failure = take_error();
  random.restore();
  if (!call.replayer.run(call.replay_inputs, eager.all)) return Checked::Raised;
  PyRef a = list_of(eager.all), b = list_of(compiled.all);
  for (PyObject* o : call.plan_inputs) PyList_Append(a.get(), o);
  for (PyObject* o : copied) PyList_Append(b.get(), o);
  compare(call, a, failure.empty() ? std::move(b) : PyRef(), before, failure, check);
  use(eager, results);
  return Checked::Ran;
}

}  // namespace

RandomState::RandomState(bool wanted) {
  if (!wanted) return;
  states_ = call(Name::check_random_states);
  PyErr_Clear();
}

void RandomState::restore() {
  if (!states_) return;
  ErrorAside aside;
  call(Name::check_set_random_states, "(O)", states_.get());
}

Checked run_checked(const CheckedCall& call, std::vector<PyObject*>& results, Check& check) {
  return call.trace.graph_effects.writes_inputs ? check_writing(call, results, check)
                                                : check_pure(call, results, check);
}

}  // namespace vitrine::capture
