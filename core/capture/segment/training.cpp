#include "core/capture/segment/training.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/autodiff/layouts.h"
#include "core/autograd/partial_backward.h"
#include "core/base/once.h"
#include "core/torch_api/border.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/observed_operators.h"
#include "core/torch_api/profiled_range.h"
#include "core/torch_api/run_operators.h"

namespace vitrine::capture {

namespace {

using autodiff::Crossing;
using torch_api::backward_of;
using torch_api::BackwardVariant;
using torch_api::Joint;
using torch_api::whole_backward;

struct Backward {
  std::shared_ptr<runtime::Plan> plan;
  Id compilation = 0;     // 0: not recorded
  bool recorded = false;  // itself, not one for other sizes
};

struct Plans {
  std::shared_ptr<torch_api::JointAtSizes> joint;
  std::shared_ptr<runtime::Plan> forward;
  std::map<BackwardVariant, Backward> backward;  // each compiled at its first use
  runtime::CompileOptions options;
  RegionPlace place;
  bool forward_ran = false;  // at the last call
};

constexpr const char* kCapsule = "vitrine.training";

Plans* plans_of(PyObject* capsule) {
  return static_cast<Plans*>(PyCapsule_GetPointer(capsule, kCapsule));
}

Plans* plans_of_region(PyObject* region) {
  PyRef function(PyObject_GetAttrString(region, "forward"));
  PyObject* capsule =
      function && PyCFunction_Check(function.get()) ? PyCFunction_GetSelf(function.get()) : nullptr;
  Plans* plans = capsule ? plans_of(capsule) : nullptr;
  PyErr_Clear();
  return plans;
}

// A list of what the plan gives. `constants` follow the given inputs. own, by input: the list's reference
// goes over to the plan, and None takes its place.
PyObject* run(runtime::Plan& plan, PyObject* given, const std::vector<torch_api::PyRef>& constants,
              std::vector<runtime::LaunchTime>* times = nullptr, const std::vector<bool>& own = {}) {
  PyRef inputs(PySequence_Fast(given, "inputs of a plan"));
  if (!inputs) return nullptr;
  std::vector<PyObject*> all, results;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(inputs.get()); ++i)
    all.push_back(PySequence_Fast_GET_ITEM(inputs.get(), i));
  for (const torch_api::PyRef& c : constants) all.push_back(c.get());
  std::vector<PyObject*> given_up(own.empty() ? 0 : all.size(), nullptr);
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i]) {
      given_up[i] = Py_NewRef(all[i]);
      PyList_SetItem(inputs.get(), static_cast<Py_ssize_t>(i), Py_NewRef(Py_None));
    }
  if (!plan.run(all.data(), all.size(), results, times, own.empty() ? nullptr : &given_up)) return nullptr;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(results.size()));
  for (size_t i = 0; i < results.size(); ++i)
    if (list)
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), results[i]);
    else
      Py_DECREF(results[i]);
  return list;
}

PyObject* run_forward(PyObject* self, PyObject* inputs) {
  Plans* plans = plans_of(self);
  if (!plans) return nullptr;
  plans->forward_ran = false;
  Engine& engine = plans->place.engine;
  const Id compilation = plans->place.origin.forward.id;
  std::vector<runtime::LaunchTime> times;
  PyObject* results = run(*plans->forward, inputs, plans->joint->any_size().constants,
                          engine.profiles_this(compilation, *plans->forward) ? &times : nullptr);
  engine.note_launches(compilation, times);
  plans->forward_ran = results != nullptr;
  return results;
}

// By value handed over: how it, an input, has not the layout any more that the graph was made for; "": it
// has.
std::vector<std::string> changes(const torch_api::JointAtSizes& joint, PyObject* const* given) {
  const Joint& any = joint.any_size();
  const std::vector<const ir::Node*> inputs = any.halves.backward->inputs();
  std::vector<std::string> out(any.halves.handed_over());
  for (size_t i = 0; i < out.size(); ++i) {
    if (any.halves.crossings[i].kind != Crossing::Kind::input || !torch_api::is_tensor(given[i])) continue;
    const ir::TensorType is = torch_api::type_of(given[i]);
    if (!joint.lies_as(is, inputs[i]->type()))
      out[i] = inputs[i]->name + " was " + inputs[i]->type().text() + " in forward and is " + is.text() +
               " in backward";
  }
  return out;
}

