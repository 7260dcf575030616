#include "core/torch_bridge/joint.h"
#include "core/torch_bridge/undefined_tangents.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/node.h"
#include "core/ops/table.h"
#include "core/torch_bridge/api.h"
#include "core/torch_bridge/lowering_state.h"
#include "core/torch_bridge/stand_in.h"

namespace vitrine::torch_bridge {

namespace {

bool is_view(const ir::Node& node) {
  const ops::OpRow* row = node.kind == ir::NodeKind::op ? ops::find(node.op) : nullptr;
  return row && row->lower == ops::Lower::view && node.outputs.size() == 1;
}

// Every element at a place of its own, without gaps: the layout that a gradient of such a tensor has.
bool is_dense(const ir::TensorType& type) {
  return type.numel() > 0 && extent(type) == type.numel() &&
         std::none_of(type.strides.begin(), type.strides.end(), [](int64_t s) { return s == 0; });
}

std::vector<ir::Arg> args_of(const std::vector<ir::Ref>& refs) {
  std::vector<ir::Arg> out;
  for (ir::Ref r : refs) out.emplace_back(r);
  return out;
}

// Divides a joint graph where PyTorch's backward begins.
class Partition {
 public:
  Partition(const JointParts& parts, std::shared_ptr<ir::NodeIds> ids, Joint& out)
      : parts_(parts), ids_(std::move(ids)), out_(out) {
    for (size_t i = 0; i < parts.leading.size(); ++i)
      inputs_.emplace(parts.leading[i].id, static_cast<int>(i));
    for (const ir::Node& n : parts.forward) forward_.emplace(n.id, &n);
  }

  void run() {
    write_joint();
    find_live();
    for (const ir::Node* n : live_) ir::each_ref(*n, [&](ir::Ref r) { want(r); });
    for (ir::Ref r : parts_.gradients) want(r);
    write_forward();
    write_backward();
    find_dependences();
  }

 private:
  void write_joint() {
    ir::Builder b("joint", ids_);
    for (const auto* nodes : {&parts_.leading, &parts_.tangents, &parts_.forward, &parts_.backward})
      for (const ir::Node& n : *nodes) b.add(n);
    std::vector<ir::Arg> results = args_of(parts_.results);
    for (ir::Ref r : parts_.gradients) results.emplace_back(r);
    out_.joint = b.finish(std::move(results));
  }

  // What the gradients need of the backward part; a node that writes stays, whatever reads it.
  void find_live() {
    std::unordered_set<ir::NodeId> wanted;
    for (ir::Ref r : parts_.gradients) wanted.insert(r.node);
    for (auto n = parts_.backward.rbegin(); n != parts_.backward.rend(); ++n) {
      if (!wanted.contains(n->id) && !ops::writes(*n)) continue;
      ir::each_ref(*n, [&](ir::Ref r) { wanted.insert(r.node); });
      live_.insert(live_.begin(), &*n);
    }
  }

  // A view of an input is made again; everything else of the forward part is saved.
  void want(ir::Ref ref, bool by_view = false) {
    auto node = forward_.find(ref.node);
    if (node == forward_.end()) {
      if (!inputs_.contains(ref.node)) return;
      if (!by_view) read_.insert(ref.node);
      return save(ref);
    }
    if (!is_view_of_input(ref)) return save(ref);
    if (!again_.insert(ref.node).second) return;
    ir::each_ref(*node->second, [&](ir::Ref r) { want(r, true); });
    order_.push_back(node->second);
  }

  bool is_view_of_input(ir::Ref ref) const {
    while (!inputs_.contains(ref.node)) {
      auto node = forward_.find(ref.node);
      if (node == forward_.end() || !is_view(*node->second) || node->second->args.empty() ||
          !node->second->args[0].is<ir::Ref>())
        return false;
      ref = node->second->args[0].as<ir::Ref>();
    }
    return true;
  }

  void save(ir::Ref ref) {
    if (std::find(saved_.begin(), saved_.end(), ref) == saved_.end()) saved_.push_back(ref);
  }

