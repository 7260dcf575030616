#include "core/autograd/joint.h"
#include "core/autodiff/undefined_tangents.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/autodiff/derive.h"
#include "core/autodiff/rng_replay.h"
#include "core/autograd/joint_maker.h"
#include "core/autograd/shared_saves.h"
#include "core/ops/layout.h"
#include "core/ops/node.h"
#include "core/passes/decompose/decompose.h"
#include "core/torch_api/api.h"
#include "core/torch_api/fake_tensor.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/python_names.h"

namespace vitrine::torch_api {

namespace {

// Every element at a place of its own, without gaps: the layout that a gradient of such a tensor has.
bool is_dense(const ir::TensorType& type) {
  return type.numel() > 0 && extent(type) == type.numel() &&
         std::none_of(type.strides.begin(), type.strides.end(), [](const ir::Sym& s) { return s == 0; });
}

std::vector<ir::Arg> args_of(const std::vector<ir::Ref>& refs) {
  std::vector<ir::Arg> out;
  for (ir::Ref r : refs) out.emplace_back(r);
  return out;
}

// The parts as one graph, the results behind each other.
autodiff::JointGraph joined(const JointParts& parts, std::shared_ptr<ir::NodeIds> ids) {
  ir::Builder b("joint", std::move(ids));
  for (const auto* nodes : {&parts.leading, &parts.tangents, &parts.forward, &parts.backward})
    for (const ir::Node& n : *nodes) b.add(n);
  std::vector<ir::Arg> results = args_of(parts.results);
  for (ir::Ref r : parts.gradients) results.emplace_back(r);
  return {b.finish(std::move(results)), parts.leading.size(), parts.tangents.size(), parts.forward.size(),
          parts.results.size()};
}

// The tangents of the results that are computed from an input.
std::vector<int> tangents_behind(const JointParts& parts, const Joint& out, ir::NodeId input) {
  std::unordered_set<ir::NodeId> reached = {input};
  for (const ir::Node& n : parts.forward)
    ir::each_ref(n, [&](ir::Ref r) {
      if (reached.count(r.node)) reached.insert(n.id);
    });
  std::vector<int> found;
  int tangent = 0;
  for (size_t i = 0; i < parts.results.size(); ++i) {
    if (!out.results[i].requires_grad) continue;
    if (reached.count(parts.results[i].node)) found.push_back(tangent);
    ++tangent;
  }
  return found;
}

// Which tangents each gradient depends on. One that needs none of them (the zeros of sign) is there with
// those of the results behind its input. Where PyTorch's backward was borrowed, that is told by its graph:
// the values do not, since an autograd.Function may differentiate what it did not compute with. "" or why
// not.
std::string find_dependences(const JointParts& parts, const ir::Graph& joint, Joint& out) {
  std::vector<ir::NodeId> tangents;
  for (const ir::Node& n : parts.tangents) tangents.push_back(n.id);
  const std::unordered_map<ir::NodeId, std::set<int>> reach = autodiff::tangents_in(joint, tangents);
  for (size_t i = 0; i < out.gradients.size(); ++i) {
    const ir::Arg& gradient = joint.results().at(parts.results.size() + i);
    const std::set<int>& from = reach.at(gradient.as<ir::Ref>().node);
    std::vector<int>& found = out.gradients[i].tangents;
    found.assign(from.begin(), from.end());
    if (!parts.outputs_behind.empty()) {
      if (!found.empty() && found != parts.outputs_behind[i])
        return "PyTorch takes zeros for gradients of results that are not there";
      found = parts.outputs_behind[i];
    } else if (found.empty()) {
      found = tangents_behind(parts, out, parts.leading[static_cast<size_t>(out.gradients[i].input)].id);
    }
  }
  return "";
}

Error no_joint(const std::string& why) {
  return Error{why, "The captured graph runs through PyTorch's autograd."};
}

// In training a batch norm's backward is given the running statistics, which it does not read: they may be
// others by then.
void drop_running_statistics(std::vector<ir::Node>& backward) {
  for (ir::Node& n : backward) {
    const bool trained =
        n.op == "aten.native_batch_norm_backward.default" && n.args.size() > 7 && n.args[7] == ir::Arg(true);
    if (trained || n.op == "aten.cudnn_batch_norm_backward.default") n.args.at(3) = n.args.at(4) = ir::Arg();
  }
}

// What an autograd.Function or a hook does in the backward pass is known to PyTorch alone: what its forward
// computes is not followed. "" or which it is.
std::string own_backward(Recording& recording) {
  for (const ir::Node& n : recording.captured_nodes()) {
    if (n.op == "torch.autograd.Function.apply") return "an autograd.Function has a backward of its own";
    if (n.op == "Tensor.register_hook") return "a hook is registered on a tensor";
  }
  return "";
}

bool has_hook(PyObject* tensor) {
  PyRef hooks = PyRef::steal(PyObject_GetAttrString(tensor, "_backward_hooks"));
  const int any = hooks ? PyObject_IsTrue(hooks.get()) : 0;
  PyErr_Clear();
  return any != 0;
}

PyRef list_of(const std::vector<PyObject*>& items) {
  PyRef list = PyRef::steal(PyList_New(0));
  for (PyObject* o : items) PyList_Append(list.get(), o);
  return list;
}

// "" or the input whose memory the forward half writes and backward reads: autograd must see what it holds
// when it is read, and its version then.
std::string why_written(const ir::Graph& joint, const autodiff::Partition& halves, size_t leading) {
  std::unordered_map<ir::NodeId, ir::NodeId> memory;  // the leading input that a value shares memory with
  std::unordered_set<ir::NodeId> written;
  for (size_t i = 0; i < leading; ++i) memory[joint.nodes()[i].id] = joint.nodes()[i].id;
  const auto input_of = [&](ir::NodeId n) {
    auto it = memory.find(n);
    return it == memory.end() ? ir::NodeId{-1} : it->second;
  };
  for (const ir::Node& n : joint.nodes()) {
    for (ir::Ref r : ops::written(n)) written.insert(input_of(r.node));
    for (ir::Ref r : ops::aliased(n))
      if (const ir::NodeId input = input_of(r.node); input >= 0) memory[n.id] = input;
  }
  written.erase(-1);
  for (const autodiff::Crossing& c : halves.crossings)
    if (const ir::NodeId input = input_of(c.value.node); written.contains(input))
      return joint.node(input).name + " is written to, and backward reads it";
  return "";
}

// Softmax written out: the division may keep its operand instead of its result.
autodiff::JointGraph expanded(autodiff::JointGraph whole, const std::shared_ptr<ir::NodeIds>& ids) {
  const size_t backward = whole.leading + whole.tangents + whole.forward;
  const ir::GraphPtr before = whole.graph;
  whole.graph = passes::decompose_softmax(before, ids);
  size_t first = whole.graph->nodes().size();
  for (size_t i = before->nodes().size(); i-- > backward;)
    if (whole.graph->find(before->nodes()[i].id)) first = whole.graph->position(before->nodes()[i].id);
  whole.forward = first - whole.leading - whole.tangents;
  return whole;
}

}  // namespace

std::vector<int> numbers_of(PyObject* list) {
  std::vector<int> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    out.push_back(static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(list, i))));
  return out;
}