// "" or how the first of the saved inputs.
std::string why_changed(const torch_api::JointAtSizes& joint, PyObject* given) {
  for (std::string& why : changes(joint, PySequence_Fast_ITEMS(given)))
    if (!why.empty()) return std::move(why);
  return "";
}

// The gradients operator by operator through PyTorch, whatever types come: eager's own error, or what eager
// gives. Autograd converts them to their inputs' types.
PyObject* run_changed(const Plans& plans, const ir::GraphPtr& graph, PyObject* given,
                      const std::string& why) {
  auto results = torch_api::run_operators(
      *graph, {PySequence_Fast_ITEMS(given), static_cast<size_t>(PySequence_Fast_GET_SIZE(given))});
  if (!results) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_RuntimeError, "vitrine: a tensor that backward reads has changed: %s (%s)",
                   why.c_str(), results.error().what.c_str());
    return nullptr;
  }
  PyObject* list = PyList_New(0);
  for (const torch_api::PyRef& r : results.value()) PyList_Append(list, r ? r.get() : Py_None);
  return list;
}

// "all", or the results whose gradients are defined: "0, 2"; and whether it goes no further than to other
// results: "2, a piece".
std::string tangents_text(const Joint& joint, const BackwardVariant& asked) {
  const std::vector<bool>& defined = asked.defined;
  std::string out;
  size_t tangent = 0;
  for (size_t i = 0; i < joint.results.size(); ++i) {
    if (!joint.results[i].requires_grad) continue;
    if (defined.at(tangent++)) out += (out.empty() ? "" : ", ") + std::to_string(i);
  }
  if (asked.cut) return out + ", a piece";
  return std::find(defined.begin(), defined.end(), false) == defined.end() ? "all" : out;
}

// Null: there is none for these sizes, or somebody wants to see how it is compiled.
std::shared_ptr<runtime::Plan> sized_backward(const Plans& plans, const BackwardVariant& asked, bool shown) {
  return !shown && plans.place.backward ? plans.place.backward(asked) : nullptr;
}

// Errors: a Python error is set, and nothing is returned.
Backward compile_backward(const Plans& plans, const BackwardVariant& asked) {
  const torch_api::ObservedOperators unseen(false);
  SessionRecording* recording = plans.place.engine.live_recording();
  std::unique_ptr<CompilationRecord> record;
  const std::string tangents = tangents_text(plans.joint->any_size(), asked);
  if (recording) record = recording->begin_backward(plans.place.origin, tangents);
  std::string failure;
  try {
    runtime::CompileOptions options = plans.options;
    options.kept_results = -1;
    options.versions = {};
    options.is_backward = true;
    options.place += ", backward";
    Result<std::shared_ptr<runtime::Plan>> plan = sized_backward(plans, asked, record != nullptr);
    if (!plan.value())
      plan = runtime::compile(backward_of(plans.joint->whole(), asked), options,
                              record ? record->recorder.get() : nullptr);
    if (record) recording->finish(*record, nullptr, plan ? "ok" : "failed", plan ? "" : plan.error().what);
    const Id forward = plans.place.origin.forward.id;
    const Id told = record ? record->row.id : recording ? recording->backward_of(forward, tangents) : 0;
    if (plan) plans.place.engine.tell(*plan.value());
    if (plan) return {plan.take(), told, record != nullptr};
    failure = plan.error().what;
  } catch (const std::exception& error) {
    failure = std::string("the backward graph could not be compiled: ") + error.what();
    if (record) recording->finish(*record, nullptr, "failed", failure);
  }
  PyErr_Format(PyExc_RuntimeError, "vitrine: %s", failure.c_str());
  return {};
}

