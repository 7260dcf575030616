#include "core/recording/replay.h"

#include "core/recording/lowering.h"
#include "core/recording/lowering_guards.h"
#include "core/recording/symbolic_int.h"
#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {

Template constant(PyObject* value) {
  Template t;
  t.object = PyRef::borrow(value);
  return t;
}

// A tuple, list, dict or slice whose children hold no tensor stays a constant.
Template container(Template::Kind kind, PyObject* value, std::vector<Template> children) {
  bool has_slot = false;
  for (const Template& c : children) has_slot = has_slot || c.has_slot();
  if (!has_slot) return constant(value);
  Template t;
  t.kind = kind;
  t.children = std::move(children);
  return t;
}

PyObject* fill_sequence(const Template& t, const std::vector<PyRef>& slots, const Integers* integers) {
  const auto n = static_cast<Py_ssize_t>(t.children.size());
  PyRef out = PyRef::steal(t.kind == Template::Kind::list ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; out && i < n; ++i) {
    PyObject* item = fill(t.children[static_cast<size_t>(i)], slots, integers);
    if (!item) return nullptr;
    if (t.kind == Template::Kind::list)
      PyList_SET_ITEM(out.get(), i, item);
    else
      PyTuple_SET_ITEM(out.get(), i, item);
  }
  if (!out || t.kind != Template::Kind::named) return out.release();
  if (PyObject_HasAttrString(t.object.get(), "_make"))
    return PyObject_CallMethod(t.object.get(), "_make", "O", out.get());
  PyObject* made = PyObject_CallOneArg(t.object.get(), out.get());
  if (made || !integers || !PyErr_ExceptionMatches(PyExc_TypeError)) return made;
  PyErr_Clear();  // a torch.Size takes ints: of what stands for them there is a tuple
  return out.release();
}

PyObject* fill_dict(const Template& t, const std::vector<PyRef>& slots, const Integers* integers) {
  PyRef out = PyRef::steal(PyDict_New());
  for (size_t i = 0; out && i + 1 < t.children.size(); i += 2) {
    PyRef key = PyRef::steal(fill(t.children[i], slots, integers));
    PyRef value = PyRef::steal(key ? fill(t.children[i + 1], slots, integers) : nullptr);
    if (!value || PyDict_SetItem(out.get(), key.get(), value.get()) != 0) return nullptr;
  }
  return out.release();
}

}  // namespace

Template make_template(PyObject* value, const std::function<int(PyObject*)>& slot) {
  if (is_tensor(value)) {
    const int index = slot(value);
    if (index < 0) return constant(value);
    Template t;
    t.kind = Template::Kind::slot;
    t.slot = index;
    return t;
  }
  if (const int32_t number = symbolic_number(value); number >= 0) {
    Template t = constant(value);
    t.kind = Template::Kind::integer;
    t.object = PyRef::steal(PyNumber_Long(value));
    t.slot = number;
    return t;
  }
  std::vector<Template> children;
  if (PyTuple_Check(value) || PyList_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      children.push_back(make_template(PySequence_Fast_GET_ITEM(value, i), slot));
    if (PyList_CheckExact(value)) return container(Template::Kind::list, value, std::move(children));
    if (PyTuple_CheckExact(value)) return container(Template::Kind::tuple, value, std::move(children));
    Template t = container(Template::Kind::named, value, std::move(children));
    if (t.has_slot()) t.object = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    return t;
  }
  if (PyDict_CheckExact(value)) {
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);) {
      children.push_back(constant(key));
      children.push_back(make_template(item, slot));
    }
    return container(Template::Kind::dict, value, std::move(children));
  }
  if (PySlice_Check(value)) {
    auto* s = reinterpret_cast<PySliceObject*>(value);
    for (PyObject* part : {s->start, s->stop, s->step}) children.push_back(make_template(part, slot));
    return container(Template::Kind::slice, value, std::move(children));
  }
  return constant(value);
}

PyObject* fill(const Template& t, const std::vector<PyRef>& slots, const Integers* integers) {
  switch (t.kind) {
    case Template::Kind::constant:
      return PyRef(t.object).release();
    case Template::Kind::integer:
      return integers ? (*integers)(t.slot) : PyRef(t.object).release();
    case Template::Kind::slot:
      return PyRef(slots[static_cast<size_t>(t.slot)]).release();
    case Template::Kind::dict:
      return fill_dict(t, slots, integers);
    case Template::Kind::slice: {
      PyRef parts[3];
      for (size_t i = 0; i < 3; ++i) {
        parts[i] = PyRef::steal(fill(t.children[i], slots, integers));
        if (!parts[i]) return nullptr;
      }
      return PySlice_New(parts[0].get(), parts[1].get(), parts[2].get());
    }
    default:
      return fill_sequence(t, slots, integers);
  }
}

