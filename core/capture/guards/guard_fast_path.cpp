#include "core/capture/guards/guard_fast_path.h"

#include <cstring>
#include <memory>

#include "core/capture/guards/guard_tree.h"
#include "core/capture/objects/thread_locals.h"

namespace vitrine::capture {

namespace {

// CPython 3.12 means to take it away one day, and keeps it up to date until then.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t version_of(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop

bool has_valid_version(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
}

const char* const kMembers[] = {"_parameters", "_buffers", "_modules"};

}  // namespace

bool Watch::holds() const {
  switch (kind) {
    case Kind::Object:
      return Py_TYPE(object) == type && *slot == dict && version_of(dict) == version;
    case Kind::Dict:
      return version_of(dict) == version;
    case Kind::Type:
      return has_valid_version(type) && type->tp_version_tag == version;
  }
  return false;
}

bool Watches::object(PyObject* base, int32_t node) {
  if (objects_.contains(base)) return true;
  if (is_thread_local(Py_TYPE(base))) return false;
  if (Py_TYPE(base)->tp_itemsize != 0) return false;  // where its dict lies depends on more than its type
  PyObject** slot = _PyObject_GetDictPtr(base);
  if (!slot || !*slot || !PyDict_CheckExact(*slot)) return false;
  all_.push_back({Watch::Kind::Object, node, base, Py_TYPE(base), slot, *slot, version_of(*slot)});
  objects_.insert(base);
  return true;
}

bool Watches::dict(PyObject* base, int32_t node) {
  if (!base || !PyDict_Check(base)) return false;
  if (dicts_.insert(base).second)
    all_.push_back({Watch::Kind::Dict, node, nullptr, nullptr, nullptr, base, version_of(base)});
  return true;
}

bool Watches::type(PyTypeObject* base, int32_t node) {
  static PyObject* const any = PyUnicode_InternFromString("__dict__");
  if (!has_valid_version(base)) (void)_PyType_Lookup(base, any);  // gives it one
  if (!has_valid_version(base)) return false;
  if (types_.insert(base).second)
    all_.push_back({Watch::Kind::Type, node, nullptr, base, nullptr, nullptr, base->tp_version_tag});
  return true;
}

bool Watches::members(PyObject* base, PyObject* name, int32_t node) {
  PyObject* own = instance_dict(base);
  for (const char* container : kMembers) {
    PyObject* members = own ? PyDict_GetItemString(own, container) : nullptr;
    if (!members || !PyDict_Check(members)) continue;
    if (!dict(members, node)) return false;
    if (name && dict_value(members, name)) break;
  }
  return true;
}

// What the object itself has, then what an nn.Module has.
bool Watches::own_dict(PyObject* base, PyObject* name, int32_t node) {
  if (!object(base, node)) return false;
  PyObject* own = instance_dict(base);
  return dict_value(own, name) || (type(Py_TYPE(base), node) && members(base, name, node));
}

bool Watches::attribute(PyObject* base, PyObject* name, int32_t node) {
  if (PyType_Check(base)) {
    auto* cls = reinterpret_cast<PyTypeObject*>(base);
    return type(cls, node) && type(Py_TYPE(cls), node);
  }
  if (!type(Py_TYPE(base), node)) return false;
  // What lies in a slot changes without a trace.
  PyObject* member = _PyType_Lookup(Py_TYPE(base), name);
  if (member && Py_TYPE(member) == &PyMemberDescr_Type) return false;
  if (PyModule_Check(base)) return dict(PyModule_GetDict(base), node);
  return object(base, node) && members(base, name, node);
}

bool Watches::step(const SourceStep& step, PyObject* base, int32_t node) {
  switch (step.kind) {
    case SourceKind::InstanceDict:
      if (PyModule_Check(base)) return dict(PyModule_GetDict(base), node);
      if (PyType_Check(base)) return type(reinterpret_cast<PyTypeObject*>(base), node);
      return own_dict(base, step.key, node);
    case SourceKind::Attr:
      return attribute(base, step.key, node);
    case SourceKind::Item:
    case SourceKind::ItemOf:
      return PyTuple_CheckExact(base) || dict(base, node);
    case SourceKind::Closure:
      return PyFunction_Check(base);
    case SourceKind::BoundSelf:
    case SourceKind::BoundFunc:
      return PyMethod_Check(base);
    default:
      return false;
  }
}

bool Watches::hooks(PyObject* module, int32_t node) {
  if (!object(module, node)) return false;
  PyObject* own = instance_dict(module);
  for (const PyRef& name : hook_names())
    if (!dict(dict_value(own, name.get()), node)) return false;
  for (const PyRef& global : global_hooks())
    if (!dict(global.get(), node)) return false;
  return true;
}

// Whether a condition that holds goes on holding while the watches do. The node's value is known to be the
// same.
bool GuardTree::stays(const Condition& c, const std::vector<bool>& same, Watches& watches) const {
  PyObject* o = values_[c.node];
  switch (c.kind) {
    case GuardKind::ConstEquals:
    case GuardKind::Identity:
    case GuardKind::WeakIdentity:
      return true;
    case GuardKind::Compares:
      return c.other < 0 || same[c.other];
    case GuardKind::Bound:
      return o != nullptr;
    case GuardKind::TypeIs:
      return !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) || watches.object(o, c.node);
    case GuardKind::Length:
    case GuardKind::LengthAtLeast:
    case GuardKind::LengthBelow:
      return PyTuple_CheckExact(o) || watches.dict(o, c.node);
    case GuardKind::DictKeys:
      return PyDict_CheckExact(o) && watches.dict(o, c.node);  // another one may order its keys anew
    case GuardKind::DictContains:
      return watches.dict(o, c.node);
    case GuardKind::InstanceHas:
      return watches.object(o, c.node);
    case GuardKind::HasAttr:
      return watches.attribute(o, c.name.get(), c.node);
    case GuardKind::TypeVersion:
      return watches.type(reinterpret_cast<PyTypeObject*>(o), c.node);
    case GuardKind::NoHooks:
      return watches.hooks(o, c.node);
    case GuardKind::SameObject:
    case GuardKind::DifferentObject:
      return same[c.other];
    case GuardKind::Apart:
      return c.apart->stays(same);
    default:
      return false;
  }
}