  void write_forward() {
    ir::Builder b("forward", ids_);
    for (const ir::Node& n : parts_.leading) b.add(n);
    for (const ir::Node& n : parts_.forward) b.add(n);
    std::vector<ir::Arg> results = args_of(parts_.results);
    int made = 0;
    for (ir::Ref ref : saved_) {
      auto result = std::find(parts_.results.begin(), parts_.results.end(), ref);
      if (auto input = inputs_.find(ref.node); input != inputs_.end()) {
        const bool read = read_.contains(ref.node);
        out_.saved.push_back({read ? Joint::Saved::Kind::input : Joint::Saved::Kind::viewed, input->second});
      } else if (result != parts_.results.end()) {
        out_.saved.push_back({Joint::Saved::Kind::result, static_cast<int>(result - parts_.results.begin())});
      } else {
        out_.saved.push_back({Joint::Saved::Kind::made, made++});
        results.emplace_back(ref);
      }
    }
    out_.forward = b.finish(std::move(results));
  }

  void write_backward() {
    ir::Builder b("backward", ids_);
    std::unordered_map<int64_t, ir::Ref> now;
    auto key = [](ir::Ref r) { return (static_cast<int64_t>(r.node) << 16) | r.output; };
    auto mapped = [&](ir::Ref r) {
      auto it = now.find(key(r));
      return ir::Arg(it == now.end() ? r : it->second);
    };
    for (ir::Ref ref : saved_) {
      const ir::Node& from = out_.joint->node(ref.node);
      ir::Node node;
      node.kind = ir::NodeKind::placeholder;
      node.id = ids_->next++;
      node.name = from.name;
      node.source = "saved " + from.name;
      node.outputs = {from.outputs.at(static_cast<size_t>(ref.output))};
      node.origin = from.origin;
      node.origin.from = {from.id};
      now.emplace(key(ref), b.add(std::move(node)));
    }
    for (const ir::Node& n : parts_.tangents) b.add(n);
    auto copy = [&](ir::Node node) {
      for (ir::Arg& a : node.args) a = ir::map_refs(a, mapped);
      for (auto& [name, a] : node.kwargs) a = ir::map_refs(a, mapped);
      return b.add(std::move(node));
    };
    for (const ir::Node* n : order_) {
      ir::Node again = *n;
      again.id = ids_->next++;
      again.origin.from = {n->id};
      now.emplace(key({n->id, 0}), copy(std::move(again)));
    }
    for (const ir::Node* n : live_) copy(*n);
    std::vector<ir::Arg> results;
    for (ir::Ref r : parts_.gradients) results.push_back(mapped(r));
    out_.backward = b.finish(std::move(results));
  }

  void find_dependences() {
    std::unordered_map<ir::NodeId, std::set<int>> reach;
    for (size_t i = 0; i < parts_.tangents.size(); ++i) reach[parts_.tangents[i].id] = {static_cast<int>(i)};
    for (const ir::Node* n : live_)
      ir::each_ref(*n, [&](ir::Ref r) {
        const std::set<int> from = reach[r.node];
        reach[n->id].insert(from.begin(), from.end());
      });
    for (size_t i = 0; i < out_.gradients.size(); ++i) {
      const std::set<int>& from = reach[parts_.gradients[i].node];
      out_.gradients[i].tangents.assign(from.begin(), from.end());
    }
  }