void each_leaf(PyObject* value, std::vector<int>& path,
               const std::function<void(PyObject*, const std::vector<int>&)>& f) {
  if (is_tensor(value)) return f(value, path);
  const bool dict = PyDict_CheckExact(value);
  if (!dict && !PyTuple_Check(value) && !PyList_Check(value)) return;
  // A dict is walked as the list of its values: insertion order is part of what a call returns.
  PyRef values = dict ? PyRef::steal(PyDict_Values(value)) : PyRef::borrow(value);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(values.get()); ++i) {
    path.push_back(static_cast<int>(i));
    each_leaf(PySequence_Fast_GET_ITEM(values.get(), i), path, f);
    path.pop_back();
  }
}

PyObject* leaf_at(PyObject* value, const std::vector<int>& path) {
  for (int step : path) {
    PyRef values = PyDict_CheckExact(value) ? PyRef::steal(PyDict_Values(value)) : PyRef::borrow(value);
    if (!PyTuple_Check(values.get()) && !PyList_Check(values.get())) return nullptr;
    if (step >= PySequence_Fast_GET_SIZE(values.get())) return nullptr;
    value = PySequence_Fast_GET_ITEM(values.get(), step);
  }
  return is_tensor(value) ? value : nullptr;
}

struct Replayer::State {
  Lowering::Graphs graphs;
  std::vector<std::vector<int>> dead_after;  // by call: slots that nobody needs any more
  std::vector<PyRef> integers;               // by number; empty: as at capture
};

namespace {
void each_slot(const Template& t, const std::function<void(int)>& f) {
  if (t.kind == Template::Kind::slot) f(t.slot);
  for (const Template& c : t.children) each_slot(c, f);
}

}  // namespace

Replayer::Replayer(Lowering::Graphs graphs, std::vector<PyObject*> integers)
    : state_(std::make_unique<State>()) {
  state_->graphs = std::move(graphs);
  for (PyObject* one : integers) state_->integers.push_back(PyRef::borrow(one));
  const ReplayProgram& p = *state_->graphs.replay;
  std::vector<int> last(static_cast<size_t>(p.slots), -1);
  for (size_t i = 0; i < p.calls.size(); ++i) {
    auto use = [&](int slot) { last[static_cast<size_t>(slot)] = static_cast<int>(i); };
    each_slot(p.calls[i].args, use);
    each_slot(p.calls[i].kwargs, use);
    for (const auto& [path, slot] : p.calls[i].outputs) use(slot);
  }
  for (int slot : p.result_slots) last[static_cast<size_t>(slot)] = -1;
  state_->dead_after.resize(p.calls.size());
  for (size_t slot = 0; slot < last.size(); ++slot)
    if (last[slot] >= 0)
      state_->dead_after[static_cast<size_t>(last[slot])].push_back(static_cast<int>(slot));
}

Replayer::~Replayer() = default;

const ir::GraphPtr& Replayer::graph() const {
  return state_->graphs.captured;
}

bool Replayer::run(const std::vector<PyObject*>& inputs, std::vector<PyObject*>& outputs) const {
  const ReplayProgram& p = *state_->graphs.replay;
  const ModesAsBefore modes;
  std::vector<PyRef> slots(static_cast<size_t>(p.slots));
  VITRINE_CHECK(inputs.size() >= p.input_slots.size(), "a replay needs every input");
  for (size_t i = 0; i < p.input_slots.size(); ++i)
    slots[static_cast<size_t>(p.input_slots[i])] = PyRef::borrow(inputs[i]);
  const Integers now = [this](int number) {
    return PyRef(state_->integers.at(static_cast<size_t>(number))).release();
  };
  const Integers* integers = state_->integers.empty() ? nullptr : &now;
  for (size_t i = 0; i < p.calls.size(); ++i) {
    const ReplayCall& call = p.calls[i];
    PyRef args = PyRef::steal(fill(call.args, slots, integers));
    PyRef kwargs = PyRef::steal(args && call.kwargs.object ? fill(call.kwargs, slots, integers) : nullptr);
    if (args && !kwargs && call.kwargs.has_slot()) kwargs = PyRef::steal(fill(call.kwargs, slots, integers));
    if (PyErr_Occurred()) return false;
    PyRef result = PyRef::steal(PyObject_Call(call.callable.get(), args.get(), kwargs.get()));
    if (!result) return false;
    for (const auto& [path, slot] : call.outputs) {
      PyObject* leaf = leaf_at(result.get(), path);
      if (!leaf) {
        PyErr_SetString(PyExc_RuntimeError, "a replayed call returned something of another shape");
        return false;
      }
      slots[static_cast<size_t>(slot)] = PyRef::borrow(leaf);
    }
    args = PyRef();
    result = PyRef();
    for (int dead : state_->dead_after[i]) slots[static_cast<size_t>(dead)] = PyRef();
  }
  for (int slot : p.result_slots) outputs.push_back(PyRef(slots[static_cast<size_t>(slot)]).release());
  return true;
}

}  // namespace vitrine::torch_api