namespace {

constexpr int kMissesForgiven = 1;

// Objects whose members are worth watching; a tensor is another one in the next call.
bool may_anchor(PyObject* o) {
  return o && !torch_api::is_tensor(o) && !PyFunction_Check(o) && !PyExceptionInstance_Check(o);
}

}  // namespace

// The address of what the fast_path looks at means what it is while that lives. Without it the check is
// walked.
void GuardTree::keep_for_shortcut(PyObject* o) {
  if (!lifeline_->holds(o)) fast_path_.kept->hold_weakly(o);
}

// The address of an object says that it is the same while that lives. One that is not may have gone,
// and another one lie there: it is as good as the same when it is of the same class and has the same
// attributes.
bool GuardTree::anchored(PyObject* o, int32_t node, Watches& watches) {
  if (!PyType_Check(o) && !PyModule_Check(o)) return watches.object(o, node);
  keep_for_shortcut(o);
  return true;
}

// Right after a walk in which all held.
void GuardTree::build_fast_path() {
  GuardFastPath& s = fast_path_;
  s.ops.clear(), s.watches.clear(), s.tensors.clear(), s.apart.clear();
  s.kept = std::make_unique<Lifeline>([&s] { s.ready = false; });
  s.misses.resize(nodes_.size());
  s.values = values_;
  ++s.built;
  s.walks = 0;
  Watches watches(s.watches);
  std::vector<bool> same(nodes_.size(), false);  // the value is known to be the same, once so much has held
  using Op = GuardFastPath::Op;
  auto emit = [&](Op::Kind kind, int32_t first, int32_t last) { s.ops.push_back({kind, first, last}); };
  size_t watched = 0;
  auto emit_watches = [&] {
    if (watched == s.watches.size()) return;
    const auto first = static_cast<int32_t>(watched), last = static_cast<int32_t>(s.watches.size());
    watched = s.watches.size();
    if (!s.ops.empty() && s.ops.back().kind == Op::Kind::Watch)
      s.ops.back().last = last;
    else
      emit(Op::Kind::Watch, first, last);
  };
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i) {
    const Node& node = nodes_[i];
    const int32_t owner = node.parent;
    const bool calm = owner >= 0 && same[owner] && s.misses[owner] <= kMissesForgiven;
    same[i] = node.step.kind == SourceKind::Constant || node.step.kind == SourceKind::Drawn ||
              node.step.kind == SourceKind::Computed ||
              (values_[i] && calm && !made_[i] && watches.step(node.step, values_[owner], owner));
    emit_watches();
    if (!same[i]) {
      const bool anchor = !made_[i] && s.misses[i] <= kMissesForgiven && may_anchor(values_[i]);
      same[i] = anchor && anchored(values_[i], i, watches);
      emit(same[i] ? Op::Kind::Anchor : Op::Kind::Read, i, i);
      emit_watches();
    }
    for (int32_t c = node.first; c < node.last; ++c) {
      const bool stay = same[i] && s.misses[i] <= kMissesForgiven && stays(conditions_[c], same, watches);
      emit_watches();
      if (stay) continue;
      if (conditions_[c].kind == GuardKind::TensorMatch)
        s.tensors.push_back(c);
      else if (conditions_[c].kind == GuardKind::Apart)
        s.apart.push_back(c);
      else
        emit(Op::Kind::Condition, c, c);
    }
  }
  for (const Watch& watch : s.watches)
    if (watch.type) keep_for_shortcut(reinterpret_cast<PyObject*>(watch.type));
  s.ready = !s.kept->is_over();
}

