#include "core/recording/view_replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/node.h"
#include "core/ops/unlisted.h"
#include "core/torch_api/api.h"
#include "core/torch_api/bridge.h"

namespace vitrine::torch_api {

namespace {

bool is_outside(const TracedStorage& storage) {
  return storage.input || (storage.constant && storage.constant_copy < 0);
}

Error refused(const TracedStorage& storage) {
  return Error{is_outside(storage) ? "a result shares memory with an input" : "two results share memory", "",
               ""};
}

// Where a result comes from: a value that is no view, and the operators from there, the last one first.
struct ViewChain {
  ir::Ref root, end;
  std::vector<const ir::Node*> steps;
};

// x.mul_(2) gives x: of a node that hands back what it writes to.
bool hands_back(const ir::Node& n) {
  const std::string name = n.op.substr(0, n.op.rfind('.'));
  return name.ends_with('_') && !n.args.empty() && n.args[0].is<ir::Ref>() && n.outputs.size() == 1 &&
         ops::written(n) == std::vector<ir::Ref>{n.args[0].as<ir::Ref>()};
}

class ViewChainFinder {
 public:
  explicit ViewChainFinder(Recording& r) : r_(r) {
    for (const ir::Node& n : r.aten_nodes()) nodes_[n.id] = &n;
  }

  // The value as it was first called, before anything was written to it.
  ir::Ref first_name(ir::Ref ref) const {
    for (const ir::Node* n = node(ref); n && hands_back(*n); n = node(ref)) ref = n->args[0].as<ir::Ref>();
    return ref;
  }
  // written: to this memory the program has written. Autograd then follows what views it, and no other name.
  ViewChain chain(ir::Ref ref, bool written) const {
    ViewChain out{first_name(ref), first_name(ref), {}};
    for (const ir::Node* n = node(out.root); n && is_view(*n); n = node(out.root)) {
      if (written && ops::unlisted::is_hidden_view(n->op)) break;
      out.steps.push_back(n);
      out.root = first_name(ops::aliased(*n)[0]);
    }
    return out;
  }
  // The operator, reading values by their first names.
  ir::Node renamed(const ir::Node& n) const {
    ir::Node out = n;
    for (ir::Arg& a : out.args) a = ir::map_refs(a, [&](ir::Ref r) { return ir::Arg(first_name(r)); });
    return out;
  }
  // Made by an operator of the program; otherwise it is an input or a constant.
  bool is_made(ir::Ref ref) const { return node(ref) != nullptr; }

  // The fake tensor of a value on this storage; null: it is not known any more.
  PyObject* fake_tensor(const TracedStorage& storage, ir::Ref ref) const {
    for (int t : storage.tensors)
      if (first_name(r_.at(t).aten) == ref) return r_.at(t).object.get();
    return nullptr;
  }

 private:
  const ir::Node* node(ir::Ref ref) const {
    auto it = nodes_.find(ref.node);
    return it == nodes_.end() ? nullptr : it->second;
  }
  static bool is_view(const ir::Node& n) {
    size_t refs = 0;
    ir::each_ref(n, [&](ir::Ref) { ++refs; });
    if (refs != 1 || ops::writes(n) || ops::aliased(n).size() != 1) return false;
    const Result<OpCall> op = find_op(n.op);
    const Overload* known = op ? overload_of(op.value().overload) : nullptr;
    PyErr_Clear();
    return known && known->view;
  }