Result<std::shared_ptr<const Joint>> make_joint(Lowering& lowering, const std::vector<PyObject*>& results,
                                                const GradientWishes& how) {
  Recording& r = lowering.state().recording;
  if (std::string why = r.why_write_differentiable(); !why.empty()) return no_joint(why);
  if (r.effects.sets_data) return no_joint("a tensor's .data is set");
  if (r.effects.makes_leaf) return no_joint("a leaf that requires grad is made in it");
  // A view that an autograd.Function gave would be made again without it.
  auto views =
      view_replay(r, results, true, own_backward(r).empty() ? ReplayedViews::all : ReplayedViews::shared);
  if (!views) return no_joint(views.error().what);
  const Recording::Mark mark = r.mark();
  auto out = std::make_shared<Joint>();
  JointParts parts;
  parts.forward = r.aten_nodes(), parts.followed = r.followed();
  out->reentrant = std::any_of(parts.forward.begin(), parts.forward.end(),
                               [](const ir::Node& n) { return n.origin.checkpoint.reentrant; });
  Result<std::shared_ptr<const Joint>> made = Error{};
  try {
    Status error = JointMaker(lowering).join(results, views.value(), how, *out, parts);
    made = error ? Result<std::shared_ptr<const Joint>>(*error) : std::shared_ptr<const Joint>(out);
  } catch (const Stop& reason) {
    made = no_joint(reason.why.reason);
  }
  lowering.state().dispatch.stopped.reset();
  PyErr_Clear();
  const ir::NodeId next = r.ids()->next;
  r.undo(mark);
  r.ids()->next = next;  // the joint graph's nodes keep their ids to themselves
  return made;
}

