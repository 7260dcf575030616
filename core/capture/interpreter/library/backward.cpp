// Backward passes as part of the graph: where all that is differentiated was recorded in this segment,
// PyTorch's own engine runs over the fake tensors, and what it does is recorded like any other call.
// Gradients of leaves are values of the interpreter's from then on.
#include <algorithm>

#include "core/base/words.h"
#include "core/capture/interpreter/builtins.h"
#include "core/capture/interpreter/library/backward.h"
#include "core/capture/interpreter/library/optimizers.h"
#include "core/capture/interpreter/library/torch_calls.h"
#include "core/capture/interpreter/materialise.h"
#include "core/capture/interpreter/types/iterate.h"
#include "core/capture/interpreter/types/setters.h"
#include "core/capture/interpreter/types/tensors/tensor_members.h"
#include "core/capture/interpreter/value_questions.h"
#include "core/capture/objects/torch_names.h"
#include "core/torch_api/bridge.h"
#include "core/torch_api/python_names.h"

namespace vitrine::capture {
namespace {

using torch_api::kept;
using torch_api::Name;

// What a backward pass is asked for. The three functions differ in where their parameters stand.
struct Parameter {
  size_t at;
  const char* name;
};

class BackwardRequest {
 public:
  BackwardRequest(Tracer& t, std::string name, const Arguments& a) : t_(t), name_(std::move(name)), a_(a) {}

  [[noreturn]] void run_for_real(const std::string& why) const {
    stop("real_backward", name_ + ": the backward pass runs for real, for " + why);
  }
  const std::string& name() const { return name_; }
  // create_graph: what was recorded so far is differentiated twice, for which a region has no derivative.
  void refuse_second(Parameter p) const {
    if (!flag(p)) return;
    t_.graph.differentiates_again = true;
    run_for_real("create_graph is given");
  }

  Value* get(Parameter p) const { return t_.look(need(t_, a_, p.at, p.name, t_.none())); }
  bool given(Parameter p) const { return !is_none(t_, get(p)); }
  bool flag(Parameter p) const {
    PyObject* o = const_object(t_, get(p));
    if (!o || (o != Py_None && !PyBool_Check(o))) run_for_real(std::string(p.name) + " is no bool");
    return o == Py_True;
  }
  // A tensor or a sequence of these, as a tuple.
  Values tensors(Parameter p, bool may_lack = false) const {
    Value* v = get(p);
    const bool many = v->is(ValueKind::Tuple) || v->is(ValueKind::List);
    Values out = many ? unpack(t_, v) : Values{v};
    for (Value*& each : out) {
      each = t_.look(each);
      if (each->is(ValueKind::Tensor) || (may_lack && is_none(t_, each))) continue;
      run_for_real(with_article(describe(t_, each)) + " is given to it");
    }
    return out;
  }
  // The gradients that it starts from, by output.
  Values tangents(Parameter p, size_t outputs) const {
    if (!given(p)) return Values(outputs, t_.none());
    Values out = tensors(p, true);
    if (out.size() != outputs) run_for_real("there are not as many gradients as tensors");
    return out;
  }

 private:
  Tracer& t_;
  std::string name_;
  const Arguments& a_;
};

PyObject* tuple_of(const Values& values) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(values[i]->obj));
  return tuple;
}

// What would run besides when a gradient of the tensor is there.
bool has_hooks(PyObject* real) {
  for (const char* name : {"_backward_hooks", "_post_accumulate_grad_hooks"}) {
    PyRef hooks(PyObject_GetAttrString(real, name));
    if (!hooks) PyErr_Clear();
    if (hooks && PyObject_IsTrue(hooks.get()) == 1) return true;
  }
  return false;
}

}  // namespace

// The leaves that a backward pass reaches, as tensors of the frame.
static Values leaves_behind(Tracer& t, const std::string& name, const Values& outputs,
                            const Values& tangents) {
  const auto for_real = [&](const std::string& why) {
    stop("real_backward", name + ": the backward pass runs for real, for " + why);
  };
  if (!t.options.backward_for_real.empty()) for_real(t.options.backward_for_real);
  if (t.graph.checkpoints > 0) for_real("torch.utils.checkpoint computes in it what forward has not kept");
  PyRef ends(tuple_of(outputs)), given(tuple_of(tangents));
  PyRef found(PyObject_CallFunctionObjArgs(kept(Name::leaves_behind), ends.get(), given.get(), nullptr));
  if (!found) t.raise_python();
  if (PyUnicode_Check(found.get())) for_real(text_of(found.get()));
  Values leaves;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found.get()); ++i) {
    const auto at = t.values.by_tensor.find(PyList_GET_ITEM(found.get(), i));
    Value* leaf = at == t.values.by_tensor.end() ? nullptr : resolve(at->second);
    const bool entered = leaf && real_of(leaf) && leaf->source;
    if (!entered && !(leaf && t.lowering().is_made_leaf(leaf->obj)))
      for_real("autograd's graph began before this point");
    if (entered) guard_leaf(t, name, leaf);
    leaves.push_back(leaf);
  }
  return leaves;
}

