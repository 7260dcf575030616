#include "core/recording/view_program.h"

#include <algorithm>
#include <map>

#include "core/ir/each_integer.h"
#include "core/ir/substitute.h"
#include "core/torch_api/bridge.h"

namespace vitrine::torch_api {

namespace {

// The node with slots for what it reads.
ir::Node reading_slots(ir::Node node, const std::function<int32_t(ir::Ref)>& slot_of) {
  const auto slot = [&](ir::Ref ref) { return ir::Arg(ir::Ref{static_cast<ir::NodeId>(slot_of(ref)), 0}); };
  for (ir::Arg& arg : node.args) arg = ir::map_refs(arg, slot);
  for (auto& [name, arg] : node.kwargs) arg = ir::map_refs(arg, slot);
  return node;
}

}  // namespace

Result<std::unique_ptr<ViewProgram>> ViewProgram::make(const ViewReplay& views,
                                                       const std::vector<ir::Node>& leading) {
  auto out = std::make_unique<ViewProgram>();
  std::map<ir::Ref, int32_t> slots;
  const auto add = [&](ir::Ref ref) { slots[ref] = static_cast<int32_t>(out->slots_++); };
  for (const ir::Node& n : leading) add({n.id, 0});
  for (ir::Ref ref : views.region_roots) add(ref);
  out->given_ = out->slots_;
  const auto slot_of = [&](ir::Ref ref) { return slots.at(ref); };
  for (const ir::Node& n : views.steps) {
    Step& step = out->steps_.emplace_back();
    step.node = std::make_shared<const ir::Node>(reading_slots(n, slot_of));
    step.first = out->slots_, step.outputs = n.outputs.size();
    step.sized = ir::has_expression(n);
    auto op = PreparedOp::make(step.sized ? at_hints(*step.node) : *step.node,
                               [](ir::Ref slot) { return static_cast<int32_t>(slot.node); });
    if (!op) return op.error();
    step.op = op.take();
    for (size_t i = 0; i < n.outputs.size(); ++i) add({n.id, static_cast<int32_t>(i)});
  }
  for (size_t i = 0; i < views.results.size(); ++i)
    out->results_.push_back({slot_of(views.results[i]), views.data[i]});
  return out;
}

Result<std::shared_ptr<const ViewProgram>> ViewProgram::at_sizes(const ir::SymbolTable& table,
                                                                 std::span<const int64_t> values) const {
  auto out = std::make_shared<ViewProgram>(*this);
  for (Step& step : out->steps_) {
    if (!step.sized) continue;
    auto known = ir::at_sizes(*step.node, table, values);
    if (!known) return known.error();
    step.node = std::make_shared<const ir::Node>(known.take());
    auto op = step.op->with_numbers(*step.node);
    if (!op) return op.error();
    step.op = op.take();
    step.sized = false;
  }
  return std::shared_ptr<const ViewProgram>(std::move(out));
}

bool ViewProgram::same_at_hints(const ViewProgram& other) const {
  const auto same = [&](const Step& a, const Step& b) {
    const ir::Node x = at_hints(*a.node), y = at_hints(*b.node);
    return x.op == y.op && x.args == y.args && x.kwargs == y.kwargs && x.outputs == y.outputs &&
           a.first == b.first;
  };
  return given_ == other.given_ && slots_ == other.slots_ && results_ == other.results_ &&
         std::equal(steps_.begin(), steps_.end(), other.steps_.begin(), other.steps_.end(), same);
}

bool ViewProgram::Step::call(PyObject* const* slots, std::vector<PyObject*>& made) const {
  if (!op->call(slots, made)) return false;
  return made.size() == outputs || (set_python_error("an operator gave other views"), false);
}

bool ViewProgram::run(const std::vector<PyObject*>& given, std::vector<PyObject*>& results) const {
  if (given.size() != given_) return set_python_error("views are made of what is not there"), false;
  const PyRef slots = PyRef::steal(PyList_New(0));
  for (PyObject* o : given)
    if (!slots || PyList_Append(slots.get(), o) < 0) return false;
  return advance(slots.get()) && finish(slots.get(), results);
}

bool ViewProgram::advance(PyObject* slots) const {
  while (PyList_GET_SIZE(slots) < static_cast<Py_ssize_t>(slots_))
    if (PyList_Append(slots, Py_None) < 0) return false;
  const auto at = [&](size_t slot) { return PyList_GET_ITEM(slots, static_cast<Py_ssize_t>(slot)); };
  std::vector<PyObject*> values;
  for (size_t i = 0; i < slots_; ++i) values.push_back(at(i));
  for (const Step& step : steps_) {
    const auto& reads = step.op->reads();
    const auto is_missing = [&](int32_t slot) { return values[static_cast<size_t>(slot)] == Py_None; };
    if (!is_missing(static_cast<int32_t>(step.first)) || std::any_of(reads.begin(), reads.end(), is_missing))
      continue;
    std::vector<PyObject*> made;
    const bool done = step.call(values.data(), made);
    for (size_t i = 0; i < made.size(); ++i) {
      if (!done || !made[i]) {
        Py_XDECREF(made[i]);
        continue;
      }
      values[step.first + i] = made[i];
      PyList_SetItem(slots, static_cast<Py_ssize_t>(step.first + i), made[i]);
    }
    if (!done) return false;
  }
  return true;
}

bool ViewProgram::finish(PyObject* slots, std::vector<PyObject*>& results) const {
  for (const Given& result : results_) {
    PyObject* value = PyList_GET_ITEM(slots, static_cast<Py_ssize_t>(result.slot));
    PyObject* given = result.data < 0 ? Py_NewRef(value) : PyObject_GetAttrString(value, "data");
    if (!given) return false;
    if (result.data > 0) set_version(handle_of(given), result.data);
    results.push_back(given);
  }
  return true;
}

}  // namespace vitrine::torch_api