// A result that requires grad; its node has a name in errors and where the user prints it.
Joint::Result made_by_autograd(PyObject* tensor) {
  PyRef node = PyRef::steal(PyObject_GetAttrString(tensor, "grad_fn"));
  PyRef name = PyRef::steal(node && node.get() != Py_None ? PyObject_CallMethod(node.get(), "name", nullptr)
                                                          : nullptr);
  PyRef place = PyRef::steal(PyObject_GetAttrString(tensor, "output_nr"));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  const int64_t at = place ? PyLong_AsLongLong(place.get()) : 0;
  PyErr_Clear();
  return {true, text ? text : "", at, -1};
}

// What autograd's engine orders a result by: a value that was written to was made by the last write.
static int64_t made_as(PyObject* tensor) {
  PyRef node = PyRef::steal(PyObject_GetAttrString(tensor, "grad_fn"));
  PyRef number = PyRef::steal(
      node && node.get() != Py_None ? PyObject_CallMethod(node.get(), "_sequence_nr", nullptr) : nullptr);
  const int64_t made = number ? PyLong_AsLongLong(number.get()) : -1;
  PyErr_Clear();
  return made;
}

// Results, what they get, and the inputs.
Status JointMaker::prepare(const ViewReplay& views, Joint& out, JointParts& parts) {
  Recording& r = recording_;
  r.begin_call({});
  parts.results = views.region_refs;
  for (PyObject* o : views.region) {
    const int index = r.find(o);
    const bool wants = requires_grad(o);
    out.results.push_back(wants ? made_by_autograd(o) : Joint::Result{});
    out.results.back().version = views.versions.at(out.results.size() - 1);
    if (!wants) continue;
    parts.outputs.push_back(o);
    ir::TensorType type = r.at(index).type;
    type.offset = 0;
    if (!is_dense(type)) type.strides = ir::contiguous_strides(type.sizes);
    const int tangent = r.fresh(type);
    ir::Node node;
    node.id = r.next_id();
    node.kind = ir::NodeKind::placeholder;
    node.name = "tangent_" + std::to_string(parts.given.size());
    node.source = "gradient of result " + std::to_string(out.results.size() - 1);
    node.outputs = {type};
    r.at(tangent).aten = {node.id, 0};
    parts.given.push_back(r.at(tangent).object);
    out.tangents.push_back(type);
    parts.tangents.push_back(std::move(node));
  }
  std::vector<std::pair<int64_t, int>> made;
  for (PyObject* o : parts.outputs) made.emplace_back(made_as(o), static_cast<int>(made.size()));
  std::sort(made.begin(), made.end());
  for (const auto& [when, tangent] : made) out.made.push_back(tangent);
  std::vector<PyObject*> inputs;
  if (!r.leading(parts.leading, out.constants, inputs)) return no_joint("an input starts to require grad");
  out.inputs = static_cast<int>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (requires_grad(inputs[i]))
      parts.wanted.push_back(inputs[i]), parts.input_of.push_back(static_cast<int>(i));
  return {};
}

// By result, whether it has a tangent.
static std::vector<bool> wanted_of(const Joint& out) {
  std::vector<bool> wanted;
  for (const Joint::Result& result : out.results) wanted.push_back(result.requires_grad);
  return wanted;
}

// Whether autograd's own backward raises, because the recording writes to what an operator has saved. To
// autograd x.squeeze_() is a write, too, of which the ATen graph has a view alone.
static bool writes_saved(Recording& recording, const JointParts& parts) {
  const auto in_place = [](const ir::Node& n) { return n.op.ends_with('_') && !n.op.ends_with("__"); };
  if (std::ranges::none_of(parts.forward, [](const ir::Node& n) { return ops::writes(n); }) &&
      std::ranges::none_of(recording.captured_nodes(), in_place))
    return false;
  const PyRef outputs = list_of(parts.outputs);
  const bool writes = call(Name::written_after_saving, "O", outputs.get()).get() == Py_True;
  PyErr_Clear();
  return writes;
}