// It must stay a leaf that nobody listens to.
void guard_leaf(Tracer& t, const std::string& name, Value* leaf) {
  if (has_hooks(real_of(leaf)))
    stop("real_backward",
         name + ": the backward pass runs for real, for a hook is registered on " + leaf->source->text());
  t.guard(GuardKind::PlainLeaf, leaf->source, nullptr, 0, "", nullptr, "a leaf without hooks");
}

// The gradients of `inputs`, a list. fresh, by input: whether it becomes a tensor's .grad, and not only
// something that is added to it.
static Value* gradients(Tracer& t, const std::string& name, const Values& outputs, const Values& tangents,
                        const Values& inputs, const std::vector<bool>& fresh, bool retain) {
  Values flags;
  for (bool f : fresh) flags.push_back(t.boolean(f));
  Value* found = torch_call(
      t, name, kept(Name::gradients),
      {{t.tuple(outputs), t.tuple(tangents), t.tuple(inputs), t.tuple(flags), t.boolean(retain)}, {}});
  found = t.look(found);
  if (PyObject* why = const_object(t, found))
    stop("real_backward", name + ": the backward pass runs for real, for " + text_of(why));
  t.graph.differentiates = true;
  return found;
}

// Adds gradients to the .grad of each leaf, as PyTorch's engine does.
static void accumulate(Tracer& t, const std::string& name, const Values& outputs, const Values& tangents,
                       bool retain) {
  const Values leaves = leaves_behind(t, name, outputs, tangents);
  Values before;
  std::vector<bool> fresh;
  for (Value* leaf : leaves) {
    before.push_back(t.look(read_grad(t, leaf)));
    fresh.push_back(is_none(t, before.back()));
    if (fresh.back()) continue;
    if (!before.back()->is(ValueKind::Tensor) || torch_api::requires_grad(before.back()->obj))
      stop("real_backward", name + ": the backward pass runs for real, for a gradient requires grad");
  }
  const Values found = unpack(t, gradients(t, name, outputs, tangents, leaves, fresh, retain));
  for (size_t i = 0; i < leaves.size(); ++i) {
    Value* grad = t.look(found.at(i));
    if (is_none(t, grad)) continue;
    if (fresh[i])
      write_attr(t, leaves[i], "grad", grad);
    else
      tensor_method(t, before[i], "add_", nullptr, {{grad}, {}});
  }
}

// Tensor.backward(gradient, retain_graph, create_graph, inputs), `a` with the tensor in front.
Value* tensor_backward(Tracer& t, const Arguments& a) {
  const BackwardRequest r(t, "Tensor.backward", a);
  r.refuse_second({3, "create_graph"});
  if (r.given({4, "inputs"})) r.run_for_real("inputs are given");
  const Values outputs = r.tensors({0, "self"});
  accumulate(t, r.name(), outputs, r.tangents({1, "gradient"}, outputs.size()), r.flag({2, "retain_graph"}));
  return t.none();
}

namespace {

Value* autograd_backward(Tracer& t, const Arguments& a) {
  const BackwardRequest r(t, "torch.autograd.backward", a);
  r.refuse_second({3, "create_graph"});
  if (r.given({4, "grad_variables"})) r.run_for_real("grad_variables are given");
  if (r.given({5, "inputs"})) r.run_for_real("inputs are given");
  const Values outputs = r.tensors({0, "tensors"});
  accumulate(t, r.name(), outputs, r.tangents({1, "grad_tensors"}, outputs.size()),
             r.flag({2, "retain_graph"}));
  return t.none();
}

Value* autograd_grad(Tracer& t, const Arguments& a) {
  const BackwardRequest r(t, "torch.autograd.grad", a);
  r.refuse_second({4, "create_graph"});
  for (Parameter p :
       {Parameter{5, "only_inputs"}, Parameter{7, "is_grads_batched"}, {8, "materialize_grads"}})
    if ((p.at != 5 || r.given(p)) && r.flag(p) != (p.at == 5))
      r.run_for_real(std::string(p.name) + " is given");
  const Values outputs = r.tensors({0, "outputs"}), inputs = r.tensors({1, "inputs"});
  const Values tangents = r.tangents({2, "grad_outputs"}, outputs.size());
  // Run for real, it needs the way from a result of the region to another: a region's own node has none.
  t.graph.differentiates_again =
      std::any_of(inputs.begin(), inputs.end(), [](const Value* input) { return !real_of(input); });
  leaves_behind(t, r.name(), outputs, tangents);
  for (Value* input : inputs) {
    if (!torch_api::requires_grad(input->obj)) r.run_for_real("an input does not require grad");
    if (real_of(input)) guard_leaf(t, r.name(), input);
  }
  const std::vector<bool> fresh(inputs.size(), false);
  Value* found = gradients(t, r.name(), outputs, tangents, inputs, fresh, r.flag({3, "retain_graph"}));
  const Values grads = unpack(t, found);
  for (Value* grad : grads)
    if (is_none(t, grad) && !r.flag({6, "allow_unused"})) r.run_for_real("an input is not used");
  return t.tuple(grads);
}

constexpr BuiltinRow kRows[] = {
    {"torch.autograd.backward", autograd_backward},
    {"torch.autograd.grad", autograd_grad},
};

}  // namespace

std::span<const BuiltinRow> autograd_builtins() {
  return kRows;
}

}  // namespace vitrine::capture
