// One call of the traced program: run over fake tensors, recorded, or refused.
#include <algorithm>
#include <unordered_set>

#include "core/ops/node.h"
#include "core/recording/absent_gpu.h"
#include "core/recording/known_masks.h"
#include "core/recording/lowering_guards.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/convert.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"
#include "core/torch_api/warning_watch.h"

namespace vitrine::torch_api {

namespace {

// A tensor made in the recording that gets other sizes itself, while views of it are there: what they view is
// it, which is no view. Made again behind the graph it would be one.
void refuse_turned(Recording& recording, const std::string& name, PyObject* args) {
  static const std::unordered_set<std::string> kTurning = {
      "Tensor.t_",         "Tensor.transpose_", "Tensor.swapaxes_",  "Tensor.swapdims_",
      "Tensor.unsqueeze_", "Tensor.squeeze_",   "Tensor.as_strided_"};
  if (!kTurning.contains(name) || PyTuple_GET_SIZE(args) == 0) return;
  const int index = recording.find(PyTuple_GET_ITEM(args, 0));
  if (index >= 0 && recording.storage_of_tensor(index).tensors.size() > 1)
    stop("unsupported_operator", name + " of a tensor that others share memory with");
}

// Memory that is not a tensor's: its content may change between calls, unseen by any guard.
void refuse_arrays(PyObject* value) {
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      refuse_arrays(PySequence_Fast_GET_ITEM(value, i));
    return;
  }
  // Classes derived from them as well: numpy.memmap.
  for (const PyTypeObject* type = Py_TYPE(value); type; type = type->tp_base)
    if (const std::string_view name = type->tp_name; name == "numpy.ndarray" || name == "array.array" ||
                                                     PyByteArray_Check(value) || PyMemoryView_Check(value))
      stop("unsupported_value", "a " + std::string(Py_TYPE(value)->tp_name) + " is read",
           "Make it a tensor outside the compiled function.");
}

bool has_attention(Recording& recording, const Recording::Mark& mark) {
  const auto& nodes = recording.aten_nodes();
  return std::any_of(nodes.begin() + static_cast<std::ptrdiff_t>(mark.aten), nodes.end(), ops::is_attention);
}

// The tensors into which a call is told to write its results, and their versions.
using Outs = std::vector<std::pair<PyObject*, std::optional<uint32_t>>>;
Outs outs_of(PyObject* kwargs) {
  Outs out;
  std::vector<int> path;
  PyObject* given = kwargs ? PyDict_GetItemString(kwargs, "out") : nullptr;
  if (given)
    each_leaf(given, path,
              [&](PyObject* t, const std::vector<int>&) { out.emplace_back(t, version(handle_of(t))); });
  return out;
}
// Some of PyTorch's composite operators write elsewhere under a dispatch mode.
void refuse_unwritten(const std::string& name, const Outs& outs) {
  for (const auto& [tensor, before] : outs)
    if (before && version(handle_of(tensor)) == before && type_of(tensor).numel() > 0)
      stop("unsupported_operator", name + " leaves its out= as it was when it is recorded");
}

// PyTorch's linear layer adds its bias in place, but out of place under a dispatch mode: eager's result was
// written to once more.
void count_bias(Recording& recording, const std::string& name, PyObject* result,
                const Recording::Mark& mark) {
  const auto& nodes = recording.aten_nodes();
  if (!name.ends_with("linear") || nodes.size() == mark.aten || nodes.back().op != "aten.add.Tensor") return;
  const int index = is_tensor(result) ? recording.find(result) : -1;
  if (index >= 0 && recording.at(index).aten == ir::Ref{nodes.back().id, 0}) bump_version(handle_of(result));
}

// Whether the error that is set is PyTorch's, that a tensor has expressions for sizes.
bool wants_numbers() {
  PendingError error;
  const bool wants = error.text().find("with symbolic sizes/strides") != std::string::npos;
  error.restore();
  return wants;
}

// What runs in a function's place where sizes are expressions.
PyRef of_expressions(PyObject* callable) {
  PyObject* other = PyDict_GetItemWithError(kept(Name::composites_of_expressions), callable);
  PyErr_Clear();
  return PyRef::borrow(other ? other : callable);
}

}  // namespace