// Gradients of images and their weights lie as these, where the forward program was laid out anew.
void JointMaker::lay_as_inputs(const Joint& out, JointParts& parts) {
  std::unordered_map<ir::NodeId, size_t> made;  // by node: its place
  for (size_t i = 0; i < parts.backward.size(); ++i) made.emplace(parts.backward[i].id, i);
  for (size_t i = 0; i < parts.gradients.size(); ++i) {
    const ir::Node& input = parts.leading[static_cast<size_t>(out.gradients[i].input)];
    ir::Ref& gradient = parts.gradients[i];
    const auto at = made.find(gradient.node);
    if (at == made.end() || !input.type().is_contiguous()) continue;
    const ir::Node& maker = parts.backward[at->second];
    ir::TensorType type = maker.outputs.at(static_cast<size_t>(gradient.output));
    const bool moved = type.sizes.size() == 4 && ops::is_channels_last(type) &&
                       !ir::same(type.strides, input.type().strides);
    if (type.sizes != input.type().sizes || !moved) continue;
    type.strides = input.type().strides;
    ir::Node copy;
    copy.id = recording_.next_id();
    copy.kind = ir::NodeKind::op;
    copy.op = "aten.clone.default";
    copy.args = {ir::Arg(gradient)};
    copy.kwargs = {{"memory_format", ir::Arg(ir::Word{"torch.contiguous_format"})}};
    copy.outputs = {type};
    copy.origin = maker.origin;
    gradient = {copy.id, 0};
    parts.backward.push_back(std::move(copy));
  }
}

Status JointMaker::derive(const GradientWishes& how, Joint& out, JointParts& parts) {
  if (writes_saved(recording_, parts)) return no_joint("what an operator has saved is written to");
  for (const auto* tensors : {&parts.outputs, &parts.wanted})
    for (PyObject* t : *tensors)
      if (has_hook(t)) return no_joint("a tensor has a hook");
  parts.passed = points_passed(parts, wanted_of(out), parts.followed);
  keep_passed(parts);
  auto plain = rewrite_forward(how, parts);
  autodiff::ForwardProgram program{parts.leading, parts.tangents, parts.forward, {}, {}, {}, {}, {}};
  for (size_t i = 0; i < parts.results.size(); ++i)
    if (out.results[i].requires_grad) program.results.push_back(parts.results[i]);
  for (int i : parts.input_of) program.wanted.push_back(parts.leading[static_cast<size_t>(i)].id);
  program.followed.insert(parts.followed.begin(), parts.followed.end());
  program.borrow = [this](const autodiff::BorrowCall& call) {
    auto made = borrow_operator(call);
    if (made) drop_running_statistics(made.value().nodes);
    return made;
  };
  for (const JointParts::Point& point : parts.points) program.points.push_back(point.value);
  auto made = autodiff::derive(program, recording_.ids());
  if (!made) {
    if (plain) {
      parts.forward = std::move(plain->forward), parts.results = std::move(plain->results);
      parts.followed = recording_.followed();
    }
    return made.error();
  }
  for (size_t i = 0; i < parts.points.size(); ++i) {
    parts.points[i].whole = made.value().points[i];
    parts.points[i].before = made.value().before[i];
  }
  out.borrowed_operators = std::move(made.value().borrowed);
  parts.backward = std::move(made.value().backward);
  for (size_t i = 0; i < parts.wanted.size(); ++i) {
    if (!made.value().gradients[i]) continue;
    parts.gradients.push_back(*made.value().gradients[i]);
    out.gradients.push_back({parts.input_of[i], {}, std::move(made.value().terms[i])});
  }
  if (plain) lay_as_inputs(out, parts);
  for (size_t i : made.value().complete)
    if (made.value().gradients[i]) out.complete.push_back(parts.input_of[i]);
  return {};
}

