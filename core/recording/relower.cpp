#include "core/recording/relower.h"

#include <unordered_set>

#include "core/recording/replay.h"
#include "core/torch_api/api.h"

namespace vitrine::torch_api {

namespace {

class Relowering {
 public:
  Relowering(const Lowering::Graphs& from, NewSizes& sizes, Lowering& into)
      : graphs_(from), program_(*from.replay), sizes_(sizes), into_(into) {
    slots_.resize(static_cast<size_t>(program_.slots));
    integers_ = [this](int number) { return sizes_.argument(number); };
  }

  Relowered run(const std::vector<PyObject*>& inputs, std::vector<PyObject*>& results) {
    if (!enter(inputs)) return Relowered::Unsure;
    std::vector<const ir::Node*> calls;
    for (const ir::Node& n : graphs_.captured->nodes())
      if (n.kind == ir::NodeKind::op) calls.push_back(&n);
    VITRINE_CHECK(calls.size() == program_.calls.size(), "a call of the program has no node");
    for (size_t i = 0; i < calls.size(); ++i)
      if (!ask(i) || !call(program_.calls[i], *calls[i])) return Relowered::Other;
    if (!ask(calls.size())) return Relowered::Other;
    for (int slot : program_.result_slots) results.push_back(slots_[static_cast<size_t>(slot)].get());
    return Relowered::Done;
  }

 private:
  bool enter(const std::vector<PyObject*>& inputs) {
    std::vector<const ir::Node*> nodes = graphs_.captured->inputs();
    std::unordered_set<PyObject*> seen;
    VITRINE_CHECK(nodes.size() >= inputs.size() && nodes.size() <= program_.input_slots.size(),
                  "a program's inputs are not its graph's");
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool constant = i >= inputs.size();
      PyObject* real = constant ? graphs_.constants.at(i - inputs.size()) : inputs[i];
      if (!seen.insert(real).second) return false;
      const ir::TensorType* as = constant ? nullptr : sizes_.type_of_input(i);
      auto entered = constant ? into_.constant(real)
                     : as     ? into_.symbolic_input(real, nodes[i]->kind, nodes[i]->source, *as)
                              : into_.input(real, nodes[i]->kind, nodes[i]->source);
      if (!entered) return false;
      slots_[static_cast<size_t>(program_.input_slots[i])] = PyRef::steal(entered.take());
      objects_.insert(slots_[static_cast<size_t>(program_.input_slots[i])].get());
    }
    return true;
  }

  // What the fake tensor of a question holds, in its place; null: that is not known for these sizes.
  PyRef with_value(PyObject* args) {
    const PyRef real = PyRef::steal(into_.known_value(PyTuple_GET_ITEM(args, 0)));
    return real ? PyRef::steal(PyTuple_Pack(1, real.get())) : PyRef();
  }

  // The questions before a call.
  bool ask(size_t call) {
    for (; next_ < program_.questions.size() && program_.questions[next_].before_call <= call; ++next_) {
      const ReplayQuestion& q = program_.questions[next_];
      if (q.of_data) return false;
      PyRef args = PyRef::steal(fill(q.args, slots_, &integers_));
      if (args && q.of_value) args = with_value(args.get());
      PyRef answer = PyRef::steal(args ? PyObject_Call(q.callable.get(), args.get(), nullptr) : nullptr);
      if (!answer || !sizes_.answered(next_, answer.get())) return false;
    }
    return true;
  }

  bool call(const ReplayCall& call, const ir::Node& node) {
    PyRef args = PyRef::steal(fill(call.args, slots_, &integers_));
    PyRef kwargs;
    if (args && (call.kwargs.object || call.kwargs.has_slot()))
      kwargs = PyRef::steal(fill(call.kwargs, slots_, &integers_));
    if (!args || PyErr_Occurred()) return false;
    Lowering::Outcome outcome =
        into_.call(node.op, call.callable.get(), args.get(), kwargs.get(), node.origin);
    if (outcome.raised) sizes_.fails(node, take_python_error());
    if (outcome.unsupported) sizes_.fails(node, outcome.unsupported->reason);
    if (!outcome.value) return false;
    PyRef result = PyRef::steal(outcome.value);
    const bool same = outcome.captured_nodes == 1 && store(call, result.get());
    if (!same) sizes_.fails(node, "");
    return same;
  }

  // The same tensors at the same places: no more, no fewer; new ones where they were new.
  bool store(const ReplayCall& call, PyObject* result) {
    size_t found = 0;
    bool same = true;
    std::vector<int> path;
    each_leaf(result, path, [&](PyObject* tensor, const std::vector<int>& where) {
      same = same && found < call.outputs.size() && call.outputs[found].first == where;
      if (same) {
        const int before = call.known[found];
        const auto old = objects_.find(tensor);
        same = before < 0 ? old == objects_.end() : slots_[static_cast<size_t>(before)].get() == tensor;
        slots_[static_cast<size_t>(call.outputs[found].second)] = PyRef::borrow(tensor);
        objects_.insert(tensor);
      }
      ++found;
    });
    return same && found == call.outputs.size();
  }

  const Lowering::Graphs& graphs_;
  const ReplayProgram& program_;
  NewSizes& sizes_;
  Lowering& into_;
  std::vector<PyRef> slots_;
  std::unordered_set<PyObject*> objects_;  // of all slots
  Integers integers_;
  size_t next_ = 0;  // question
};

}  // namespace

PyObject* NewSizes::argument(int32_t number) {
  return PyLong_FromLongLong(integer(number));
}
const ir::TensorType* NewSizes::type_of_input(size_t) {
  return nullptr;
}
void NewSizes::fails(const ir::Node&, const std::string&) {}

Relowered relower(const Lowering::Graphs& from, const std::vector<PyObject*>& inputs, NewSizes& sizes,
                  Lowering& into, std::vector<PyObject*>& results) {
  Relowered how = Relowered::Other;
  try {
    how = Relowering(from, sizes, into).run(inputs, results);
  } catch (const InternalError&) {  // an expression that has no value for these sizes
  }
  PyErr_Clear();
  return how;
}

}  // namespace vitrine::torch_api