// What was saved for this backward alone: where nothing asks for the graph again, its memory goes as soon as
// it has been read, as in eager each operator's goes with its own backward.
std::vector<bool> used_up(const Joint& joint, PyObject* given, bool keep) {
  if (keep || !PyList_CheckExact(given)) return {};
  std::vector<bool> own;
  const size_t saved = joint.halves.handed_over();
  for (size_t i = 0; i < saved; ++i) own.push_back(joint.halves.crossings[i].kind == Crossing::Kind::saved);
  return own;
}

PyObject* run_recorded(Plans& plans, const BackwardVariant& asked, PyObject* given, bool keep) {
  Engine& engine = plans.place.engine;
  SessionRecording* recording = engine.live_recording();
  const int64_t start = recording ? recording->now() : 0;
  Backward& backward = plans.backward[asked];
  const bool first = !backward.plan;
  if (first) backward = compile_backward(plans, asked);
  if (!backward.plan) return nullptr;
  const Backward now = backward;  // user code may run in operators and come here again
  std::optional<torch_api::ProfiledRange> range;
  if (torch_api::is_profiled()) range.emplace("Vitrine-Compiled Region: " + plans.place.name + " (backward)");
  std::vector<runtime::LaunchTime> times;
  PyObject* results =
      run(*now.plan, given, {}, engine.profiles(now.compilation, now.plan.get()) ? &times : nullptr,
          used_up(plans.joint->any_size(), given, keep));
  if (!now.compilation) return results;
  engine.note_launches(now.compilation, times);
  if (recording && recording == engine.live_recording())
    recording->call(now.compilation, first ? now.recorded ? "compile" : "sizes" : "hit", start,
                    recording->now() - start);
  return results;
}

std::vector<bool> truths(PyObject* tuple) {
  std::vector<bool> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    out.push_back(PyTuple_GET_ITEM(tuple, i) == Py_True);
  return out;
}

// arguments: (list of saved and tangents, which of the tangents are defined, whether the graph is kept,
// whether the graph is cut). The memory of the other tangents is not read. Of a graph that is not kept, what
// was saved goes out of the list.
PyObject* run_backward(PyObject* self, PyObject* arguments) {
  Plans* plans = plans_of(self);
  PyObject *inputs = nullptr, *flags = nullptr;
  int keep = 1, cut = 0;
  if (!plans || !PyArg_ParseTuple(arguments, "OO!pp", &inputs, &PyTuple_Type, &flags, &keep, &cut))
    return nullptr;
  BackwardVariant asked{{}, cut != 0};
  asked.defined = truths(flags);
  PyRef given(PySequence_Fast(inputs, "inputs of a plan"));
  if (!given) return nullptr;
  if (std::string why = why_changed(*plans->joint, given.get()); !why.empty())
    return run_changed(*plans, backward_of(plans->joint->whole(), asked), given.get(), why);
  return run_recorded(*plans, asked, given.get(), keep != 0);
}

// Gradients that are complete when a backward pass fails, None for the others. arguments: (list of saved and
// tangents, which of the tangents are defined, which an earlier pass has used up; by saved, whether it has
// changed, and whether another tensor is in its place). See torch_api::Failure.
PyObject* run_partial_backward(PyObject* self, PyObject* arguments) {
  const Plans* plans = plans_of(self);
  PyObject *given = nullptr, *defined = nullptr, *used = nullptr, *changed = nullptr, *missing = nullptr;
  if (!plans || !PyArg_ParseTuple(arguments, "O!O!O!O!O!", &PyList_Type, &given, &PyTuple_Type, &defined,
                                  &PyTuple_Type, &used, &PyTuple_Type, &changed, &PyTuple_Type, &missing))
    return nullptr;
  const Joint& joint = plans->joint->whole();
  torch_api::Failure failure{truths(defined), truths(used), truths(changed), truths(missing)};
  const std::vector<std::string> now = changes(*plans->joint, PySequence_Fast_ITEMS(given));
  for (size_t i = 0; i < now.size(); ++i)
    if (!failure.missing.at(i) && !now[i].empty()) failure.changed.at(i) = true;
  const ir::GraphPtr backward = backward_of(joint, {failure.defined, false});
  const ir::GraphPtr part =
      torch_api::part_of(*backward, torch_api::complete_before(joint, *backward, failure));
  return run_changed(*plans, part, given, "a backward pass failed");
}