Status JointMaker::borrow(Joint& out, JointParts& parts) {
  Recording& r = recording_;
  std::vector<PyObject*> grads_of;
  for (const PyRef& t : parts.given) grads_of.push_back(t.get());
  std::vector<PyObject*> points;
  for (const JointParts::Point& point : parts.points) points.push_back(point.object);
  PyRef a = list_of(parts.outputs), b = list_of(parts.wanted), c = list_of(grads_of), d = list_of(points),
        found;
  if (!parts.outputs.empty()) {
    ModeGuard guard(mode_);
    const InBackward backward(dispatch_);
    found = call(Name::borrowed_gradients, "OOOO", a.get(), b.get(), c.get(), d.get());
  }
  if (dispatch_.stopped)
    return no_joint("the backward pass cannot be recorded: " + dispatch_.stopped->reason);
  if (!parts.outputs.empty() && !found) {
    const std::string why = take_python_error();
    if (r.as_if() && !gpu_is_here())  // PyTorch's engine has no thread for it
      return no_joint(out.borrowed + ", and PyTorch's own backward runs only where the GPU is");
    return no_joint("the backward pass cannot be recorded: " + why);
  }
  if (found && PyUnicode_Check(found.get())) return no_joint(PyUnicode_AsUTF8(found.get()));
  const PyRef gradients = found ? PyRef::borrow(PyTuple_GetItem(found.get(), 0)) : PyRef();
  const PyRef behind = found ? call(Name::outputs_behind, "OO", a.get(), b.get()) : PyRef();
  if (found && !behind) return no_joint("autograd's graph cannot be walked: " + take_python_error());
  for (size_t i = 0; found && i < parts.wanted.size(); ++i) {
    PyObject* grad = PyList_GetItem(gradients.get(), static_cast<Py_ssize_t>(i));
    if (grad == Py_None) continue;
    const int index = r.find(grad);
    if (index < 0) return no_joint("a gradient is not part of the recording");
    parts.gradients.push_back(r.at(index).aten);
    parts.outputs_behind.push_back(numbers_of(PyList_GetItem(behind.get(), static_cast<Py_ssize_t>(i))));
    out.gradients.push_back({parts.input_of[i], {}, {}});
  }
  if (found) note_points(found.get(), out, parts);
  // The engine's order is that of the operators that compute them.
  std::vector<std::pair<ir::NodeId, int>> made;
  for (size_t i = 0; i < parts.gradients.size(); ++i)
    made.emplace_back(parts.gradients[i].node, out.gradients[i].input);
  std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [node, input] : made) out.complete.push_back(input);
  for (JointParts::Point& point : parts.points)
    point.before = static_cast<size_t>(
        std::count_if(made.begin(), made.end(), [&](const auto& m) { return m.first < point.whole; }));
  // With the constants of the backward pass.
  std::vector<PyObject*> inputs;
  parts.leading.clear();
  out.constants.clear();
  if (!r.leading(parts.leading, out.constants, inputs)) return no_joint("an input starts to require grad");
  const auto& all = r.aten_nodes();
  parts.backward.assign(all.begin() + static_cast<std::ptrdiff_t>(parts.forward.size()), all.end());
  drop_running_statistics(parts.backward);
  return {};
}

Status JointMaker::join(const std::vector<PyObject*>& results, const ViewReplay& views,
                        const GradientWishes& how, Joint& out, JointParts& parts) {
  if (Status error = prepare(views, out, parts)) return error;
  find_points(results, views, parts);
  const std::string own = own_backward(recording_);
  if (!views.as_they_are && !own.empty()) return no_joint("a result is a view, and " + own);
  Status ours = how.who != Gradients::own ? Status(Error{"borrowed gradients were asked for"})
                : !own.empty()            ? Status(Error{own})
                                          : derive(how, out, parts);
  if (ours) {
    out.borrowed = ours->what;
    find_points(results, views, parts);
    if (Status error = borrow(out, parts)) return error;
  }
  if (!views.as_they_are) {
    auto program = ViewProgram::make(views, parts.leading);
    if (!program) return no_joint(program.error().what);
    out.views = program.take();
  }
  const PyRef state = PyRef::steal(generator_state());
  if (!state) return no_joint(take_python_error());
  const autodiff::JointGraph whole = autodiff::with_generator_states(
      expanded(joined(parts, recording_.ids()), recording_.ids()), type_of(state.get()), recording_.ids());
  out.joint = whole.graph;
  out.derivative_begins = whole.leading + whole.tangents + whole.forward;
  out.halves = autodiff::partition(whole, recording_.ids(), how.pins);
  if (std::string why = why_written(*whole.graph, out.halves, whole.leading); !why.empty())
    return no_joint(why);
  if (std::string why = find_dependences(parts, *whole.graph, out); !why.empty()) return no_joint(why);
  std::vector<ir::NodeId> ends;
  for (const ir::Node& n : parts.tangents) ends.push_back(n.id);
  if (std::string why = autodiff::why_inseparable(*out.halves.backward, ends); !why.empty())
    return no_joint(why);
  const bool passes = std::ranges::any_of(parts.passed, [](const auto& points) { return !points.empty(); });
  if (Status error = cut(out, parts)) return no_joint(error->what);
  out.readers = out.cut.backward ? out.cut.readers : autodiff::readers_of(*out.halves.backward, ends);
  // PyTorch's graph was asked as far as the points: without a cut there, it is not known what is behind them.
  const bool asked = out.conflicts.size() == parts.tangents.size() && (out.cut.backward || !passes);
  if (out.borrowed.empty() || !asked)
    out.conflicts = shared_saves(parts, wanted_of(out), parts.followed, out.borrowed.empty(),
                                 out.cut.backward != nullptr);
  return {};
}

}  // namespace vitrine::torch_api
