#include "core/capture/segment/plan_call.h"

#include <algorithm>
#include <optional>

#include "core/capture/segment/owned.h"
#include "core/torch_bridge/bridge.h"

namespace vitrine::capture {

namespace {

// Views that change nothing were folded away, so that two results of the program, or a result and an input,
// may have become one tensor. The program made them distinct objects: each is one again. Outside autograd
// only, where detach() is a plain alias.
bool tell_apart(std::span<PyObject* const> inputs, std::vector<PyObject*>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const auto before = results.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(results.begin(), before, results[i]) == before &&
        std::find(inputs.begin(), inputs.end(), results[i]) == inputs.end())
      continue;
    if (!torch_bridge::is_tensor(results[i])) continue;
    PyObject* alias = PyObject_CallMethod(results[i], "detach", nullptr);
    if (!alias) return false;
    Py_DECREF(results[i]);
    results[i] = alias;
  }
  return true;
}

}  // namespace

bool use_up(const Trace& trace, std::vector<PyObject*>& results) {
  if (!trace.differentiates) return true;
  std::vector<bool> wanted = trace.consumed;
  for (size_t i = 0; i < results.size(); ++i)
    wanted[i] = wanted.at(i) && !torch_bridge::requires_grad(results[i]);
  Owned list(PyList_New(0));
  for (size_t i = 0; list && i < results.size(); ++i)
    if (wanted[i] && PyList_Append(list.get(), results[i]) < 0) return false;
  if (!list || PyList_GET_SIZE(list.get()) == 0) return static_cast<bool>(list);
  Owned module(PyImport_ImportModule("vitrine._training"));
  Owned made(module ? PyObject_CallMethod(module.get(), "consumed", "O", list.get()) : nullptr);
  if (!made) return false;
  Py_ssize_t next = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!wanted[i]) continue;
    Py_DECREF(results[i]);
    results[i] = Py_NewRef(PyTuple_GET_ITEM(made.get(), next++));
  }
  return true;
}

bool run_plan(runtime::Plan& plan, const Trace& trace, std::span<PyObject* const> inputs,
              std::vector<PyObject*>& results, std::vector<runtime::LaunchTime>* times) {
  std::optional<torch_bridge::NoGradScope> no_grad;
  if (trace.differentiates) no_grad.emplace();
  return plan.run(inputs.data(), inputs.size(), results, times);
}

bool finish_results(const Trace& trace, std::span<PyObject* const> inputs, std::vector<PyObject*>& results) {
  {
    std::optional<torch_bridge::NoGradScope> no_grad;
    if (trace.differentiates) no_grad.emplace();
    if (!tell_apart(inputs, results)) return false;
  }
  return use_up(trace, results);
}

}  // namespace vitrine::capture
