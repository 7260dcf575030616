#include "core/torch_bridge/remade_views.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/ops/node.h"
#include "core/torch_bridge/api.h"

namespace vitrine::torch_bridge {

namespace {

bool is_outside(const TracedStorage& storage) {
  return storage.input || (storage.constant && storage.constant_copy < 0);
}

Error refused(const TracedStorage& storage) {
  return Error{is_outside(storage) ? "a result shares memory with an input" : "two results share memory", "",
               ""};
}

// Where a result comes from: a value that is no view, and the operators from there, the last one first.
struct Chain {
  ir::Ref root;
  std::vector<const ir::Node*> steps;
};

class Finder {
 public:
  explicit Finder(Recording& r) : r_(r) {
    for (const ir::Node& n : r.aten_nodes()) nodes_[n.id] = &n;
  }

  Chain chain(ir::Ref ref) const {
    Chain out{ref, {}};
    for (const ir::Node* n = node(ref); n && is_view(*n); n = node(out.root)) {
      out.steps.push_back(n);
      out.root = ops::aliased(*n)[0];
    }
    return out;
  }
  // Made by an operator of the program; otherwise it is an input or a constant.
  bool is_made(ir::Ref ref) const { return node(ref) != nullptr; }

  // The stand-in of a value on this storage; null: it is not known any more.
  PyObject* stand_in(const TracedStorage& storage, ir::Ref ref) const {
    for (int t : storage.tensors)
      if (r_.at(t).aten == ref) return r_.at(t).object.get();
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
    return refs == 1 && !ops::writes(n) && ops::aliased(n).size() == 1;
  }

  Recording& r_;
  std::unordered_map<ir::NodeId, const ir::Node*> nodes_;
};

// Autograd follows a view made of the root as it followed this one: not made where gradients are off, and not
// by `.data`, which no operator tells of.
bool is_followed(const Chain& chain, PyObject* result, PyObject* root) {
  if (chain.steps.empty()) return result == root;
  if (requires_grad(result) && is_leaf(result)) return false;
  const bool cut = std::any_of(chain.steps.begin(), chain.steps.end(), [](const ir::Node* n) {
    return n->op == "aten.detach.default" || n->op == "aten.view.dtype";
  });
  return requires_grad(result) == requires_grad(root) || (cut && !requires_grad(result));
}

}  // namespace

Result<RemadeViews> remade_views(Recording& r, const std::vector<PyObject*>& results) {
  RemadeViews out;
  std::unordered_map<int, int> on_storage;
  for (PyObject* o : results) ++on_storage[r.at(r.find(o)).storage];
  const Finder finder(r);
  std::map<ir::NodeId, const ir::Node*> steps;  // by id: as they were recorded
  std::unordered_map<int, ir::Ref> roots;       // by storage
  for (PyObject* o : results) {
    const int index = r.find(o), number = r.at(index).storage;
    const ir::Ref ref = r.at(index).aten;
    const TracedStorage& storage = r.storage_of_tensor(index);
    out.results.push_back(ref);
    if (!is_outside(storage) && on_storage[number] == 1) {  // whatever it views, nobody else has
      out.region.push_back(o);
      out.region_refs.push_back(ref);
      continue;
    }
    const Chain chain = finder.chain(ref);
    PyObject* root = finder.stand_in(storage, chain.root);
    const bool fits = root && r.find_exact(o) >= 0 && is_followed(chain, o, root);
    if (!fits || finder.is_made(chain.root) == is_outside(storage)) return refused(storage);
    out.as_they_are = false;
    for (const ir::Node* n : chain.steps) steps[n->id] = n;
    if (is_outside(storage)) continue;
    const auto [known, is_first] = roots.try_emplace(number, chain.root);
    if (known->second != chain.root) return refused(storage);
    if (!is_first) continue;
    out.region.push_back(root);
    out.region_refs.push_back(chain.root);
  }
  for (const auto& [id, node] : steps) out.steps.push_back(*node);
  return out;
}

Result<std::unique_ptr<ViewProgram>> ViewProgram::make(const RemadeViews& views,
                                                       const std::vector<ir::Node>& leading) {
  auto out = std::make_unique<ViewProgram>();
  std::map<std::pair<ir::NodeId, int32_t>, int32_t> slots;
  const auto add = [&](ir::Ref ref) { slots[{ref.node, ref.output}] = static_cast<int32_t>(out->slots_++); };
  for (const ir::Node& n : leading) add({n.id, 0});
  for (ir::Ref ref : views.region_refs) add(ref);
  out->given_ = out->slots_;
  const auto slot_of = [&](ir::Ref ref) { return slots.at({ref.node, ref.output}); };
  for (const ir::Node& n : views.steps) {
    auto op = PreparedOp::make(n, slot_of);
    if (!op) return op.error();
    out->steps_.push_back({op.take(), out->slots_, n.outputs.size()});
    for (size_t i = 0; i < n.outputs.size(); ++i) add({n.id, static_cast<int32_t>(i)});
  }
  for (ir::Ref ref : views.results) out->results_.push_back(slot_of(ref));
  return out;
}

bool ViewProgram::run(const std::vector<PyObject*>& given, std::vector<PyObject*>& results) const {
  std::vector<Py> values;
  std::vector<PyObject*> borrowed(slots_, nullptr);
  if (given.size() != given_) return set_python_error("views are made of what is not there"), false;
  std::copy(given.begin(), given.end(), borrowed.begin());
  for (const Step& step : steps_) {
    std::vector<PyObject*> made;
    const bool done = step.op->call(borrowed.data(), made);
    for (PyObject* o : made) values.push_back(Py::steal(o));
    if (!done) return false;
    if (made.size() != step.outputs) return set_python_error("an operator gave other views"), false;
    std::copy(made.begin(), made.end(), borrowed.begin() + static_cast<std::ptrdiff_t>(step.first));
  }
  for (int32_t slot : results_) results.push_back(Py_NewRef(borrowed[static_cast<size_t>(slot)]));
  return true;
}

}  // namespace vitrine::torch_bridge
