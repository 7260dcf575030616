#include "core/capture/segment/plan_call.h"

#include <algorithm>
#include <optional>

#include "core/capture/objects/owned.h"
#include "core/ops/node.h"
#include "core/recording/view_program.h"
#include "core/torch_api/bridge.h"

namespace vitrine::capture {

namespace {

// The operator that made the tensor which a node gives; nullptr: it is an input. One that writes hands back
// what it was given.
const ir::Node* maker_of(const ir::Graph& graph, const ir::Node* node) {
  while (node->kind == ir::NodeKind::op && ops::writes(*node)) {
    const std::vector<ir::Ref> back = ops::aliased(*node);
    if (back.size() != 1) break;
    node = &graph.node(back[0].node);
  }
  return node->kind == ir::NodeKind::op ? node : nullptr;
}

// That of each result; nullptr also where there is no graph.
std::vector<const ir::Node*> makers(const Trace& trace, size_t results) {
  std::vector<const ir::Node*> out(results, nullptr);
  if (!trace.graphs.aten) return out;
  const auto& refs = trace.graphs.aten->results();
  for (size_t i = 0; i < std::min(results, refs.size()); ++i) {
    if (!refs[i].is<ir::Ref>()) continue;
    out[i] = maker_of(*trace.graphs.aten, &trace.graphs.aten->node(refs[i].as<ir::Ref>().node));
  }
  return out;
}

bool is_view(const ir::Node* maker) {
  return maker && !ops::writes(*maker) && !ops::aliased(*maker).empty();
}

// Another object on the same memory, as the program's own operator makes one: what detach() gives is no view
// that PyTorch would tell of, and view() alone computes the strides of dims of size 1 anew. Outside autograd
// only, where they are alike otherwise.
PyObject* alias_of(PyObject* tensor, const ir::Node* maker) {
  if (maker && maker->op == "aten.detach.default") return PyObject_CallMethod(tensor, "detach", nullptr);
  if (maker && maker->op == "aten.view.default") return PyObject_CallMethod(tensor, "view_as", "O", tensor);
  return PyObject_CallMethod(tensor, "__getitem__", "O", Py_Ellipsis);
}

// Views that change nothing were folded away, so that two results of the program, or a result and an input,
// may have become one tensor. The program made them distinct objects: each is one again, and a view where it
// was made as one.
bool make_distinct(const Trace& trace, std::span<PyObject* const> inputs, std::vector<PyObject*>& results) {
  std::vector<const ir::Node*> made_by;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto here = results.begin() + static_cast<std::ptrdiff_t>(i);
    const auto earlier = std::find(results.begin(), here, results[i]);
    const bool is_input = std::find(inputs.begin(), inputs.end(), results[i]) != inputs.end();
    if ((earlier == here && !is_input) || !torch_api::is_tensor(results[i])) continue;
    if (made_by.empty()) made_by = makers(trace, results.size());
    auto at = static_cast<size_t>(earlier - results.begin());
    if (is_input || !is_view(made_by[at]) || is_view(made_by[i])) at = i;
    PyObject* alias = alias_of(results[i], made_by[at]);
    if (!alias) return false;
    Py_DECREF(results[at]);
    results[at] = alias;
  }
  return true;
}

}  // namespace

bool use_up(const Trace& trace, std::span<PyObject* const> inputs, std::vector<PyObject*>& results) {
  if (!trace.differentiates) return true;
  std::vector<bool> wanted = trace.consumed;
  for (size_t i = 0; i < results.size(); ++i)
    wanted[i] = wanted.at(i) && !torch_api::requires_grad(results[i]);
  PyRef list(PyList_New(0));
  for (size_t i = 0; list && i < results.size(); ++i)
    if (wanted[i] && PyList_Append(list.get(), results[i]) < 0) return false;
  if (!list || PyList_GET_SIZE(list.get()) == 0) return static_cast<bool>(list);
  PyRef from(PyList_New(0));
  for (PyObject* o : inputs)
    if (from && torch_api::is_tensor(o) && PyList_Append(from.get(), o) < 0) return false;
  const PyRef made = from ? call(Name::consumed, "OO", list.get(), from.get()) : PyRef();
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
  std::optional<torch_api::NoGradScope> no_grad;
  if (trace.differentiates) no_grad.emplace();
  return plan.run(inputs.data(), inputs.size(), results, times);
}

bool tell_apart(const Trace& trace, const torch_api::ViewProgram* views, std::span<PyObject* const> inputs,
                std::vector<PyObject*>& results) {
  std::optional<torch_api::NoGradScope> no_grad;
  if (trace.differentiates) no_grad.emplace();
  if (!views) return make_distinct(trace, inputs, results);
  std::vector<PyObject*> given(inputs.begin(), inputs.end()), made;
  given.insert(given.end(), results.begin(), results.end());
  if (!views->run(given, made)) return false;
  for (PyObject* o : results) Py_DECREF(o);
  results = std::move(made);
  return true;
}

bool finish_results(const Trace& trace, const torch_api::ViewProgram* views,
                    std::span<PyObject* const> inputs, std::vector<PyObject*>& results) {
  return tell_apart(trace, views, inputs, results) && use_up(trace, inputs, results);
}

}  // namespace vitrine::capture