// Something has changed. Whether it matters, the walk finds out.
GuardTree::Shortened GuardTree::missed(int32_t node) {
  uint8_t& misses = fast_path_.misses[node];
  if (misses < 255) ++misses;
  fast_path_.ready = false;
  fast_path_.walks = 0;
  return Shortened::Unknown;
}

GuardTree::Shortened GuardTree::check_shortened(const Frame& frame) {
  const GuardFastPath& s = fast_path_;
  using Kind = GuardFastPath::Op::Kind;
  std::memcpy(values_.data(), s.values.data(), values_.size() * sizeof(PyObject*));
  for (const GuardFastPath::Op& op : s.ops) {
    switch (op.kind) {
      case Kind::Watch:
        for (int32_t w = op.first; w < op.last; ++w)
          if (!s.watches[w].holds()) return missed(s.watches[w].node);
        break;
      case Kind::Read:
      case Kind::Anchor: {
        const Node& node = nodes_[op.first];
        PyObject* base = node.parent >= 0 ? values_[node.parent] : nullptr;
        PyObject* value = values_[op.first] = read_step(node.step, base, frame, temporaries_);
        if (lifeline_->is_over() || s.kept->is_over()) return Shortened::Unknown;  // reading made room
        if (op.kind == Kind::Anchor && value != s.values[op.first]) return missed(op.first);
        if (!value && !node.optional) return fail(op.first, -1), Shortened::Fails;
        break;
      }
      case Kind::Condition:
        // An empty slot has none: its conditions were never met.
        if (values_[conditions_[op.first].node] && !holds(conditions_[op.first]))
          return fail(conditions_[op.first].node, op.first), Shortened::Fails;
        break;
    }
  }
  for (int32_t c : s.tensors)
    if (!holds(conditions_[c])) return fail(conditions_[c].node, c), Shortened::Fails;
  for (int32_t c : s.apart)
    if (!holds(conditions_[c])) return fail(conditions_[c].node, c), Shortened::Fails;
  return Shortened::Holds;
}

}  // namespace vitrine::capture