PyObject* tuple_of_new(const std::vector<PyObject*>& results) {
  PyRef out(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i)
    if (out)
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), results[i]);
    else
      Py_DECREF(results[i]);
  return out.release();
}

// arguments: (inputs and constants, then what forward gave). The program's results.
PyObject* make_views(PyObject* self, PyObject* arguments) {
  const Plans* plans = plans_of(self);
  PyRef list(plans ? PySequence_Fast(arguments, "what views are made of") : nullptr);
  if (!list) return nullptr;
  PyObject** items = PySequence_Fast_ITEMS(list.get());
  std::vector<PyObject*> results;
  if (!plans->joint->views()->run({items, items + PySequence_Fast_GET_SIZE(list.get())}, results))
    return nullptr;
  return tuple_of_new(results);
}

// slots: a list, see ViewProgram::advance.
PyObject* advance_views(PyObject* self, PyObject* slots) {
  const Plans* plans = plans_of(self);
  return plans && plans->joint->views()->advance(slots) ? Py_NewRef(Py_None) : nullptr;
}

// The program's results.
PyObject* finish_views(PyObject* self, PyObject* slots) {
  const Plans* plans = plans_of(self);
  std::vector<PyObject*> results;
  return plans && plans->joint->views()->finish(slots, results) ? tuple_of_new(results) : nullptr;
}

// A tuple of make(item) for each item; `make` gives new references.
template <class Items, class Make>
PyRef tuple_of(const Items& items, Make make) {
  PyRef out(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t i = 0;
  for (const auto& item : items) {
    PyObject* o = out ? make(item) : nullptr;
    if (!o) return {};
    PyTuple_SET_ITEM(out.get(), i++, o);
  }
  return out;
}

PyRef numbers(const auto& values) {
  return tuple_of(values, [](auto n) { return PyLong_FromLongLong(n); });
}

// arguments: (strides, whether the graph is cut). strides: by tangent, a tuple, or None for the graph's own.
// By gradient: a tuple, or None where it lies as the graph says.
PyObject* gradient_layouts(PyObject* self, PyObject* arguments) {
  const Plans* plans = plans_of(self);
  PyObject* strides = nullptr;
  int cut = 0;
  if (!plans || !PyArg_ParseTuple(arguments, "Op", &strides, &cut)) return nullptr;
  PyRef given(PySequence_Fast(strides, "strides of tangents"));
  if (!given) return nullptr;
  const ir::Graph& backward = *whole_backward(plans->joint->any_size(), cut != 0);
  const std::vector<const ir::Node*> inputs = backward.inputs();
  std::map<ir::NodeId, ir::Dims> otherwise;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(given.get(), i);
    if (!PyTuple_Check(item)) continue;
    ir::Dims& own =
        otherwise[inputs.at(plans->joint->any_size().halves.handed_over() + static_cast<size_t>(i))->id];
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(item); ++d)
      own.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(item, d)));
  }
  if (PyErr_Occurred()) return nullptr;
  PyRef out(PyList_New(0));
  const auto put_in = [&](ir::Node& node) { plans->joint->put_in(node); };
  for (const auto& strides_now : autodiff::changed_strides(backward, otherwise, put_in)) {
    if (!out) return nullptr;
    PyRef layout = strides_now ? numbers(*strides_now) : PyRef(Py_NewRef(Py_None));
    if (!layout || PyList_Append(out.get(), layout.get()) < 0) return nullptr;
  }
  return out.release();
}

PyMethodDef kForward = {"forward", torch_api::border<run_forward>, METH_O, nullptr};
PyMethodDef kBackward = {"backward", torch_api::border<run_backward>, METH_VARARGS, nullptr};
PyMethodDef kPartialBackward = {"partial_backward", torch_api::border<run_partial_backward>, METH_VARARGS,
                                nullptr};