PyObject* Lowering::state_call(const std::string& name, PyObject* callable, PyObject* args,
                               const ir::Origin& origin) {
  State& s = *state_;
  const AutocastState before = s.autocast;
  const AttentionChoice attention_before = s.attention;
  PyRef result;
  {
    AutocastGuard guard(s.autocast);
    AttentionGuard attention(s.attention);
    result = PyRef::steal(PyObject_CallObject(callable, args));
  }
  if (!result) return nullptr;
  AutocastState changed = before;
  changed.nesting = s.autocast.nesting;
  const bool clears = name == "torch.clear_autocast_cache";
  s.autocast_changed = s.autocast_changed || s.autocast != before;
  if (changed != s.autocast || s.attention != attention_before || clears) {
    s.recording.begin_call(origin);
    Outcome outcome;
    s.add_captured(name, callable, args, nullptr, origin, Py_None, outcome, true,
                   s.recording.aten_nodes().size());
  }
  return result.release();
}

// The call raised: because of us, because data was wanted, or because the user's program does.
void Lowering::State::failed(const std::string& name, Outcome& outcome) {
  if (dispatch.stopped) {
    PyErr_Clear();
    outcome.unsupported = std::exchange(dispatch.stopped, std::nullopt);
    return;
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyRef shown = PyRef::steal(value ? PyObject_Str(value) : nullptr);
  const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
  const bool data = utf8 && is_missing_memory(utf8);
  const bool no_kernel = type == PyExc_NotImplementedError && recording.as_if() && !gpu_is_here();
  PyErr_Restore(type, value, trace);
  if (no_kernel) {
    PyErr_Clear();
    outcome.unsupported = Unsupported{"unsupported_operator",
                                      name + " can be recorded only where the GPU is, for PyTorch's kernel",
                                      "Record it on a machine with that GPU."};
    return;
  }
  if (!data) {
    outcome.raised = true;
    return;
  }
  PyErr_Clear();
  outcome.unsupported =
      Unsupported{"scalar_read", name + " reads a tensor's data",
                  "Keep the value as a tensor; its data exists only when the program runs."};
}

// What a call warns of is given when it runs, under the filters of then: it has no place in a graph. What
// PyTorch says once a process may have been said: then the call is silent from now on. Whether it has shows
// in calling again, which says it; so it is said to the program, unless a filter would make an error of it,
// which must come where the call stands.
Lowering::Outcome Lowering::call(const std::string& name, PyObject* callable, PyObject* args,
                                 PyObject* kwargs, const ir::Origin& origin) {
  PyRef warned, silent;
  const State::Asked asked{name, callable, args, kwargs, origin};
  Outcome outcome = state_->attempt(asked, WarningWatch::Once::Again, warned);
  // Some composites in C++ want numbers for sizes; those in Python do not.
  if (outcome.raised && state_->recording.symbols && wants_numbers()) {
    PyErr_Clear();
    state_->python_composites = true;
    outcome = state_->attempt(asked, WarningWatch::Once::Again, warned);
    state_->python_composites = false;
  }
  const bool only_warns = warned && outcome.unsupported && outcome.unsupported->kind == "warning";
  if (!only_warns || a_filter_raises()) return outcome;
  warned = PyRef();
  outcome = state_->attempt(asked, WarningWatch::Once::AsEver, warned);
  if (!warned) return outcome;
  outcome = state_->attempt(asked, WarningWatch::Once::AsEver, silent);
  if (!silent) give_warnings(warned.get());
  return outcome;
}

// What runs code of the program (torch.vmap) finds real tensors in it, in globals and modules: those that
// entered the recording are replaced where PyTorch is given them, above autograd and all transforms.
PyRef Lowering::State::run(PyObject* callable, PyObject* args, PyObject* kwargs) {
  PyObject* dict =
      PyFunction_Check(callable) ? reinterpret_cast<PyFunctionObject*>(callable)->func_dict : nullptr;
  if (!dict || !PyDict_GetItemString(dict, "runs_program"))
    return PyRef::steal(PyObject_Call(callable, args, kwargs));
  const PyRef inputs = recording.inputs_by_object();
  return torch_api::call(Name::among_fake_tensors, "OOOO", inputs.get(), callable, args,
                         kwargs ? kwargs : Py_None);
}

bool Lowering::State::for_absent_gpu() const {
  return recording.as_if() && !gpu_is_here();
}

// In the modes that the program has set by now, under our dispatch mode.
PyRef Lowering::State::run_in_modes(PyObject* callable, const Asked& asked, WarningWatch::Once once,
                                    PyRef& warned) {
  GradModeGuard grad(grad_mode);
  AutocastGuard casts(autocast);
  AttentionWays ways(attention, for_any_size);
  const PythonComposites composites(python_composites);
  ModeGuard guard(mode.get());
  const WarningWatch watch(asked.callable, once);
  PyRef result = guard.active() ? run(callable, asked.args, asked.kwargs) : PyRef();
  if (watch.seen()) warned = PyRef::borrow(watch.messages());
  return result;
}

bool Lowering::State::record(const Asked& asked, WarningWatch::Once once, PyRef& warned,
                             const Recording::Mark& mark, Outcome& outcome) {
  const Modes before = modes();
  const auto& [name, callable, args, kwargs, origin] = asked;
  recording.begin_call(origin);
  auto known = [&](PyObject* t) { return leaf_slot(t); };
  (void)make_template(args, known);
  refuse_arrays(args);
  refuse_turned(recording, name, args);
  if (kwargs) (void)make_template(kwargs, known);
  const Outs outs = outs_of(kwargs);
  const PreservedComposite* whole = preserved_composite(callable);
  const bool is_attention = whole && !whole->recurrent;
  const AttentionCall attention_call =
      is_attention ? without_known_mask(recording, args, kwargs) : AttentionCall{};
  PyObject *run_args = is_attention ? attention_call.args.get() : args,
           *run_kwargs = is_attention ? attention_call.kwargs.get() : kwargs;
  const PyRef run_callable = for_absent_gpu()    ? chosen_for(architecture, for_any_size, name, callable)
                             : recording.symbols ? of_expressions(callable)
                                                 : PyRef::borrow(callable);
  const Asked run_asked{name, callable, run_args, run_kwargs, origin};
  const bool of_expressions = is_recurrence_of_expressions(whole, args);
  const DataComposite* of_data = data_composite(callable, args, kwargs);
  PyRef result = of_data          ? by_stand_ins(*of_data, run_asked)
                 : of_expressions ? recurrence_of_expressions(*whole, run_asked, once, warned)
                                  : run_in_modes(run_callable.get(), run_asked, once, warned);
  if (result && warned && !dispatch.stopped)
    stop("warning", name + " warns: " + text_of_warning(warned.get()));
  if (!result || dispatch.stopped) {
    failed(name, outcome);
    return false;
  }
  refuse_inference_inputs(name, args, result.get());
  refuse_unwritten(name, outs);
  count_bias(recording, name, result.get(), mark);
  if (whole && !of_expressions && !of_data) collapse(*whole, run_args, run_kwargs, result.get(), mark);
  if (is_attention && is_tensor(result.get()) && requires_grad(result.get()) && for_absent_gpu() &&
      !has_attention(recording, mark))
    recording.effects.chosen_on_gpu = python_name(whole->function).attribute;
  if (name == kSetData)
    recording.share_data(recording.find(PyTuple_GET_ITEM(args, 0)),
                         recording.find(PyTuple_GET_ITEM(args, 1)));
  const bool state_changed = !(before == modes()) || name == "torch.clear_autocast_cache";
  add_captured(name, callable, args, kwargs, origin, result.get(), outcome, state_changed, mark.aten);
  if (outcome.captured_nodes == 0) recording.undo_ids(mark);
  outcome.operators = recording.aten_nodes().size() - mark.aten;
  outcome.value = result.release();
  return true;
}

Lowering::Outcome Lowering::State::attempt(const Asked& asked, WarningWatch::Once once, PyRef& warned) {
  Outcome outcome;
  const Recording::Mark mark = recording.mark();
  const Modes before = modes();
  dispatch.stopped.reset();
  try {
    if (record(asked, once, warned, mark, outcome)) return outcome;
  } catch (const Stop& reason) {
    PyErr_Clear();
    outcome.unsupported = reason.why;
  }
  recording.undo(mark);
  grad_mode = before.grad;
  autocast = before.autocast;
  attention = before.attention;
  if (autocast.cache) clear_autocast_cache();  // casts of weights that are no longer in the recording
  return outcome;
}

}  // namespace vitrine::torch_api
