// PyTorch's own backward of one operator of a recording: the operator is called once more, on fake tensors
// that are leaves, and what PyTorch's engine does from its results on is recorded. Its results stand for
// those of the first call, whose nodes alone stay.
#include <unordered_set>

#include "core/autograd/joint_maker.h"
#include "core/recording/lowering_guards.h"
#include "core/torch_api/op_call.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

struct RefHash {
  size_t operator()(ir::Ref r) const {
    return static_cast<size_t>(r.node) * 64 + static_cast<size_t>(r.output);
  }
};

PyRef list_of(const std::vector<PyRef>& items) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (const PyRef& o : items) PyList_Append(list.get(), o.get());
  return list;
}

class OneOperator {
 public:
  OneOperator(Recording& recording, DispatchState& dispatch, PyObject* mode, const autodiff::BorrowCall& call)
      : recording_(recording), dispatch_(dispatch), mode_(mode), call_(call) {}

  Result<autodiff::Borrowed> run() {
    enter();
    if (Status error = forward()) return *error;
    const size_t behind = recording_.aten_nodes().size();
    PyRef found = backward();
    if (dispatch_.stopped) return Error{dispatch_.stopped->reason};
    if (!found) return Error{take_python_error()};
    if (PyUnicode_Check(found.get())) return Error{PyUnicode_AsUTF8(found.get())};
    return collect(found.get(), behind);
  }

 private:
  // A leaf for every tensor that the call reads.
  void enter() {
    size_t argument = 0;
    ir::each_ref(call_.node, [&](ir::Ref r) {
      const bool wanted = call_.requires_grad.at(argument++);
      if (slots_.contains(r)) return;
      slots_.emplace(r, static_cast<int32_t>(values_.size()));
      const int index = recording_.fresh(call_.type(r));
      recording_.set_aten(index, r);
      values_.push_back(recording_.at(index).object);
      if (!wanted) return;
      api().symbols.set_requires_grad(handle_of(values_.back().get()), true);
      leaves_.push_back(values_.back());
      leaf_refs_.push_back(r);
    });
  }

  Status forward() {
    auto op = PreparedOp::make(call_.node, [&](ir::Ref r) { return slots_.at(r); });
    if (!op) return op.error();
    std::vector<PyObject*> values, made;
    for (const PyRef& v : values_) values.push_back(v.get());
    bool called = false;
    {
      ModeGuard guard(mode_);
      called = op.value()->call(values.data(), made);
    }
    std::vector<PyRef> outputs;
    for (PyObject* o : made) outputs.push_back(PyRef::steal(o));
    if (dispatch_.stopped) return Error{dispatch_.stopped->reason};
    if (!called) return Error{take_python_error()};
    if (outputs.size() != call_.node.outputs.size())
      return Error{"it returns something else when asked again"};
    for (size_t k = 0; k < outputs.size(); ++k) {
      const int index = outputs[k].get() ? recording_.find(outputs[k].get()) : -1;
      if (index < 0) continue;
      stands_for_[recording_.at(index).aten] = {call_.node.id, static_cast<int32_t>(k)};
      if (!call_.tangents[k]) continue;
      results_.push_back(outputs[k]);
      const int tangent = recording_.fresh(call_.type(*call_.tangents[k]));
      recording_.set_aten(tangent, *call_.tangents[k]);
      tangents_.push_back(recording_.at(tangent).object);
    }
    kept_ = std::move(outputs);
    return {};
  }

  PyRef backward() {
    PyRef results = list_of(results_), leaves = list_of(leaves_), tangents = list_of(tangents_);
    ModeGuard guard(mode_);
    const InBackward backward(dispatch_);
    PyRef found = call(Name::borrowed_gradients, "OOO()", results.get(), leaves.get(), tangents.get());
    const bool has = found && PyTuple_Check(found.get());
    return has ? PyRef::borrow(PyTuple_GetItem(found.get(), 0)) : found;
  }

  Result<autodiff::Borrowed> collect(PyObject* found, size_t behind) {
    const auto& all = recording_.aten_nodes();
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(behind);
    std::unordered_set<ir::NodeId> dropped;
    for (auto n = all.begin() + static_cast<std::ptrdiff_t>(first_); n != middle; ++n) {
      dropped.insert(n->id);
      // What autograd saves of a result is a detached name of it.
      if (n->op != "aten.detach.default" || !n->args.at(0).is<ir::Ref>()) continue;
      if (auto it = stands_for_.find(n->args[0].as<ir::Ref>()); it != stands_for_.end())
        stands_for_[{n->id, 0}] = ir::Ref(it->second);
    }
    bool lost = false;
    auto first_call = [&](ir::Ref r) {
      if (auto it = stands_for_.find(r); it != stands_for_.end()) return it->second;
      lost = lost || dropped.contains(r.node);
      return r;
    };
    autodiff::Borrowed out;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      PyObject* gradient = PyList_GetItem(found, static_cast<Py_ssize_t>(i));
      if (gradient == Py_None) continue;
      const int index = recording_.find(gradient);
      if (index < 0) return Error{"a gradient is not part of the recording"};
      out.gradients.emplace_back(leaf_refs_[i], first_call(recording_.at(index).aten));
    }
    out.nodes.assign(middle, all.end());
    for (ir::Node& n : out.nodes) {
      for (ir::Arg& a : n.args) a = ir::map_refs(a, [&](ir::Ref r) { return ir::Arg(first_call(r)); });
      for (auto& [key, a] : n.kwargs) a = ir::map_refs(a, [&](ir::Ref r) { return ir::Arg(first_call(r)); });
    }
    if (lost) return Error{"its backward reads what only its forward computes"};
    return out;
  }

  Recording& recording_;
  DispatchState& dispatch_;
  PyObject* mode_;
  const autodiff::BorrowCall& call_;
  const size_t first_ = recording_.aten_nodes().size();
  std::unordered_map<ir::Ref, int32_t, RefHash> slots_;
  std::unordered_map<ir::Ref, ir::Ref, RefHash> stands_for_;  // of this call, of the first one
  std::vector<PyRef> values_, leaves_, results_, tangents_, kept_;
  std::vector<ir::Ref> leaf_refs_;
};

}  // namespace

Result<autodiff::Borrowed> JointMaker::borrow_operator(const autodiff::BorrowCall& call) {
  Result<autodiff::Borrowed> out = Error{};
  ir::NodeId next = 0;
  {
    const Aside aside(recording_, dispatch_);
    try {
      PlainModes modes;
      out = OneOperator(recording_, dispatch_, mode_, call).run();
    } catch (const Stop& reason) {
      out = Error{reason.why.reason};
    }
    next = recording_.ids()->next;
  }
  recording_.ids()->next = next;  // the nodes that are handed out keep their ids
  return out;
}

}  // namespace vitrine::torch_api
