// What a traced tensor holds where that follows from numbers of the program alone: torch.tensor(64) ** 0.5,
// arange(4).sum(), a quotient of two sizes. The nodes that made it run for real, on the spot.
#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/recording/dispatch.h"
#include "core/recording/recording.h"
#include "core/torch_api/library/library.h"
#include "core/torch_api/op_call.h"

namespace vitrine::torch_api {

namespace {

constexpr int64_t kMostElements = 1024;  // of one tensor
constexpr size_t kMostNodes = 64;

const Overload* overload_named(const std::string& name) {
  const Result<OpCall> found = find_op(name);
  const Overload* op = found ? overload_of(found.value().overload) : nullptr;
  PyErr_Clear();
  return op;
}

bool may_write(const Overload* op) {
  return !op || op->writes || op->hidden_write_flag >= 0;
}

// Gives the same numbers whenever it runs, and nothing else.
bool is_function(const Overload* op) {
  return op && op->aten && !may_write(op) && !op->random && !op->data_dependent && !op->dynamic_shape &&
         op->name.find("empty") == std::string::npos;
}

// What the questions of one recording are answered from.
struct ValueQuestions {
  std::function<const ir::Node*(ir::NodeId)> node;  // nullptr: it is no operator's
  std::function<PyObject*(ir::NodeId)> constant;    // nullptr: it is none
  std::function<bool(ir::NodeId)> is_written;       // of the memory that this node made
};

// The node that made the memory which this one gives.
ir::NodeId root_of(const ValueQuestions& program, ir::NodeId id) {
  while (const ir::Node* node = program.node(id)) {
    const Overload* op = overload_named(node->op);
    if (op && !op->view && !op->writes) return id;
    std::optional<ir::Ref> first;
    ir::each_ref(*node, [&](ir::Ref r) {
      if (!first) first = r;
    });
    if (!first) return id;
    id = first->node;
  }
  return id;
}

class KnownValue {
 public:
  explicit KnownValue(const ValueQuestions& program) : program_(program) {}

  // A null object: it is not known.
  PyRef of(ir::Ref ref) {
    if (PyObject* constant = program_.constant(ref.node)) {
      roots_.insert(ref.node);
      return PyRef::borrow(constant);
    }
    if (const auto done = values_.find(ref.node); done != values_.end())
      return done->second.at(static_cast<size_t>(ref.output));
    const ir::Node* node = program_.node(ref.node);
    if (!node || values_.size() >= kMostNodes) return PyRef();
    if (!is_function(overload_named(node->op))) return PyRef();
    for (const ir::TensorType& t : node->outputs)
      if (t.numel() > kMostElements || !t.device.is_cpu()) return PyRef();
    roots_.insert(root_of(program_, ref.node));
    if (!run(*node)) return PyRef();
    return values_.at(ref.node).at(static_cast<size_t>(ref.output));
  }

  // Whether something writes to memory that was read above.
  bool is_written() const {
    return std::any_of(roots_.begin(), roots_.end(),
                       [&](ir::NodeId root) { return program_.is_written(root); });
  }

 private:
  bool run(const ir::Node& node) {
    std::vector<PyRef> inputs;
    std::vector<std::pair<ir::Ref, int32_t>> slots;
    bool known = true;
    ir::each_ref(node, [&](ir::Ref r) {
      for (const auto& [seen, slot] : slots)
        if (seen == r) return;
      PyRef value = known ? of(r) : PyRef();
      known = known && static_cast<bool>(value);
      slots.emplace_back(r, static_cast<int32_t>(inputs.size()));
      inputs.push_back(std::move(value));
    });
    if (!known) return false;
    auto op = PreparedOp::make(node, [&](ir::Ref r) {
      for (const auto& [seen, slot] : slots)
        if (seen == r) return slot;
      return int32_t{-1};
    });
    if (!op) return false;
    std::vector<PyObject*> given, made;
    for (const PyRef& value : inputs) given.push_back(value.get());
    const bool ran = op.value()->call(given.data(), made);
    std::vector<PyRef>& values = values_[node.id];
    for (PyObject* o : made) values.push_back(PyRef::steal(o));
    if (!ran) PyErr_Clear();
    return ran && values.size() == node.outputs.size();
  }

  const ValueQuestions& program_;
  std::unordered_map<ir::NodeId, std::vector<PyRef>> values_;
  std::unordered_set<ir::NodeId> roots_;
};

}  // namespace

PyRef Recording::computed_value(int index) {
  ValueQuestions program;
  program.node = [&](ir::NodeId id) {
    const int64_t at = aten_index_.find(aten_, id);
    return at < 0 ? nullptr : &aten_[static_cast<size_t>(at)];
  };
  program.constant = [&](ir::NodeId id) -> PyObject* {
    if (const int64_t at = constant_index_.find(constants_, id); at >= 0)
      return constant_tensors_[static_cast<size_t>(at)].get();
    const int64_t at = inner_constant_index_.find(inner_constants_, id);
    return at < 0 ? nullptr : inner_constant_tensors_[static_cast<size_t>(at)].get();
  };
  program.is_written = [&](ir::NodeId root) {
    written_roots_.follow(aten_, [&](const ir::Node& node, const auto& add) {
      if (!may_write(overload_named(node.op))) return;
      ir::each_ref(node, [&](ir::Ref r) { add(root_of(program, r.node)); });
    });
    return written_roots_.contains(root);
  };
  // The nodes were recorded below autocast.
  const bool autocast = autocast_enabled(ir::Device::Type::cpu);
  if (autocast) set_autocast_enabled(ir::Device::Type::cpu, false);
  KnownValue known(program);
  PyRef value = known.of(at(index).aten);
  if (value && known.is_written()) value = PyRef();
  if (autocast) set_autocast_enabled(ir::Device::Type::cpu, true);
  return value;
}

}  // namespace vitrine::torch_api
