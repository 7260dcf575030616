// What PyTorch calls for attention that is to be differentiated on a GPU: it is asked with fake tensors, in
// the modes of the program, and the recording stays as it is.
#include <algorithm>
#include <unordered_set>

#include "core/autograd/joint_maker.h"
#include "core/ops/node.h"
#include "core/recording/absent_gpu.h"
#include "core/recording/lowering_guards.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// Of these nodes, in order, those that give the value.
std::vector<ir::Node> behind(std::vector<ir::Node> nodes, ir::Ref value) {
  std::unordered_set<ir::NodeId> read = {value.node};
  std::vector<ir::Node> out;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!read.contains(nodes[i].id)) continue;
    ir::each_ref(nodes[i], [&](ir::Ref r) { read.insert(r.node); });
    out.push_back(std::move(nodes[i]));
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace

std::optional<passes::ChosenAttention> JointMaker::choose_attention(const passes::AttentionToDerive& call) {
  // For any size none is chosen that plans each. The order in which gradients are added up is not theirs to
  // say.
  if (state_.for_any_size || deterministic_algorithms()) return std::nullopt;
  const Aside aside(recording_, dispatch_);
  try {
    const PlainModes plain;
    AttentionChoice ways = state_.attention;
    const AttentionWays allowed(ways, false);
    return asked(call, aside.mark());
  } catch (const Stop&) {
    return std::nullopt;  // it stays as it is written
  }
}

std::optional<passes::ChosenAttention> JointMaker::asked(const passes::AttentionToDerive& call,
                                                         const Recording::Mark& mark) {
  const auto fake = [&](ir::Ref value, bool requires_grad) {
    const int index = recording_.fresh(call.type(value));
    recording_.set_aten(index, value);
    const PyRef& object = recording_.at(index).object;
    if (requires_grad) api().symbols.set_requires_grad(handle_of(object.get()), true);
    return object;
  };
  const PyRef query = fake(call.query, call.requires_grad[0]), key = fake(call.key, call.requires_grad[1]),
              value = fake(call.value, call.requires_grad[2]),
              mask = call.mask ? fake(*call.mask, false) : PyRef::borrow(Py_None);
  PyRef function = find(Name::scaled_dot_product_attention);
  if (state_.for_absent_gpu())
    function =
        chosen_for(state_.architecture, false, "torch._C._nn.scaled_dot_product_attention", function.get());
  const PyRef args = PyRef::steal(Py_BuildValue("OOOOdO", query.get(), key.get(), value.get(), mask.get(),
                                                0.0, call.causal ? Py_True : Py_False));
  const PyRef kwargs = PyRef::steal(Py_BuildValue("{s:d}", "scale", call.scale));
  PyRef result;
  {
    const ModeGuard guard(mode_);
    if (guard.active()) result = PyRef::steal(PyObject_Call(function.get(), args.get(), kwargs.get()));
  }
  if (!result || dispatch_.stopped) return std::nullopt;
  const int index = recording_.find(result.get());
  if (index < 0) return std::nullopt;
  const auto& all = recording_.aten_nodes();
  const ir::Ref given = recording_.at(index).aten;
  passes::ChosenAttention out{
      behind({all.begin() + static_cast<std::ptrdiff_t>(mark.aten), all.end()}, given), given};
  if (std::ranges::none_of(out.nodes, [](const ir::Node& n) { return ops::is_attention(n); }))
    return std::nullopt;
  return out;
}

}  // namespace vitrine::torch_api
