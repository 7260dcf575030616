// What autograd has done with, of a recording with a backward pass in it: PyTorch itself is asked, by another
// backward over the fake tensors, whose nodes are taken back.
#include <set>

#include "core/autograd/joint.h"
#include "core/recording/lowering_state.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

Error needed(const std::string& why) {
  return Error{why + " needs autograd", "Detach what is to be kept."};
}

}  // namespace

Result<std::vector<bool>> find_consumed(Lowering& lowering, const std::vector<PyObject*>& results,
                                        const std::vector<bool>& in_use) {
  Lowering::State& state = lowering.state();
  Recording& r = state.recording;
  if (std::string why = r.why_autograd_changed(); !why.empty()) return needed(why);
  const PyRef is_consumed = find(Name::is_consumed);
  if (!is_consumed) throw InternalError("no vitrine._autograd.training: " + take_python_error());
  std::vector<bool> out;
  std::set<int> storages;
  const Recording::Mark mark = r.mark();
  const ir::NodeId next = r.ids()->next;
  std::string why;
  for (PyObject* o : results) {
    const int index = r.find(o);
    const bool wants = requires_grad(o) && !r.is_made_leaf(index);
    out.push_back(wants);
    if (requires_grad(o) && !wants) continue;  // it has no graph
    if (r.storage_of_tensor(index).input && r.storage_requires_grad(index)) why = "a view of an input";
    if (!wants || !in_use[out.size() - 1] || !why.empty()) continue;
    if (!storages.insert(r.at(index).storage).second) why = "a view of another result";
    PyRef gone;
    {
      ModeGuard guard(state.mode.get());
      gone = PyRef(PyObject_CallOneArg(is_consumed.get(), o));
    }
    state.dispatch.stopped.reset();
    PyErr_Clear();
    if (gone.get() != Py_True) why = "a result that can still be differentiated";
  }
  r.undo(mark);
  r.ids()->next = next;
  if (!why.empty()) return needed(why);
  return out;
}

}  // namespace vitrine::torch_api