  Recording& r_;
  std::unordered_map<ir::NodeId, const ir::Node*> nodes_;
};

bool is_view_to_python(PyObject* tensor) {
  PyRef answer = PyRef::steal(PyObject_CallMethod(tensor, "_is_view", nullptr));
  PyErr_Clear();
  return answer.get() == Py_True;
}

// Calls of `.data`: to the ATen graph what they give is detached, but it has a count of writes of its own.
std::unordered_set<ir::NodeId> calls_of_data(Recording& r) {
  std::unordered_set<ir::NodeId> out;
  for (const ir::Node& n : r.captured_nodes())
    if (n.op == "Tensor.data") out.insert(n.id);
  return out;
}

// Autograd follows a view made of the root as it followed this one: not made where gradients are off, and not
// by `.data`, which no operator tells of.
bool is_followed(const ViewChain& chain, PyObject* result, PyObject* root) {
  if (requires_grad(result) && is_leaf(result)) return false;
  const bool cut = std::any_of(chain.steps.begin(), chain.steps.end(), [](const ir::Node* n) {
    return n->op == "aten.detach.default" || n->op == "aten.view.dtype";
  });
  return requires_grad(result) == requires_grad(root) || (cut && !requires_grad(result));
}

std::string autograd_name(PyObject* tensor) {
  PyRef node = PyRef::steal(PyObject_GetAttrString(tensor, "grad_fn"));
  PyRef name = PyRef::steal(node && node.get() != Py_None ? PyObject_CallMethod(node.get(), "name", nullptr)
                                                          : nullptr);
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text ? text : "";
}

// A view whose memory was written to since: autograd knows it by its strides from then on, and so it is made.
std::optional<ir::Node> made_by_strides(Recording& r, const ViewChain& chain, PyObject* view) {
  if (chain.steps.empty() || chain.steps.front()->op == "aten.as_strided.default" ||
      autograd_name(view) != "AsStridedBackward0")
    return std::nullopt;
  const ir::TensorType type = type_of(view);
  ir::Node out = *chain.steps.front();
  out.id = r.ids()->next++;
  out.op = "aten.as_strided.default";
  out.args = {chain.root, ir::Arg::ints(type.sizes), ir::Arg::ints(type.strides), type.offset};
  out.kwargs.clear();
  out.outputs = {type};
  return out;
}

}  // namespace

Result<ViewReplay> view_replay(Recording& r, const std::vector<PyObject*>& results, bool differentiated,
                               ReplayedViews which) {
  ViewReplay out;
  std::unordered_map<int, int> on_storage;
  for (PyObject* o : results) ++on_storage[r.at(r.find(o)).storage];
  const ViewChainFinder finder(r);
  const std::unordered_set<ir::NodeId> data_calls = calls_of_data(r);
  std::map<ir::NodeId, ir::Node> steps;    // by id: as they were recorded
  std::unordered_map<int, ir::Ref> roots;  // by storage
  const auto give = [&](PyObject* o, ir::Ref root) {
    out.region.push_back(o);
    out.region_refs.push_back(r.at(r.find(o)).aten);
    out.region_roots.push_back(root);
    out.versions.push_back(seen_version(r, o));
  };
  for (PyObject* o : results) {
    const int index = r.find(o), number = r.at(index).storage;
    const TracedStorage& storage = r.storage_of_tensor(index);
    const ViewChain chain = finder.chain(r.at(index).aten, storage.writes > 0);
    PyObject* root = finder.fake_tensor(storage, chain.root);
    const bool data = data_calls.contains(r.at(index).captured.node);
    const bool fits = root && r.find_exact(o) >= 0 && (!chain.steps.empty() || o == root) &&
                      (!differentiated || is_followed(chain, o, root)) &&
                      finder.is_made(chain.root) != is_outside(storage);
    // Whatever it views, nobody else has.
    const bool alone = !is_outside(storage) && on_storage[number] == 1;
    if (alone && (which == ReplayedViews::shared || !fits || !is_view_to_python(o))) {
      out.results.push_back(chain.end);
      out.data.push_back(-1);
      give(o, chain.end);
      continue;
    }
    if (!fits) return refused(storage);
    out.as_they_are = false;
    out.data.push_back(data ? static_cast<int32_t>(version(handle_of(o)).value_or(0)) : -1);
    const bool followed = differentiated && !is_outside(storage);
    if (const auto node = followed ? made_by_strides(r, chain, o) : std::nullopt) {
      out.results.push_back({node->id, 0});
      steps.try_emplace(node->id, *node);
    } else {
      out.results.push_back(chain.end);
      for (const ir::Node* n : chain.steps) steps.try_emplace(n->id, finder.renamed(*n));
    }
    if (is_outside(storage)) continue;
    const auto [known, is_first] = roots.try_emplace(number, chain.root);
    if (known->second != chain.root) return refused(storage);
    if (is_first) give(root, chain.root);
  }
  for (const auto& [id, node] : steps) out.steps.push_back(node);
  return out;
}

int32_t seen_version(Recording& r, PyObject* tensor) {
  if (is_outside(r.storage_of_tensor(r.find(tensor)))) return -1;
  const auto counted = version(handle_of(tensor));
  return counted ? static_cast<int32_t>(*counted) : -1;
}

}  // namespace vitrine::torch_api