  const JointParts& parts_;
  std::shared_ptr<ir::NodeIds> ids_;
  Joint& out_;
  std::unordered_map<ir::NodeId, int> inputs_;
  std::unordered_map<ir::NodeId, const ir::Node*> forward_;
  std::vector<const ir::Node*> live_, order_;
  std::unordered_set<ir::NodeId> again_, read_;  // read_: inputs that are read themselves
  std::vector<ir::Ref> saved_;
};

Error no_joint(const std::string& why) {
  return Error{why, "The captured graph runs through PyTorch's autograd."};
}

Py list_of(const std::vector<PyObject*>& items) {
  Py list = Py::steal(PyList_New(0));
  for (PyObject* o : items) PyList_Append(list.get(), o);
  return list;
}

// Results that share memory with an input or with each other are views that autograd must see being made.
std::string why_aliased(Recording& r, const std::vector<PyObject*>& results) {
  std::set<int> storages;
  for (PyObject* o : results) {
    const int index = r.find(o);
    const TracedStorage& storage = r.storage_of_tensor(index);
    if (storage.input || storage.constant) return "a result shares memory with an input";
    if (!storages.insert(r.at(index).storage).second) return "two results share memory";
  }
  return "";
}

}  // namespace

Result<std::shared_ptr<const Joint>> Lowering::joint(const std::vector<PyObject*>& results) {
  Recording& r = state_->recording;
  if (r.effects.writes_inputs) return no_joint("an input is written to");
  if (std::string why = why_aliased(r, results); !why.empty()) return no_joint(why);
  const Recording::Mark mark = r.mark();
  auto out = std::make_shared<Joint>();
  JointParts parts;
  parts.forward = r.aten_nodes();
  Result<std::shared_ptr<const Joint>> made = Error{};
  try {
    Status error = state_->borrow(results, *out, parts);
    made = error ? Result<std::shared_ptr<const Joint>>(*error) : std::shared_ptr<const Joint>(out);
  } catch (const Stop& reason) {
    made = no_joint(reason.why.reason);
  }
  state_->dispatch.stopped.reset();
  PyErr_Clear();
  const ir::NodeId next = r.ids()->next;
  r.undo(mark);
  r.ids()->next = next;  // the joint graph's nodes keep their ids to themselves
  return made;
}

Status Lowering::State::borrow(const std::vector<PyObject*>& results, Joint& out, JointParts& parts) {
  Recording& r = recording;
  std::vector<PyObject*> outputs, inputs;
  std::vector<int> input_of;
  std::vector<Py> tangents;
  r.begin_call({});
  for (PyObject* o : results) {
    const int index = r.find(o);
    parts.results.push_back(r.at(index).aten);
    const bool wants = requires_grad(o);
    out.results.push_back({wants});
    if (!wants) continue;
    outputs.push_back(o);
    ir::TensorType type = r.at(index).type;
    type.offset = 0;
    if (!is_dense(type)) type = ir::TensorType::contiguous(type.dtype, type.sizes);
    const int tangent = r.fresh(type);
    ir::Node node;
    node.id = r.next_id();
    node.kind = ir::NodeKind::placeholder;
    node.name = "tangent_" + std::to_string(tangents.size());
    node.source = "gradient of result " + std::to_string(out.results.size() - 1);
    node.outputs = {type};
    r.at(tangent).aten = {node.id, 0};
    tangents.push_back(r.at(tangent).object);
    out.tangents.push_back(type);
    parts.tangents.push_back(std::move(node));
  }
  if (!r.leading(parts.leading, out.constants, inputs)) return no_joint("an input starts to require grad");
  out.inputs = static_cast<int>(inputs.size());
  std::vector<PyObject*> wanted;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (requires_grad(inputs[i])) wanted.push_back(inputs[i]), input_of.push_back(static_cast<int>(i));
  std::vector<PyObject*> grads_of;
  for (const Py& t : tangents) grads_of.push_back(t.get());
  Py module = Py::steal(PyImport_ImportModule("vitrine._training"));
  Py a = list_of(outputs), b = list_of(wanted), c = list_of(grads_of), found;
  if (module && !outputs.empty()) {
    ModeGuard guard(mode.get());
    found =
        Py::steal(PyObject_CallMethod(module.get(), "borrowed_gradients", "OOO", a.get(), b.get(), c.get()));
  }
  if (dispatch.stopped) return no_joint("the backward pass cannot be recorded: " + dispatch.stopped->reason);
  if (!outputs.empty() && !found)
    return no_joint("the backward pass cannot be recorded: " + take_python_error());
  if (found && PyUnicode_Check(found.get())) return no_joint(PyUnicode_AsUTF8(found.get()));
  for (size_t i = 0; found && i < wanted.size(); ++i) {
    PyObject* grad = PyList_GetItem(found.get(), static_cast<Py_ssize_t>(i));
    if (grad == Py_None) continue;
    const int index = r.find(grad);
    if (index < 0) return no_joint("a gradient is not part of the recording");
    parts.gradients.push_back(r.at(index).aten);
    out.gradients.push_back({input_of[i], {}});
  }
  const auto& all = r.aten_nodes();
  parts.backward.assign(all.begin() + static_cast<std::ptrdiff_t>(parts.forward.size()), all.end());
  Partition(parts, r.ids(), out).run();
  std::vector<ir::NodeId> ends;
  for (const ir::Node& n : parts.tangents) ends.push_back(n.id);
  if (std::string why = why_inseparable(*out.backward, ends); !why.empty()) return no_joint(why);
  return {};
}

}  // namespace vitrine::torch_bridge