PyMethodDef kLayouts = {"layouts", torch_api::border<gradient_layouts>, METH_VARARGS, nullptr};
PyMethodDef kViews = {"views", torch_api::border<make_views>, METH_O, nullptr};
PyMethodDef kAdvance = {"advance", torch_api::border<advance_views>, METH_O, nullptr};
PyMethodDef kFinish = {"finish", torch_api::border<finish_views>, METH_O, nullptr};

}  // namespace

// By tangent: its own piece of the backward graph, then those behind it.
static std::vector<std::vector<int>> pieces(const Joint& joint) {
  std::vector<std::vector<int>> out;
  for (int t = 0; t < static_cast<int>(joint.tangents.size()); ++t) {
    out.push_back({t});
    if (!joint.cut.backward) continue;
    for (int point : joint.cut.behind.at(static_cast<size_t>(t)))
      if (const int behind = joint.cut.tangents.at(static_cast<size_t>(point)); behind >= 0)
        out.back().push_back(behind);
  }
  return out;
}

// Attributes of a region; none once one of them could not be made, for which a Python error is set.
class Keywords {
 public:
  explicit Keywords(PyRef words) : words_(std::move(words)) {}
  void set(const char* name, const PyRef& value) {
    const PyRef key(PyUnicode_InternFromString(name));
    set(key.get(), value);
  }
  void set(PyObject* name, const PyRef& value) {
    if (words_ && (!name || !value || PyDict_SetItem(words_.get(), name, value.get()) < 0)) words_ = {};
  }
  PyObject* get() const { return words_.get(); }

 private:
  PyRef words_;
};

static PyRef numbers_of_each(const auto& lists) {
  return tuple_of(lists, [](const auto& of) { return numbers(of).release(); });
}

static PyRef tangents_of(const torch_api::JointAtSizes& joint) {
  PyObject* const torch = kept(Name::torch);
  return tuple_of(joint.tangents(), [&](const ir::TensorType& t) {
    PyObject* dtype = PyObject_GetAttrString(torch, std::string(ir::dtype_torch_name(t.dtype)).c_str());
    return Py_BuildValue("(NNNs)", numbers(t.sizes).release(), numbers(t.strides).release(), dtype,
                         t.device.text().c_str());
  });
}

static std::span<const Crossing> handed_over(const Joint& j) {
  return {j.halves.crossings.data(), j.halves.handed_over()};
}

// What vitrine._autograd.training.Region says of these sizes.
static void describe_sizes(const torch_api::JointAtSizes& joint, Keywords& out) {
  out.set("viewed_sizes", tuple_of(handed_over(joint.any_size()), [&](const Crossing& c) {
            return c.kind == Crossing::Kind::viewed ? numbers(joint.viewed_sizes(c)).release()
                                                    : Py_NewRef(Py_None);
          }));
  out.set("tangents", tangents_of(joint));
}

// What it says of any.
static void describe(const Joint& j, Keywords& out) {
  out.set("requires_grad",
          tuple_of(j.results, [](const Joint::Result& r) { return PyBool_FromLong(r.requires_grad); }));
  out.set("nodes", tuple_of(j.results, [](const Joint::Result& r) {
            return Py_BuildValue("(sL)", r.node.c_str(), static_cast<long long>(r.place));
          }));
  out.set("saved", tuple_of(handed_over(j), [](const Crossing& c) {
            return Py_BuildValue("(si)", autodiff::crossing_name(c.kind), c.index);
          }));
  out.set("gradients", tuple_of(j.gradients, [](const Joint::Gradient& g) {
            return Py_BuildValue("(iN)", g.input, numbers(g.tangents).release());
          }));
  out.set("conflicts", numbers_of_each(j.conflicts));
  out.set("readers", numbers_of_each(j.readers));
  out.set("behind", numbers_of_each(j.cut.behind));
  out.set("pieces", numbers_of_each(pieces(j)));
  out.set("points", numbers(j.points));
  out.set("before", numbers(j.before));
  out.set("made", numbers(j.made));
  out.set("complete", numbers(j.complete));
  out.set("constants",
          tuple_of(j.constants, [](const torch_api::PyRef& c) { return torch_api::PyRef(c).release(); }));
  out.set("reentrant", PyRef(PyBool_FromLong(j.reentrant)));
}

// What it calls. Those of views are None where the results are the program's own. New sizes come here each
// time, so that names are looked up once.
static void hand_over_functions(PyObject* plans, bool has_views, Keywords& out) {
  static constinit std::array<Once<PyObject*>, 7> names;
  PyMethodDef* const methods[] = {&kForward, &kBackward, &kPartialBackward, &kLayouts,
                                  &kViews,   &kAdvance,  &kFinish};
  for (size_t i = 0; i < std::size(methods); ++i) {
    PyObject* name = names[i].get([&] { return PyUnicode_InternFromString(methods[i]->ml_name); });
    const bool there = has_views || i < 4;
    out.set(name, there ? PyRef(PyCFunction_New(methods[i], plans)) : PyRef(Py_NewRef(Py_None)));
  }
}

// The region of these sizes; nothing where a Python error is set.
static PyRef new_region(const torch_api::JointAtSizes& joint, const std::string& name, Keywords& words) {
  const PyRef region = find(Name::Region), nothing(PyTuple_New(0));
  describe(joint.any_size(), words);
  words.set("name", PyRef(PyUnicode_FromString(name.c_str())));
  return PyRef(region && nothing && words.get() ? PyObject_Call(region.get(), nothing.get(), words.get())
                                                : nullptr);
}

// What a region for other sizes says, but for what is of its sizes alone.
static PyRef words_like(PyObject* other) {
  const PyRef old(PyObject_GenericGetDict(other, nullptr));
  return PyRef(old ? PyDict_Copy(old.get()) : nullptr);
}

// The same as one for other sizes. No code of Python's runs.
static PyRef region_like(PyObject* other, Keywords& words) {
  words.set("layouts_found", PyRef(PyDict_New()));
  const PyRef nothing(PyTuple_New(0));
  if (!nothing || !words.get()) return {};
  PyRef region(PyBaseObject_Type.tp_new(Py_TYPE(other), nothing.get(), nullptr));
  if (region && PyObject_GenericSetDict(region.get(), words.get(), nullptr) < 0) return {};
  return region;
}

PyRef make_region(std::shared_ptr<torch_api::JointAtSizes> joint, std::shared_ptr<runtime::Plan> forward,
                  runtime::CompileOptions options, RegionPlace place) {
  PyObject* const like = place.like && *place.like ? place.like->get() : nullptr;
  Keywords words(like ? words_like(like) : PyRef(PyDict_New()));
  describe_sizes(*joint, words);
  auto plans =
      std::make_unique<Plans>(Plans{joint, std::move(forward), {}, std::move(options), place, false});
  const PyRef capsule(PyCapsule_New(plans.get(), kCapsule, [](PyObject* c) { delete plans_of(c); }));
  if (!capsule) return {};
  plans.release();
  hand_over_functions(capsule.get(), joint->views() != nullptr, words);
  if (like) return region_like(like, words);
  PyRef region = new_region(*joint, place.name, words);
  if (!place.like || !region) return region;
  const PyRef bare(PyObject_CallMethod(region.get(), "bare", nullptr));
  if (!bare) return {};
  *place.like = share(bare.get());
  return region;
}

bool forward_ran(PyObject* region) {
  const Plans* plans = plans_of_region(region);
  return plans && plans->forward_ran;
}

std::vector<std::pair<Id, runtime::GraphFacts>> region_graphs(PyObject* region, Id forward) {
  std::vector<std::pair<Id, runtime::GraphFacts>> out;
  Plans* plans = plans_of_region(region);
  if (!plans) return out;
  out.emplace_back(forward, plans->forward->graph_facts());
  for (const auto& [asked, backward] : plans->backward)
    if (backward.plan && backward.recorded)
      out.emplace_back(backward.compilation, backward.plan->graph_facts());
  return out;
}

}  // namespace vitrine::capture
